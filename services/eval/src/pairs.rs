//! Labelled pairs: JSON Lines of texts that people, or a construction, judged.

use std::{
    collections::BTreeMap,
    fs,
    io::BufRead as _,
    num::NonZero,
    path::{Path, PathBuf},
    thread,
};

use anyhow::{Context as _, Result, bail};
use emend_evaluator::{Pair, PassageText};
use futures::{Stream, StreamExt as _, stream};
use serde::Deserialize;

/// What the pairs of a file are labelled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// `question` (or `query`), `passage`, `relevant`; `title` and `article` where known.
    Relevance,
    /// `question`, `passage`, `answers`: a sentence that holds one of them is right; `title` and `article` where known.
    Answer,
    /// `question` (may be missing), `evidence`, `claim`, `supported`.
    Groundedness,
    /// `question`, `answer`, `useful`.
    Usefulness,
}

impl Task {
    /// As users know it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Relevance => "relevance",
            Self::Answer => "answer",
            Self::Groundedness => "groundedness",
            Self::Usefulness => "usefulness",
        }
    }
}

/// The union of all tasks' fields; others are passed over.
#[derive(Deserialize)]
struct Line {
    #[serde(alias = "query")]
    question: Option<String>,
    passage: Option<String>,
    #[serde(default)]
    title: String,
    rank: Option<usize>,
    article: Option<String>,
    evidence: Option<String>,
    claim: Option<String>,
    answer: Option<String>,
    answers: Option<Vec<String>>,
    relevant: Option<bool>,
    supported: Option<bool>,
    useful: Option<bool>,
    lang: Option<String>,
    #[serde(default)]
    constructed: bool,
}

/// A labelled pair.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledPair {
    /// What it is labelled for.
    pub task: Task,
    /// What is asked; empty when unknown.
    pub question: String,
    /// The passage, claim or answer that is judged.
    pub judged: String,
    /// The title of the passage's document; empty when unknown.
    pub title: String,
    /// How many passages were found before it.
    pub rank: usize,
    /// What the question is about, where the file tells it. Pairs of one article are not split between fitting and
    /// testing.
    pub article: Option<String>,
    /// The evidence for a claim; empty for other tasks.
    pub evidence: String,
    /// One label, or one a sentence of the passage for [`Task::Answer`].
    pub labels: Vec<bool>,
    /// The language, where the file tells it.
    pub lang: Option<String>,
    /// Whether the label follows from how the pair was made, and no person judged it.
    pub constructed: bool,
}

impl LabelledPair {
    fn passage(&self) -> PassageText<'_> {
        PassageText {
            title: &self.title,
            text: &self.judged,
            rank: self.rank,
            unnamed: 0.0,
        }
    }

    /// As the evaluator takes it.
    #[must_use]
    pub fn pair(&self) -> Pair<'_> {
        match self.task {
            Task::Relevance => Pair::Relevance {
                question: &self.question,
                passage: self.passage(),
            },
            Task::Answer => Pair::Answer {
                question: &self.question,
                passage: self.passage(),
            },
            Task::Groundedness => Pair::Groundedness {
                question: &self.question,
                claim: &self.judged,
                evidence: &self.evidence,
            },
            Task::Usefulness => Pair::Usefulness {
                question: &self.question,
                answer: &self.judged,
            },
        }
    }
}

/// Reads the pairs of a file.
///
/// # Errors
/// The file cannot be read, or a line is no pair of the task; the message names the line and the field.
pub fn read(path: &Path, task: Task) -> Result<Vec<LabelledPair>> {
    let file = fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut pairs = Vec::new();
    for (index, line) in std::io::BufReader::new(file).lines().enumerate() {
        let place = || format!("{}:{}", path.display(), index + 1);
        let line = line.with_context(place)?;
        if line.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(&line).with_context(place)?;
        pairs.push(labelled(task, line).with_context(place)?);
    }
    if pairs.is_empty() {
        bail!("{} holds no pairs", path.display());
    }
    Ok(pairs)
}

fn labelled(task: Task, line: Line) -> Result<LabelledPair> {
    fn field<T>(value: Option<T>, name: &str, task: Task) -> Result<T> {
        value.with_context(|| format!("a pair for {} needs the field `{name}`", task.name()))
    }
    let known = |value| field(value, "question", task);
    let (question, judged, evidence, labels) = match task {
        Task::Relevance => {
            let passage = field(line.passage, "passage", task)?;
            let label = field(line.relevant, "relevant", task)?;
            (known(line.question)?, passage, String::new(), vec![label])
        }
        Task::Answer => {
            let passage = field(line.passage, "passage", task)?;
            let answers = field(line.answers, "answers", task)?;
            let holds = |sentence: &str| {
                answers
                    .iter()
                    .any(|answer| !answer.is_empty() && sentence.contains(answer))
            };
            let sentences = emend_text::sentences(&passage).into_iter();
            let labels = sentences.map(|range| passage.get(range).is_some_and(holds)).collect();
            (known(line.question)?, passage, String::new(), labels)
        }
        Task::Groundedness => {
            let claim = field(line.claim, "claim", task)?;
            let evidence = field(line.evidence, "evidence", task)?;
            let label = field(line.supported, "supported", task)?;
            (line.question.unwrap_or_default(), claim, evidence, vec![label])
        }
        Task::Usefulness => {
            let answer = field(line.answer, "answer", task)?;
            let label = field(line.useful, "useful", task)?;
            (known(line.question)?, answer, String::new(), vec![label])
        }
    };
    Ok(LabelledPair {
        task,
        question,
        judged,
        title: line.title,
        rank: line.rank.unwrap_or(1).saturating_sub(1),
        article: line.article,
        evidence,
        labels,
        lang: line.lang,
        constructed: line.constructed,
    })
}

/// What `look` makes of each item, in order; enough at once that no core waits for the one whose turn it is.
pub fn each<'a, I, F>(items: &'a [I], look: impl FnMut(&'a I) -> F + 'a) -> impl Stream<Item = F::Output> + 'a
where
    F: Future + 'a,
{
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    stream::iter(items).map(look).buffered(2 * cores)
}

/// The files of labelled pairs of a folder by task and name: `relevance/NAME.jsonl`, `groundedness/…`, `usefulness/…`.
///
/// # Errors
/// None of these folders is there, or one cannot be read.
pub fn folder(folder: &Path) -> Result<BTreeMap<(Task, String), PathBuf>> {
    let mut files = BTreeMap::new();
    for task in [Task::Relevance, Task::Groundedness, Task::Usefulness] {
        let own = folder.join(task.name());
        if !own.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&own).with_context(|| format!("cannot read {}", own.display()))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                files.insert((task, source(&path)), path);
            }
        }
    }
    if files.is_empty() {
        bail!(
            "{} holds no labelled pairs: expected relevance/NAME.jsonl, groundedness/NAME.jsonl or usefulness/NAME.jsonl",
            folder.display()
        );
    }
    Ok(files)
}

/// The name of a data set: its file's, without the extension.
#[must_use]
pub fn source(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
