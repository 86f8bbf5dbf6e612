//! Questions that stand in several languages over corpora that do: what is asked in one is looked for in another.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Case, Expect};

/// A question in several languages, its answers and documents in each, by BCP 47 tag.
#[derive(Debug, Deserialize)]
pub(super) struct ParallelCase {
    #[serde(default)]
    id: String,
    question: BTreeMap<String, String>,
    #[serde(default)]
    answers: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    gold_doc_ids: BTreeMap<String, Vec<String>>,
    expect: Expect,
}

/// Whether a line is a [`ParallelCase`]: its question is an object.
pub(super) fn is_parallel(line: &Value) -> bool {
    line.get("question").is_some_and(Value::is_object)
}

impl ParallelCase {
    /// The languages it is asked in.
    pub(super) fn languages(&self) -> impl Iterator<Item = &str> {
        self.question.keys().map(String::as_str)
    }

    /// Asked in one language of documents in another, where it stands in both. An answer may be in either.
    pub(super) fn across(&self, asked: &str, read: &str) -> Option<Case> {
        let of = |language: &str| self.answers.get(language).cloned().unwrap_or_default();
        let mut answers = of(read);
        if asked != read {
            answers.extend(of(asked));
        }
        self.question.get(read)?;
        Some(Case {
            id: self.id.clone(),
            lang: asked.to_owned(),
            question: self.question.get(asked)?.clone(),
            answers,
            gold_doc_ids: self.gold_doc_ids.get(read).cloned().unwrap_or_default(),
            expect: self.expect,
            ..Case::default()
        })
    }
}

#[cfg(test)]
mod tests;
