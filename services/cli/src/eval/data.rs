//! Question sets: JSON Lines beside their corpora.

use std::{
    fs,
    io::BufRead as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

/// A question and what a good outcome is.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Case {
    /// What is asked.
    pub question: String,
    /// Any of these is right; none when the right outcome is to abstain.
    #[serde(default)]
    pub answers: Vec<String>,
    /// Documents that hold the answer.
    #[serde(default)]
    pub gold_doc_ids: Vec<String>,
    /// Where the answer is.
    pub expect: Expect,
}

/// Where the answer to a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Expect {
    /// In the local corpus.
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
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Web => "web",
            Self::None => "none",
            Self::Absent => "absent",
        }
    }
}

/// One `NAME.questions.jsonl` with its corpora.
#[derive(Clone, Debug)]
pub(super) struct QuestionSet {
    /// `NAME`.
    pub name: String,
    /// The questions, in order of the file.
    pub cases: Vec<Case>,
    /// `NAME.corpus_local.jsonl`.
    pub local: PathBuf,
    /// `NAME.corpus_web.jsonl`, where there is one.
    pub web: Option<PathBuf>,
}

/// The question sets of a folder, by name.
///
/// # Errors
/// The folder holds none, a line cannot be read, or a corpus is missing.
pub(super) fn question_sets(folder: &Path) -> Result<Vec<QuestionSet>> {
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
        let local = folder.join(format!("{name}.corpus_local.jsonl"));
        if !local.is_file() {
            bail!(
                "{} has no corpus beside it: {} is missing",
                path.display(),
                local.display()
            );
        }
        let web = folder.join(format!("{name}.corpus_web.jsonl"));
        sets.push(QuestionSet {
            name: name.to_owned(),
            cases: cases(&path)?,
            local,
            web: web.is_file().then_some(web),
        });
    }
    if sets.is_empty() {
        bail!("{} holds no NAME.questions.jsonl", folder.display());
    }
    sets.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(sets)
}

fn cases(path: &Path) -> Result<Vec<Case>> {
    let file = fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut cases = Vec::new();
    for (index, line) in std::io::BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        if line.trim().is_empty() {
            continue;
        }
        let case = serde_json::from_str(&line).with_context(|| format!("{}:{}", path.display(), index + 1))?;
        cases.push(case);
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_needs_its_corpus() {
        let folder = tempfile::tempdir().unwrap();
        let questions = "{\"question\":\"q\",\"expect\":\"none\"}\n\n{\"question\":\"r\",\"expect\":\"local\",\"answers\":[\"x\"]}\n";
        fs::write(folder.path().join("a.questions.jsonl"), questions).unwrap();
        assert!(
            question_sets(folder.path())
                .unwrap_err()
                .to_string()
                .contains("a.corpus_local.jsonl")
        );
        fs::write(folder.path().join("a.corpus_local.jsonl"), "").unwrap();
        let sets = question_sets(folder.path()).unwrap();
        assert_eq!((sets[0].name.as_str(), sets[0].cases.len()), ("a", 2));
        assert_eq!(sets[0].cases[1].expect, Expect::Local);
        assert!(sets[0].web.is_none());
    }

    #[test]
    fn a_bad_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.corpus_local.jsonl"), "").unwrap();
        fs::write(
            folder.path().join("a.questions.jsonl"),
            "{\"question\":\"q\",\"expect\":\"moon\"}",
        )
        .unwrap();
        assert!(
            question_sets(folder.path())
                .unwrap_err()
                .to_string()
                .contains("a.questions.jsonl:1")
        );
    }
}
