//! `emend eval qa`: every question asked of every graph.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    process::ExitCode,
    time::SystemTime,
};

use anyhow::{Context as _, Result};
use emend_eval::{
    data::{self, QuestionSet},
    qa::{self, Measured, Plan},
    report::{Backends, Run},
};

use super::{STOPPED, corpus::Corpus, services::Services};
use crate::{
    args::{Backend, EvalQaOptions},
    cluster,
    progress::Measuring,
    terminal,
};

/// Measures graphs over the question sets of folders.
///
/// # Errors
/// The data cannot be read, an output cannot be written, a graph is unknown, or a service cannot start.
pub async fn qa(options: EvalQaOptions) -> Result<ExitCode> {
    let mut sets = data::question_sets(&options.questions.data, &options.questions.sets)?;
    let stop = emend_chassis::stop_on_signal()?;
    let plan = Plan::new(options.graphs.clone(), options.concurrent, stop)?;
    // Hours of walks are not to end in a file that cannot be written.
    let mut out = options.out.as_deref().map(create).transpose()?;
    if let Some(page) = &options.html {
        let opened = File::options().create(true).append(true).open(page);
        opened.with_context(|| format!("cannot write {}", page.display()))?;
    }
    let available = qa::limit(&mut sets, options.questions.limit);
    let mut measured = Measured::new(&plan);
    let mut outcome = Ok(());
    for (set, available) in sets.iter().zip(available) {
        if outcome.is_ok() && !plan.stop.is_cancelled() {
            let out = out.as_mut().map(|file| file as &mut dyn Write);
            outcome = measure(&mut measured, set, available, &options, &plan, out).await;
        }
    }
    let partial = outcome.is_err() || plan.stop.is_cancelled();
    if partial && measured.is_empty() {
        outcome?;
        terminal::eprintln("stopped before a walk ended");
        return Ok(ExitCode::from(STOPPED));
    }
    let failed = measured.has_graph_without_result();
    let backends = backends(&options);
    let run = Run::new(
        &plan,
        options.timeout,
        backends,
        std::env::args(),
        SystemTime::now(),
        partial,
    );
    let (report, walks) = measured.report(run);
    if let Some(page) = &options.html {
        fs::write(page, report.page(&walks)?).with_context(|| format!("cannot write {}", page.display()))?;
    }
    if options.json {
        terminal::print_json(&report, true)?;
    } else {
        terminal::print(report.text())?;
    }
    // What was measured before it is printed all the same.
    outcome?;
    Ok(match (partial, failed) {
        (true, _) => ExitCode::from(STOPPED),
        (false, true) => ExitCode::from(1),
        (false, false) => ExitCode::SUCCESS,
    })
}

fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

/// As the services take them.
fn backends(options: &EvalQaOptions) -> Backends {
    let local = &options.questions.local;
    let by_default = if local.chat.is_some() {
        Backend::Llm
    } else {
        Backend::Embedded
    };
    let backend = |chosen: &Option<Backend>| chosen.as_ref().unwrap_or(&by_default).to_string();
    Backends {
        embedder: local.embedder.embedder.to_string(),
        generator: backend(&local.generator),
        grader: backend(&local.grader),
        rewriter: backend(&local.rewriter),
        llm_model: local.chat.llm_model.clone(),
    }
}

/// Measures one set with services of its own.
async fn measure<'a>(
    measured: &mut Measured<'a>,
    set: &'a QuestionSet,
    available: usize,
    options: &EvalQaOptions,
    plan: &Plan,
    out: Option<&mut dyn Write>,
) -> Result<()> {
    let Some(corpus) = Corpus::start(set, &options.questions.local, cluster::Plan::default(), &plan.stop).await? else {
        return Ok(());
    };
    let outcome = walk(measured, &corpus, set, available, options, plan, out).await;
    corpus.stop().await;
    outcome
}

async fn walk<'a>(
    measured: &mut Measured<'a>,
    corpus: &Corpus,
    set: &'a QuestionSet,
    available: usize,
    options: &EvalQaOptions,
    plan: &Plan,
    out: Option<&mut dyn Write>,
) -> Result<()> {
    let services = Services::of(corpus.cluster(), options.timeout)?;
    for graph in &plan.graphs {
        services.known(graph).await?;
    }
    let Some(stored) = corpus.store(set, available, &plan.stop).await? else {
        return Ok(());
    };
    let bar = Measuring::new("questions");
    measured
        .add(&services, set, stored, corpus.collection(), out, &bar)
        .await
}

#[cfg(test)]
mod tests;
