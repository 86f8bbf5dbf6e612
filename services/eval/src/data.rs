//! Question sets: JSON Lines beside their corpora.

mod parallel;

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    io::BufRead as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use self::parallel::{ParallelCase, is_parallel};

/// The language of a question that names none: undetermined, in BCP 47.
const UNDETERMINED: &str = "und";

/// A question and what a good outcome is.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Case {
    /// The set it is of.
    #[serde(default)]
    pub set: String,
    /// Its name within the set; the number of its line when the file gives none.
    #[serde(default)]
    pub id: String,
    /// Its language as a BCP 47 tag, `en`, `zh-Hant`; `und` when the file gives none.
    #[serde(default)]
    pub lang: String,
    /// What is asked.
    pub question: String,
    /// Any of these is right; none when the right outcome is to abstain.
    #[serde(default)]
    pub answers: Vec<String>,
    /// What kind of answer is right.
    #[serde(default)]
    pub answer_type: AnswerType,
    /// Documents that hold the answer: their ids, or their paths in the folder of documents.
    #[serde(default)]
    pub gold_doc_ids: Vec<String>,
    /// Documents about the subject of a question that none of them answers.
    #[serde(default)]
    pub near_doc_ids: Vec<String>,
    /// Sentences of the documents that state the answer, where it is a long one.
    #[serde(default)]
    pub gold_sentences: Vec<String>,
    /// Where the answer is.
    pub expect: Expect,
}

impl Case {
    /// What a text that answers it contains, one of these: a sentence that states the answer, or the answer.
    #[must_use]
    pub fn evidence(&self) -> &[String] {
        if self.gold_sentences.is_empty() {
            &self.answers
        } else {
            &self.gold_sentences
        }
    }

    /// What tells it from every other question.
    #[must_use]
    pub fn key(&self) -> (&str, &str) {
        (&self.set, &self.id)
    }
}

/// What kind of answer a question has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerType {
    /// A few words that a document contains.
    #[default]
    Span,
    /// One or more sentences.
    Long,
    /// Yes or no, which a document implies without containing the word.
    YesNo,
    /// There is none.
    None,
}

/// Where the answer to a question is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Expect {
    /// In the local corpus.
    #[default]
    Local,
    /// Only in the web corpus.
    Web,
    /// Nowhere: no passage answers it.
    None,
    /// Nowhere: its article is in neither corpus.
    Absent,
}

impl Expect {
    /// As the data words it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Web => "web",
            Self::None => "none",
            Self::Absent => "absent",
        }
    }

    /// Whether there is an answer to find.
    #[must_use]
    pub fn has_answer(self) -> bool {
        matches!(self, Self::Local | Self::Web)
    }
}

/// One `NAME.questions.jsonl` with its corpora; of one in several languages, one asked in with one read.
#[derive(Clone, Debug)]
pub struct QuestionSet {
    /// `NAME`, or `NAME.ASKED-READ`.
    pub name: String,
    /// The questions, in order of the file.
    pub cases: Vec<Case>,
    /// `NAME.corpus_local.jsonl`, the folder `NAME.documents`, or `NAME.corpus_READ.jsonl`.
    pub local: PathBuf,
    /// `NAME.corpus_web.jsonl`, where there is one.
    pub web: Option<PathBuf>,
}

/// The question sets of folders, by name; only those named in `wanted`, where it names any.
///
/// # Errors
/// A folder holds none, two sets have one name, a wanted one is not there, a line cannot be read, or a corpus is missing.
pub fn question_sets(folders: &[PathBuf], wanted: &[String]) -> Result<Vec<QuestionSet>> {
    let mut sets: Vec<QuestionSet> = Vec::new();
    for folder in folders {
        for set in sets_of(folder)? {
            if sets.iter().any(|other| other.name == set.name) {
                bail!(
                    "there are two question sets `{}`; name the folders one by one",
                    set.name
                );
            }
            sets.push(set);
        }
    }
    sets.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(unknown) = wanted.iter().find(|name| sets.iter().all(|set| set.name != **name)) {
        let known: Vec<_> = sets.iter().map(|set| set.name.as_str()).collect();
        bail!("there is no question set `{unknown}`; known: {}", known.join(", "));
    }
    sets.retain(|set| wanted.is_empty() || wanted.contains(&set.name));
    Ok(sets)
}

fn sets_of(folder: &Path) -> Result<Vec<QuestionSet>> {
    let mut sets = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let file = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let Some(name) = file.strip_suffix(".questions.jsonl") else {
            continue;
        };
        let lines = Lines::read(&path)?;
        if lines.all.first().is_some_and(|(_, line)| is_parallel(line)) {
            sets.extend(lines.parallel_sets(name)?);
        } else {
            let web = folder.join(format!("{name}.corpus_web.jsonl"));
            let documents = folder.join(format!("{name}.documents"));
            let mut cases = lines.checked(name, lines.parsed()?)?;
            let local = if documents.is_dir() {
                lines.name_files(&mut cases, &documents)?
            } else {
                lines.corpus(name, "local")?
            };
            sets.push(QuestionSet {
                name: name.to_owned(),
                local,
                cases,
                web: web.is_file().then_some(web),
            });
        }
    }
    if sets.is_empty() {
        bail!("{} holds no NAME.questions.jsonl", folder.display());
    }
    Ok(sets)
}

/// A file of questions, each with the number of its line.
struct Lines<'p> {
    path: &'p Path,
    all: Vec<(usize, Value)>,
}

impl<'p> Lines<'p> {
    fn read(path: &'p Path) -> Result<Self> {
        let mut lines = Self { path, all: Vec::new() };
        let file = fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        for (index, line) in std::io::BufReader::new(file).lines().enumerate() {
            let line = line.with_context(|| format!("cannot read {}", path.display()))?;
            if !line.trim().is_empty() {
                let value = serde_json::from_str(&line).with_context(|| lines.place(index + 1))?;
                lines.all.push((index + 1, value));
            }
        }
        Ok(lines)
    }

    fn place(&self, number: usize) -> String {
        format!("{}:{number}", self.path.display())
    }

    /// The corpus of that kind beside the questions.
    fn corpus(&self, name: &str, kind: &str) -> Result<PathBuf> {
        let corpus = self.path.with_file_name(format!("{name}.corpus_{kind}.jsonl"));
        if !corpus.is_file() {
            bail!(
                "{} has no corpus beside it: {} is missing",
                self.path.display(),
                corpus.display()
            );
        }
        Ok(corpus)
    }

    /// Turns the paths that questions name within a folder into what its files are stored as, and returns its full path.
    fn name_files(&self, cases: &mut [Case], folder: &Path) -> Result<PathBuf> {
        let folder = fs::canonicalize(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for case in cases {
            for name in case.gold_doc_ids.iter_mut().chain(&mut case.near_doc_ids) {
                let file = folder.join(&*name);
                if !file.is_file() {
                    bail!(
                        "{}: the question `{}` names `{name}`, and {} holds no such file",
                        self.path.display(),
                        case.id,
                        folder.display()
                    );
                }
                *name = file.to_string_lossy().into_owned();
            }
        }
        Ok(folder)
    }

    fn parsed<T: DeserializeOwned>(&self) -> Result<Vec<(usize, T)>> {
        let parse = |(number, line): &(usize, Value)| {
            let parsed = T::deserialize(line).with_context(|| self.place(*number))?;
            Ok((*number, parsed))
        };
        self.all.iter().map(parse).collect()
    }

    /// A set for every language that is asked in and every one that is read.
    fn parallel_sets(&self, name: &str) -> Result<Vec<QuestionSet>> {
        let cases: Vec<(usize, ParallelCase)> = self.parsed()?;
        let languages: BTreeSet<&str> = cases.iter().flat_map(|(_, case)| case.languages()).collect();
        let mut sets = Vec::new();
        for asked in &languages {
            for read in &languages {
                let across = |(number, case): &(usize, ParallelCase)| Some((*number, case.across(asked, read)?));
                let set = format!("{name}.{asked}-{read}");
                sets.push(QuestionSet {
                    local: self.corpus(name, read)?,
                    cases: self.checked(&set, cases.iter().filter_map(across).collect())?,
                    web: None,
                    name: set,
                });
            }
        }
        Ok(sets)
    }

    /// The questions of a set, with what their lines leave out.
    fn checked(&self, set: &str, cases: Vec<(usize, Case)>) -> Result<Vec<Case>> {
        let mut checked = Vec::new();
        let mut ids = HashSet::new();
        for (number, mut case) in cases {
            set.clone_into(&mut case.set);
            if case.id.is_empty() {
                case.id = number.to_string();
            }
            if case.lang.is_empty() {
                UNDETERMINED.clone_into(&mut case.lang);
            }
            if case.expect.has_answer() && case.answers.iter().all(|answer| answer.trim().is_empty()) {
                bail!(
                    "{}: the question is of kind {} and has no answers",
                    self.place(number),
                    case.expect.name()
                );
            }
            if !ids.insert(case.id.clone()) {
                bail!("{}: the id `{}` was there before", self.place(number), case.id);
            }
            checked.push(case);
        }
        Ok(checked)
    }
}

#[cfg(test)]
mod tests;
