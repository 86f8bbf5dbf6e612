//! Questions asked of graphs.

use std::{future::Future, num::NonZeroUsize, time::Instant};

use anyhow::Result;
use emend_proto::v1::{Question, RetrieveRequest};
use futures::StreamExt as _;
use tokio_util::sync::CancellationToken;

use super::System;
use crate::{
    data::{Case, Expect},
    progress::Progress,
    score::{Walk, metrics::Ranked},
};

/// Documents looked at for one that holds the answer.
const TOP_K: u32 = 5;

/// Asks until it is told to stop.
pub(super) struct Asker<'a, S, P> {
    /// Who answers.
    pub system: &'a S,
    /// Where the documents are.
    pub collection: &'a str,
    /// Calls under way at once.
    pub concurrent: NonZeroUsize,
    /// Ends the asking: calls under way are dropped, what has ended is kept.
    pub stop: &'a CancellationToken,
    /// Is told of every answer.
    pub progress: &'a P,
}

impl<S: System, P: Progress> Asker<'_, S, P> {
    /// Asks one graph every question, and calls `ended` with each walk as it ends. A walk that fails is one of them.
    ///
    /// # Errors
    /// Those of `ended`.
    pub(super) async fn walks<'c>(
        &self,
        cases: &'c [Case],
        graph: &'c str,
        ended: impl FnMut(Walk<'c>) -> Result<()>,
    ) -> Result<()> {
        let what = format!("{} {graph}", self.collection);
        let ask = |case: &'c Case| {
            let question = Question {
                question: case.question.clone(),
                graph: graph.to_owned(),
                collection: self.collection.to_owned(),
                ..Question::default()
            };
            async move {
                let began = Instant::now();
                let answered = self.system.ask(question).await;
                Walk::judge(case, graph, answered, began.elapsed())
            }
        };
        self.each(&what, cases.iter().collect(), ask, ended).await
    }

    /// Where the documents that hold the answers come, of every question of kind local. A search that fails is an
    /// outcome.
    ///
    /// # Errors
    /// None of its own.
    pub(super) async fn ranks<'c>(&self, cases: &'c [Case], mut ended: impl FnMut(Ranked<'c>)) -> Result<()> {
        let what = format!("{} retrieval", self.collection);
        let search = |case: &'c Case| {
            let request = RetrieveRequest {
                query: case.question.clone(),
                collection: self.collection.to_owned(),
                top_k: Some(TOP_K),
                ..RetrieveRequest::default()
            };
            async move {
                let found = self.system.retrieve(request).await;
                let rank = found.map(|passages| {
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
        let local = cases.iter().filter(|case| case.expect == Expect::Local);
        let keep = |ranked| {
            ended(ranked);
            Ok(())
        };
        self.each(&what, local.collect(), search, keep).await
    }

    /// Does something for each case, so many at once, until told to stop.
    async fn each<'c, F, T>(
        &self,
        what: &str,
        cases: Vec<&'c Case>,
        work: impl FnMut(&'c Case) -> F,
        mut ended: impl FnMut(T) -> Result<()>,
    ) -> Result<()>
    where
        F: Future<Output = T>,
    {
        self.progress.begin(what, cases.len() as u64);
        let under_way = futures::stream::iter(cases.into_iter().map(work))
            .buffer_unordered(self.concurrent.get())
            .take_until(self.stop.cancelled());
        let mut under_way = std::pin::pin!(under_way);
        let mut outcome = Ok(());
        while let Some(done) = under_way.next().await {
            self.progress.advance();
            outcome = ended(done);
            if outcome.is_err() {
                break;
            }
        }
        self.progress.end();
        outcome
    }
}

#[cfg(test)]
mod tests;
