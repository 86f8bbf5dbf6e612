//! Files, folders and ports of this machine.

use std::{io::ErrorKind, net::SocketAddr, path::Path, time::Duration};

use emend_chassis::{Upstream, UpstreamOptions, request};
use emend_core::{Deadline, error_chain, without_secrets};
use emend_evaluator::Coefficients;
use emend_models::prompt::Prompts;
use emend_orchestrator::catalog::Catalog;
use emend_retriever::{StoreChoice, backend::Holder};
use futures::future::join_all;
use tokio::net::TcpListener;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use super::Finding;
use crate::{
    args::{LocalOptions, UpOptions},
    cluster::{Component, Plan, data_dir, security::environment},
};

/// How long what uses a port may take to say whether it is a service.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

/// Graphs, prompts and coefficients of one's own.
pub(super) async fn files(local: &LocalOptions) -> Vec<Finding> {
    const CHECK: &str = "files";
    let mut found = Vec::new();
    match Catalog::load(local.graphs_dir.as_deref()) {
        Ok(catalog) => found.push(Finding::ok(CHECK, format_args!("{} graphs", catalog.iter().count()))),
        Err(error) => found.push(Finding::error(
            CHECK,
            error_chain(&error),
            "`emend graph check FILE` says what is wrong, by line",
        )),
    }
    if local.prompts.prompts_dir.is_some() {
        found.push(match Prompts::load(&local.prompts) {
            Ok(_) => Finding::ok(CHECK, "the prompts of --prompts-dir are right"),
            Err(error) => Finding::failed(CHECK, error),
        });
    }
    if let Some(file) = &local.evaluator.evaluator_coefficients {
        found.push(match Coefficients::read(file) {
            Ok(_) => Finding::ok(CHECK, format_args!("{} has coefficients", file.display())),
            Err(error) => Finding::error(CHECK, error_chain(&error), "`emend calibrate` writes such a file"),
        });
    }
    found
}

/// The folder of the collections, or the Qdrant server.
pub(super) async fn store(local: &LocalOptions) -> Vec<Finding> {
    const CHECK: &str = "store";
    let (mut options, folder) = match environment::<emend_retriever::Options>(Component::Retriever)
        .and_then(|options| Ok((options, data_dir(local)?)))
    {
        Ok(known) => known,
        Err(error) => return vec![Finding::failed(CHECK, error)],
    };
    let is_folder = options.store == StoreChoice::Edge;
    if is_folder && !folder.exists() {
        return vec![not_made(&folder)];
    }
    let place = match is_folder {
        true => folder.display().to_string(),
        false => format!("Qdrant at {}", without_secrets(&options.qdrant.qdrant_url)),
    };
    options.data_dir = Some(folder);
    let opened = emend_retriever::open_store(&options, &Holder::default()).await;
    let store = match opened {
        Ok(store) => store,
        Err(error) => {
            let said = error_chain(&error);
            // That a service runs is no fault; a command that starts its own is told so.
            return vec![if said.contains("in use by another process") {
                Finding::warning(CHECK, said, "")
            } else {
                Finding::error(CHECK, said, "")
            }];
        }
    };
    let looked = async {
        store.probe().await?;
        store.collections().await
    };
    let finding = match looked.await {
        Ok(collections) => {
            let documents: u64 = collections.iter().map(|collection| collection.documents).sum();
            let count = collections.len();
            let collections = if count == 1 { "collection" } else { "collections" };
            Finding::ok(
                CHECK,
                format_args!("{place} can be read and written: {count} {collections}, {documents} documents"),
            )
        }
        Err(error) => Finding::failed(CHECK, error),
    };
    store.close().await;
    vec![finding]
}

/// A folder that is made at the first ingest, where it can be.
fn not_made(folder: &Path) -> Finding {
    let above = folder
        .ancestors()
        .find(|above| above.exists())
        .unwrap_or(Path::new("."));
    // Permissions do not say it all: a file system may be for reading alone.
    match tempfile::tempfile_in(above) {
        Ok(_) => Finding::ok(
            "store",
            format_args!("{} is made when the first document comes", folder.display()),
        ),
        Err(error) => Finding::error(
            "store",
            format_args!("{} cannot be made in {}: {error}", folder.display(), above.display()),
            "choose a writable folder with --data-dir",
        ),
    }
}

/// The ports of `emend up`.
pub(super) async fn ports(up: &UpOptions) -> Vec<Finding> {
    const CHECK: &str = "ports";
    if up.base_port == 0 {
        return vec![Finding::ok(CHECK, "free ones are taken")];
    }
    let plan = Plan {
        host: up.host,
        base_port: up.base_port,
        ..Plan::default()
    };
    let mut addresses: Vec<(&str, SocketAddr)> = Vec::new();
    for component in Component::ALL {
        match plan.port_of(component) {
            Ok(port) => addresses.push((component.name(), SocketAddr::new(up.host, port))),
            Err(error) => return vec![Finding::failed(CHECK, error)],
        }
    }
    addresses.extend(up.metrics_listen.map(|address| ("metrics", address)));
    let (mut used, mut found) = (Vec::new(), Vec::new());
    for (name, address) in addresses {
        match TcpListener::bind(address).await {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::AddrInUse => used.push((name, address)),
            Err(error) => found.push(Finding::error(
                CHECK,
                format_args!("{address}, for the {name}: {error}"),
                "give an address of this machine with --host, and ports from 1024 with --base-port",
            )),
        }
    }
    let named: Vec<String> = used
        .iter()
        .map(|(name, address)| format!("{address} ({name})"))
        .collect();
    let named = named.join(", ");
    if join_all(used.iter().map(|(_, address)| is_service(*address)))
        .await
        .contains(&true)
    {
        found.push(Finding::warning(
            CHECK,
            format_args!("services run already: {named}"),
            "use them with --url, or start others with another --base-port",
        ));
    } else if !used.is_empty() {
        found.push(Finding::error(
            CHECK,
            format_args!("in use by other programs: {named}"),
            "end the programs that use them, or choose others with --base-port",
        ));
    } else if found.is_empty() {
        let last = u32::from(up.base_port) + 6;
        found.push(Finding::ok(
            CHECK,
            format_args!("{}–{last} of {} are free", up.base_port, up.host),
        ));
    }
    found
}

/// Whether what listens speaks gRPC's health protocol.
async fn is_service(address: SocketAddr) -> bool {
    let Ok(upstream) = Upstream::with_options(&format!("http://{address}"), UpstreamOptions::default()) else {
        return false;
    };
    let mut health = HealthClient::new(upstream.channel());
    let asked = request(HealthCheckRequest::default(), Deadline::after(HEALTH_TIMEOUT));
    health.check(asked).await.is_ok()
}
