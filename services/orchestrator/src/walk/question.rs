//! What the user asked.

use std::collections::HashMap;

use emend_proto::v1::{self, ChatMessage};

/// What the user asked. Queries are rewritten; the question never changes (R2), but for one thing that comes before the
/// walk: a follow-up is made to stand on its own.
#[derive(Clone, Debug)]
pub struct Question {
    text: String,
    standalone: Option<String>,
    collection: String,
    filter: HashMap<String, String>,
    history: Vec<ChatMessage>,
}

impl Question {
    /// Takes the parts of a checked question that a walk needs.
    pub fn new(question: v1::Question) -> Question {
        Question {
            text: question.question,
            standalone: None,
            collection: question.collection,
            filter: question.filter,
            history: question.history,
        }
    }

    /// The question that is searched, answered and graded: as it was asked, or as it stands on its own.
    pub fn text(&self) -> &str {
        self.standalone.as_deref().unwrap_or(&self.text)
    }

    /// The question as it stands on its own, where that is another than the one asked.
    pub fn standalone(&self) -> Option<&str> {
        self.standalone.as_deref()
    }

    /// The collection to search; empty means `default`.
    pub fn collection(&self) -> &str {
        &self.collection
    }

    /// Only documents whose metadata has all these values.
    pub fn filter(&self) -> &HashMap<String, String> {
        &self.filter
    }

    /// The conversation before the question, oldest first.
    pub fn history(&self) -> &[ChatMessage] {
        &self.history
    }

    /// The same question, standing on its own.
    pub(super) fn standing_alone(self, text: String) -> Question {
        let standalone = (text != self.text).then_some(text);
        Question { standalone, ..self }
    }
}
