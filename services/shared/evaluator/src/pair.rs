//! Texts to evaluate.

/// A passage, the title of its document, which often names what the text calls "it", and its rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PassageText<'a> {
    /// The title; empty if there is none.
    pub title: &'a str,
    /// The text.
    pub text: &'a str,
    /// How many passages were found before it. The retriever knows which words are rare in the documents.
    pub rank: usize,
    /// How much more of the question another passage's document is named by, 0–1; see [`unnamed`](crate::unnamed).
    pub unnamed: f64,
}

impl<'a> From<&'a str> for PassageText<'a> {
    fn from(text: &'a str) -> Self {
        Self {
            title: "",
            text,
            ..Self::default()
        }
    }
}

/// A pair of texts to evaluate.
#[derive(Clone, Copy, Debug)]
pub enum Pair<'a> {
    /// Is the passage relevant to the question?
    Relevance {
        /// What is asked.
        question: &'a str,
        /// What was found.
        passage: PassageText<'a>,
    },
    /// Does each sentence of the passage answer the question?
    Answer {
        /// What is asked.
        question: &'a str,
        /// What was found.
        passage: PassageText<'a>,
    },
    /// Does the evidence support the claim?
    Groundedness {
        /// The question; empty if unknown.
        question: &'a str,
        /// The claim.
        claim: &'a str,
        /// The evidence.
        evidence: &'a str,
    },
    /// Does the answer address the question?
    Usefulness {
        /// What is asked.
        question: &'a str,
        /// The answer.
        answer: &'a str,
    },
}
