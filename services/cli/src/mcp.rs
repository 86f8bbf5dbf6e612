//! `emend mcp`: the documents of a folder as tools of an editor or an assistant, over standard input and output.

use std::process::ExitCode;

use anyhow::{Result, bail};
use emend_gateway::ServiceUrls;
use indicatif::ProgressBar;
use tokio::sync::oneshot;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    args::McpOptions,
    ask::collection_of,
    cluster::{Cluster, Component, Plan},
    documents::{Found, Reading},
    ingest::{self, Pending, Prune},
};

/// Serves until the other side closes standard input, or a stop signal.
///
/// The protocol is answered at once; calls wait until the documents are stored.
///
/// # Errors
/// The documents cannot be read or stored, a service fails to start, or the other side does not speak MCP.
pub async fn run(options: McpOptions) -> Result<ExitCode> {
    // What is wrong with the command line is said before a client begins.
    let found = ingest::found(&options.docs, &Reading::default())?;
    let collection = match &options.collection {
        Some(name) => name.clone(),
        None => collection_of(&options.docs, &options.local.embedder.embedder.space())?,
    };
    let stop = emend_chassis::stop_on_signal()?;
    let (tell, told) = oneshot::channel();
    let serving = emend_gateway::McpOptions {
        timeout: options.timeout,
        collection: collection.clone(),
    };
    let urls = async {
        told.await
            .unwrap_or_else(|_| Err("the services did not start".to_owned()))
    };
    let done = CancellationToken::new();
    let services = services(&options, found, &collection, tell, done.clone());
    let protocol = async {
        let served = emend_gateway::serve_stdio(serving, urls, stop).await;
        // The services end with the protocol.
        done.cancel();
        served
    };
    tokio::pin!(services);
    tokio::pin!(protocol);
    tokio::select! {
        ended = &mut services => ended?,
        served = &mut protocol => {
            let ended = services.await;
            served?;
            ended?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts the services, stores the documents, says where the services are, and stops them in the end.
async fn services(
    options: &McpOptions,
    found: Found,
    collection: &str,
    tell: oneshot::Sender<Result<ServiceUrls, String>>,
    done: CancellationToken,
) -> Result<()> {
    let Some(cluster) = done
        .run_until_cancelled(Cluster::start(&options.local, Plan::default()))
        .await
    else {
        return Ok(());
    };
    let cluster = cluster?;
    let stored = async {
        // An automatic collection mirrors the files; one that the user named may have other documents.
        let prune = match options.collection {
            None => Prune::Everything,
            Some(_) => Prune::Nothing,
        };
        let channel = cluster.channel(Component::Retriever)?;
        let (outcome, pending) = ingest::ingest_words_first(channel, collection, found, prune).await?;
        ingest::report(&outcome);
        if outcome.ingested + outcome.unchanged == 0 {
            bail!("no document could be stored; see the reasons above");
        }
        let urls = ServiceUrls {
            orchestrator_url: cluster.url(Component::Orchestrator)?.to_owned(),
            retriever_url: cluster.url(Component::Retriever)?.to_owned(),
        };
        Ok((urls, pending))
    };
    let stored = done.run_until_cancelled(stored).await;
    let outcome = match stored {
        None => Ok(()),
        Some(Err(error)) => Err(error),
        Some(Ok((urls, pending))) => {
            // Without a receiver the protocol has ended.
            let _ = tell.send(Ok(urls));
            let _embedding = pending.map(|pending| AbortOnDropHandle::new(tokio::spawn(embed(pending))));
            cluster.run_until(done.cancelled_owned()).await?;
            return Ok(());
        }
    };
    cluster.stop().await;
    outcome
}

/// Embeds documents that are found by their words already.
async fn embed(pending: Pending) {
    match pending.embed(ProgressBar::hidden()).await {
        Ok(outcome) if outcome.failed.is_empty() => tracing::info!("all documents are embedded"),
        Ok(outcome) => ingest::report(&outcome),
        Err(error) => tracing::error!(
            error = format!("{error:#}"),
            "cannot embed the documents: they are found by their words alone"
        ),
    }
}
