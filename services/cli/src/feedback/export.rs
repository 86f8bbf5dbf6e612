//! Feedback as labelled pairs, as `emend calibrate` reads them.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
};

use anyhow::{Context as _, Result, bail};
use emend_orchestrator::feedback::{FeedbackFolder, Kept, Verdict};
use serde::Serialize;
use serde_json::json;

use super::create_folder;
use crate::{args::ExportOptions, terminal};

/// A pair of question and passage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct RelevancePair {
    question: String,
    title: String,
    passage: String,
    relevant: bool,
    /// Whether nobody said it of the passage itself: an answer cites it that was called right.
    constructed: bool,
}

/// A pair of question and answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct UsefulnessPair {
    question: String,
    answer: String,
    useful: bool,
}

/// The pairs of all feedback, each once.
#[derive(Debug, Default)]
struct Pairs {
    relevance: BTreeMap<(String, String), RelevancePair>,
    usefulness: BTreeMap<(String, String), UsefulnessPair>,
}

impl Pairs {
    /// Adds what follows from feedback. What a person said of a passage holds before what follows from an answer, and what
    /// was said last before what was said first.
    fn add(&mut self, kept: Kept) {
        for passage in kept.passages {
            let is_right = kept.verdict == Verdict::Right && passage.cited;
            let (relevant, constructed) = match passage.relevant {
                Some(relevant) => (relevant, false),
                None if is_right => (true, true),
                None => continue,
            };
            let key = (kept.question.clone(), passage.text.clone());
            if constructed && self.relevance.get(&key).is_some_and(|pair| !pair.constructed) {
                continue;
            }
            let pair = RelevancePair {
                question: kept.question.clone(),
                title: passage.title,
                passage: passage.text,
                relevant,
                constructed,
            };
            self.relevance.insert(key, pair);
        }
        // That there should have been an answer says nothing of the words of an abstention.
        let useful = match kept.verdict {
            Verdict::Right => true,
            Verdict::Wrong => false,
            Verdict::WronglyAbstained => return,
        };
        let key = (kept.question.clone(), kept.answer.clone());
        let pair = UsefulnessPair {
            question: kept.question,
            answer: kept.answer,
            useful,
        };
        self.usefulness.insert(key, pair);
    }
}

/// Writes the pairs of a folder of feedback.
///
/// # Errors
/// The feedback cannot be read, holds no pair, or the pairs cannot be written.
pub(super) fn run(options: &ExportOptions) -> Result<()> {
    let (mut pairs, mut count) = (Pairs::default(), 0_u64);
    let broken = FeedbackFolder::read::<anyhow::Error>(&options.feedback_dir, |kept| {
        count += 1;
        pairs.add(kept);
        Ok(())
    })?;
    if broken > 0 {
        terminal::eprintln(format_args!(
            "{broken} lines were cut off when they were written, and are left out"
        ));
    }
    if pairs.relevance.is_empty() && pairs.usefulness.is_empty() {
        bail!(
            "{} holds {count} records of feedback and no pair; say of answers that they are right or wrong, or which passages help",
            options.feedback_dir.display()
        );
    }
    let relevance = write(&options.out, "relevance", pairs.relevance.values())?;
    let usefulness = write(&options.out, "usefulness", pairs.usefulness.values())?;
    if options.json {
        let told = json!({ "feedback": count, "relevance": relevance, "usefulness": usefulness });
        terminal::print_json(&told, false)
    } else {
        let told = format_args!(
            "{relevance} pairs for relevance, {usefulness} for usefulness, of {count} records of feedback"
        );
        Ok(terminal::println(told)?)
    }
}

/// Writes pairs to `FOLDER/TASK/feedback.jsonl`, unless there are none. Returns how many there are.
fn write<'a, T: Serialize + 'a>(
    folder: &Path,
    task: &str,
    pairs: impl ExactSizeIterator<Item = &'a T>,
) -> Result<usize> {
    let count = pairs.len();
    if count == 0 {
        return Ok(0);
    }
    let folder = folder.join(task);
    create_folder(&folder)?;
    let path = folder.join("feedback.jsonl");
    let cannot = || format!("cannot write {}", path.display());
    let mut file = BufWriter::new(File::create(&path).with_context(cannot)?);
    for pair in pairs {
        serde_json::to_writer(&mut file, pair).with_context(cannot)?;
        file.write_all(b"\n").with_context(cannot)?;
    }
    file.flush().with_context(cannot)?;
    Ok(count)
}

#[cfg(test)]
mod tests;
