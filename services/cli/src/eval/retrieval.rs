//! `emend eval retrieval`: modes of search compared.

use std::process::ExitCode;

use anyhow::Result;
use emend_eval::{
    data::{self, QuestionSet},
    qa,
    retrieval::{self, Report, Row},
};
use emend_proto::v1::SearchMode;
use tokio_util::sync::CancellationToken;

use super::{STOPPED, corpus::Corpus, services::Retriever};
use crate::{
    args::EvalRetrievalOptions,
    cluster::{Component, Plan},
    progress::Measuring,
};

/// Measures modes of search over the question sets of folders.
///
/// # Errors
/// The data cannot be read, or the retriever cannot start.
pub async fn retrieval(options: EvalRetrievalOptions) -> Result<ExitCode> {
    let mut sets = data::question_sets(&options.data, &options.sets)?;
    let stop = emend_chassis::stop_on_signal()?;
    let available = qa::limit(&mut sets, options.limit);
    let mut rows = Vec::new();
    for (set, available) in sets.iter().zip(available) {
        if !stop.is_cancelled() {
            rows.extend(measure(set, available, &options, &stop).await?);
        }
    }
    let report = Report::new(rows);
    if options.json {
        anstream::println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        anstream::print!("{}", report.text());
    }
    Ok(if stop.is_cancelled() {
        ExitCode::from(STOPPED)
    } else if report.is_empty() {
        anstream::eprintln!("error: no question of these sets is answered by their local corpora");
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

async fn measure(
    set: &QuestionSet,
    available: usize,
    options: &EvalRetrievalOptions,
    stop: &CancellationToken,
) -> Result<Vec<Row>> {
    let plan = Plan::only(Component::Retriever);
    let Some(corpus) = Corpus::start(set, &options.local, plan, stop).await? else {
        return Ok(Vec::new());
    };
    let measured = async {
        if corpus.store(set, available, stop).await?.is_none() {
            return Ok(Vec::new());
        }
        let retriever = Retriever::of(corpus.cluster(), options.timeout)?;
        let modes: Vec<SearchMode> = options.modes.iter().map(|mode| (*mode).into()).collect();
        let bar = Measuring::new("questions");
        let collection = corpus.collection();
        let concurrent = options.concurrent;
        Ok(retrieval::measure(&retriever, set, collection, &modes, concurrent, stop, &bar).await)
    }
    .await;
    corpus.stop().await;
    measured
}
