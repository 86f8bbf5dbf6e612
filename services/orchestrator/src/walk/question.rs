//! What the user asked.

use std::collections::HashMap;

use emend_proto::v1;

/// What the user asked. It has no setter: queries are rewritten, the question never changes (R2).
#[derive(Clone, Debug)]
pub struct Question {
    text: String,
    collection: String,
    filter: HashMap<String, String>,
}

impl Question {
    /// Takes the parts of a checked question that a walk needs.
    pub fn new(question: v1::Question) -> Question {
        Question {
            text: question.question,
            collection: question.collection,
            filter: question.filter,
        }
    }

    /// The question as it was asked.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The collection to search; empty means `default`.
    pub fn collection(&self) -> &str {
        &self.collection
    }

    /// Only documents whose metadata has all these values.
    pub fn filter(&self) -> &HashMap<String, String> {
        &self.filter
    }
}
