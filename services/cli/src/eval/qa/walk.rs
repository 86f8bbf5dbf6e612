//! Questions asked of graphs.

use std::{
    future::Future,
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use anyhow::Result;
use emend_chassis::TracedChannel;
use emend_core::{Deadline, limits::MAX_MESSAGE_BYTES};
use emend_proto::v1::{
    AskRequest, GetGraphRequest, Question, RetrieveRequest, WalkResult,
    orchestrator_service_client::OrchestratorServiceClient, retriever_service_client::RetrieverServiceClient,
};
use futures::StreamExt as _;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::{
    eval::{
        data::{Case, Expect},
        score::{Walk, metrics::Ranked},
    },
    progress,
};

/// Documents looked at for one that holds the answer.
const TOP_K: u32 = 5;

/// Asks until it is told to stop.
pub(super) struct Asker<'a> {
    /// Calls under way at once.
    pub concurrent: NonZeroUsize,
    /// Longest time for one call.
    pub timeout: Duration,
    /// Ends the asking: calls under way are dropped, what has ended is kept.
    pub stop: &'a CancellationToken,
}

impl Asker<'_> {
    /// Asks one graph every question, and calls `ended` with each walk as it ends. A walk that fails is one of them.
    ///
    /// # Errors
    /// Those of `ended`.
    pub(super) async fn walks<'c>(
        &self,
        channel: TracedChannel,
        collection: &str,
        cases: &'c [Case],
        graph: &'c str,
        ended: impl FnMut(Walk<'c>) -> Result<()>,
    ) -> Result<()> {
        let client = OrchestratorServiceClient::new(channel)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let bar = progress::questions(&format!("{collection} {graph}"), cases.len() as u64);
        let ask = |case: &'c Case| {
            let mut client = client.clone();
            let bar = bar.clone();
            let question = Question {
                question: case.question.clone(),
                graph: graph.to_owned(),
                collection: collection.to_owned(),
                ..Question::default()
            };
            async move {
                let began = Instant::now();
                let request = AskRequest {
                    question: Some(question),
                };
                let answered = client
                    .ask(emend_chassis::request(request, Deadline::after(self.timeout)))
                    .await;
                bar.inc(1);
                let result: Result<WalkResult, _> =
                    answered.map(|answer| answer.into_inner().result.unwrap_or_default());
                Walk::judge(case, graph, result, began.elapsed())
            }
        };
        let outcome = self.each(cases, ask, ended).await;
        bar.finish_and_clear();
        outcome
    }

    /// Where the documents that hold the answers come, of every question of kind local.
    ///
    /// # Errors
    /// None: a search that fails is an outcome.
    pub(super) async fn ranks<'c>(
        &self,
        channel: TracedChannel,
        collection: &str,
        cases: &'c [Case],
        mut ended: impl FnMut(Ranked<'c>),
    ) -> Result<()> {
        let client = RetrieverServiceClient::new(channel);
        let local: Vec<&'c Case> = cases.iter().filter(|case| case.expect == Expect::Local).collect();
        let bar = progress::questions(&format!("{collection} retrieval"), local.len() as u64);
        let search = |case: &'c Case| {
            let mut client = client.clone();
            let bar = bar.clone();
            let request = RetrieveRequest {
                query: case.question.clone(),
                collection: collection.to_owned(),
                top_k: Some(TOP_K),
                ..RetrieveRequest::default()
            };
            async move {
                let found = client
                    .retrieve(emend_chassis::request(request, Deadline::after(self.timeout)))
                    .await;
                bar.inc(1);
                let rank = found.map(|found| {
                    let passages = found.into_inner().passages;
                    passages
                        .iter()
                        .position(|passage| case.gold_doc_ids.contains(&passage.document_id))
                });
                Ranked {
                    case,
                    rank: rank.map_err(|status| status.message().to_owned()),
                }
            }
        };
        let outcome = self
            .each(local, search, |ranked| {
                ended(ranked);
                Ok(())
            })
            .await;
        bar.finish_and_clear();
        outcome
    }

    /// Does something for each case, so many at once, until told to stop.
    async fn each<'c, F, T>(
        &self,
        cases: impl IntoIterator<Item = &'c Case>,
        work: impl FnMut(&'c Case) -> F,
        mut ended: impl FnMut(T) -> Result<()>,
    ) -> Result<()>
    where
        F: Future<Output = T>,
    {
        let under_way = futures::stream::iter(cases.into_iter().map(work))
            .buffer_unordered(self.concurrent.get())
            .take_until(self.stop.cancelled());
        let mut under_way = std::pin::pin!(under_way);
        while let Some(done) = under_way.next().await {
            ended(done)?;
        }
        Ok(())
    }
}

/// Makes sure of a graph before anything is measured.
///
/// # Errors
/// There is no such graph; the message lists the known ones.
pub(super) async fn known(channel: TracedChannel, graph: &str) -> Result<(), Status> {
    let request = GetGraphRequest { name: graph.to_owned() };
    OrchestratorServiceClient::new(channel).get_graph(request).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
