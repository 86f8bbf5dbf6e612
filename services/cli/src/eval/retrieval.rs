//! `emend eval retrieval`: modes of search compared.

use std::process::ExitCode;

use anyhow::Result;
use emend_eval::{
    data, qa,
    retrieval::{Report, Row, measure},
};
use emend_proto::v1::SearchMode;

use super::{
    STOPPED, corpus,
    services::{Reranked, Retriever},
};
use crate::{args::EvalRetrievalOptions, cluster::Component, progress::Measuring, terminal};

/// Measures modes of search over the question sets of folders.
///
/// # Errors
/// The data cannot be read, or the retriever cannot start.
pub async fn retrieval(options: EvalRetrievalOptions) -> Result<ExitCode> {
    let mut sets = data::question_sets(&options.questions.data, &options.questions.sets)?;
    let stop = emend_chassis::stop_on_signal()?;
    let available = qa::limit(&mut sets, options.questions.limit);
    let modes: Vec<SearchMode> = options.modes.iter().map(|mode| (*mode).into()).collect();
    let load = options.load;
    let services: &[Component] = match options.rerank {
        Some(_) => &[Component::Retriever, Component::Grader],
        None => &[Component::Retriever],
    };
    let mut rows = Vec::new();
    for (set, available) in sets.iter().zip(available) {
        let measured = corpus::searched(
            set,
            available,
            (&options.questions, services),
            &stop,
            async |cluster, collection| {
                let bar = Measuring::new("questions");
                let retriever = Retriever::of(cluster, load.timeout)?;
                let mut rows = measure(&retriever, set, collection, &modes, load.concurrent, &stop, &bar).await;
                if let Some(most) = options.rerank {
                    let reranked = Reranked::of(cluster, &retriever, most)?;
                    let mode = [SearchMode::Hybrid];
                    let graded = measure(&reranked, set, collection, &mode, load.concurrent, &stop, &bar).await;
                    rows.extend(graded.into_iter().map(|row| Row {
                        mode: "reranked",
                        ..row
                    }));
                }
                Ok(rows)
            },
        );
        rows.extend(measured.await?.unwrap_or_default());
    }
    let report = Report::new(rows);
    if options.json {
        terminal::print_json(&report, true)?;
    } else {
        terminal::print(report.text())?;
    }
    Ok(if stop.is_cancelled() {
        ExitCode::from(STOPPED)
    } else if report.is_empty() {
        terminal::eprintln("error: no question of these sets is answered by their local corpora");
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
