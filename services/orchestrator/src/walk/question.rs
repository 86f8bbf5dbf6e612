//! What the user asked.

use std::collections::HashMap;

use emend_proto::v1::{self, ChatMessage, FieldCondition, SearchMode};

/// What the user asked. A walk rewrites queries but never the question (R2). The only exception
/// comes before the walk: a follow-up is rewritten into a standalone question.
#[derive(Clone, Debug)]
pub struct Question {
    text: String,
    standalone: Option<String>,
    collection: String,
    filter: HashMap<String, String>,
    conditions: Vec<FieldCondition>,
    search: SearchMode,
    exact: bool,
    web_off: bool,
    history: Vec<ChatMessage>,
}

impl Question {
    /// Takes the parts of a checked question that a walk needs.
    pub fn new(question: v1::Question) -> Question {
        Question {
            search: question.search(),
            text: question.question,
            standalone: None,
            collection: question.collection,
            filter: question.filter,
            conditions: question.conditions,
            exact: question.exact,
            web_off: question.web_off,
            history: question.history,
        }
    }

    /// The question that is searched, answered and graded: the standalone question if there is one,
    /// otherwise the question that was asked.
    pub fn text(&self) -> &str {
        self.standalone.as_deref().unwrap_or(&self.text)
    }

    /// The standalone question, if it differs from the one that was asked.
    pub fn standalone(&self) -> Option<&str> {
        self.standalone.as_deref()
    }

    /// The collection to search; empty means `default`.
    pub fn collection(&self) -> &str {
        &self.collection
    }

    /// The metadata values that documents must have, all of them.
    pub fn filter(&self) -> &HashMap<String, String> {
        &self.filter
    }

    /// The conditions that the metadata of documents must meet, all of them.
    pub fn conditions(&self) -> &[FieldCondition] {
        &self.conditions
    }

    /// Whether to search the documents exactly, whatever the graph says.
    pub fn exact(&self) -> bool {
        self.exact
    }

    /// Whether the web is left alone, whatever the graph says.
    pub fn web_off(&self) -> bool {
        self.web_off
    }

    /// How to search the documents; unspecified means as the graph says.
    pub fn search(&self) -> SearchMode {
        self.search
    }

    /// The conversation before the question, oldest first.
    pub fn history(&self) -> &[ChatMessage] {
        &self.history
    }

    /// The same question with this standalone form.
    pub(super) fn standing_alone(self, text: String) -> Question {
        let standalone = (text != self.text).then_some(text);
        Question { standalone, ..self }
    }
}
