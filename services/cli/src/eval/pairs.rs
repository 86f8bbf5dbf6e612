//! `emend eval pairs`: what the retriever finds, as labelled pairs for `emend calibrate`.

use std::{
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context as _, Result};
use emend_eval::{
    candidates::{self, Candidate, Documents},
    data::{self, Case, QuestionSet},
    qa,
};

use super::{STOPPED, corpus, services::Retriever};
use crate::{args::EvalPairsOptions, cluster::Component, progress::Measuring, terminal};

/// Writes labelled pairs of the question sets of folders.
///
/// # Errors
/// The data cannot be read, a search fails, a file cannot be written, or the retriever cannot start.
pub async fn pairs(options: EvalPairsOptions) -> Result<ExitCode> {
    let mut sets = data::question_sets(&options.questions.data, &options.questions.sets)?;
    let stop = emend_chassis::stop_on_signal()?;
    let available = qa::limit(&mut sets, options.questions.limit);
    let load = options.load;
    for (set, available) in sets.iter().zip(available) {
        let others = sets.iter().filter(|other| other.name != set.name);
        let foreign = others.flat_map(|other| other.cases.iter().take(options.foreign));
        let foreign: Vec<Case> = foreign.cloned().collect();
        let found = corpus::searched(
            set,
            available,
            (&options.questions, &[Component::Retriever]),
            &stop,
            async |cluster, collection| {
                let documents = Documents {
                    searcher: &Retriever::of(cluster, load.timeout)?,
                    set,
                    collection,
                    top_k: options.top_k,
                    concurrent: load.concurrent,
                };
                candidates::find(documents, &foreign, &stop, &Measuring::new("questions")).await
            },
        );
        if let Some(found) = found.await?.filter(|_| !stop.is_cancelled()) {
            let relevance = write(&options.out, "relevance", set, found.iter().collect())?;
            let answer = found.iter().filter(|candidate| candidate.answers.is_some());
            let answer = write(&options.out, "answer", set, answer.collect())?;
            terminal::println(format_args!(
                "{}: {relevance} pairs for relevance, {answer} for answer",
                set.name
            ))?;
        }
    }
    Ok(if stop.is_cancelled() {
        ExitCode::from(STOPPED)
    } else {
        ExitCode::SUCCESS
    })
}

/// Writes the pairs of a set to `FOLDER/TASK/SET.jsonl`, unless there are none. Returns how many there are.
fn write(folder: &Path, task: &str, set: &QuestionSet, pairs: Vec<&Candidate>) -> Result<usize> {
    if pairs.is_empty() {
        return Ok(0);
    }
    let folder = folder.join(task);
    let path = folder.join(format!("{}.jsonl", set.name));
    let cannot = || format!("cannot write {}", path.display());
    fs::create_dir_all(&folder).with_context(cannot)?;
    let mut file = BufWriter::new(File::create(&path).with_context(cannot)?);
    for pair in &pairs {
        serde_json::to_writer(&mut file, pair).with_context(cannot)?;
        file.write_all(b"\n").with_context(cannot)?;
    }
    file.flush().with_context(cannot)?;
    Ok(pairs.len())
}
