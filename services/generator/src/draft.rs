//! An answer while it is streamed: which part of the model's text belongs to it.

use emend_models::chat::TokenLogprobs;
use emend_proto::v1::GenerateRequest;

use crate::citations::{Citations, Mark};
use crate::continuation::Continuation;
use crate::likelihood::Likelihood;
use crate::limit::SentenceLimit;
use crate::reasoning::Reasoning;

/// Filters the streamed text of a model down to the answer: without reasoning, citation marks, and repetitions of the
/// answer so far, and with at most the requested number of sentences.
#[derive(Debug)]
pub(crate) struct Draft {
    reasoning: Reasoning,
    citations: Citations,
    continuation: Continuation,
    limit: SentenceLimit,
    likelihood: Likelihood,
    answer: String,
}

/// A finished answer.
#[derive(Debug)]
pub(crate) struct Written {
    /// The answer.
    pub(crate) answer: String,
    /// Its citations.
    pub(crate) marks: Vec<Mark>,
    /// The likelihood of the answer under the model, 0–1, if the model returns log-probabilities.
    pub(crate) likelihood: Option<f64>,
    /// Whether the answer was truncated to the requested number of sentences.
    pub(crate) is_cut: bool,
}

impl Draft {
    /// Creates a draft for this request.
    pub(crate) fn new(request: &GenerateRequest) -> Self {
        let most = request.max_sentences.and_then(|most| usize::try_from(most).ok());
        Self {
            reasoning: Reasoning::new(),
            citations: Citations::new(request.passages.len()),
            continuation: Continuation::new(&request.answer_so_far),
            limit: SentenceLimit::new(most),
            likelihood: Likelihood::default(),
            answer: String::new(),
        }
    }

    /// Adds the tokens of the next chunk.
    pub(crate) fn tokens(&mut self, tokens: &[TokenLogprobs]) {
        self.likelihood.take(self.citations.written(), tokens);
    }

    /// Processes the next chunk and returns the answer text that can be emitted.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let said = self.reasoning.push(piece);
        if said.len() < piece.len() && !self.reasoning.is_open() {
            self.likelihood.forget();
        }
        let cleaned = self.citations.push(&said);
        let new = self.continuation.push(&cleaned);
        self.add(&new)
    }

    /// The answer text emitted so far.
    pub(crate) fn answer(&self) -> &str {
        &self.answer
    }

    /// Whether the requested number of sentences is reached and the model continues.
    pub(crate) fn is_full(&self) -> bool {
        self.limit.is_full()
    }

    /// Ends the text. Returns the pending text and the whole answer.
    pub(crate) fn finish(mut self) -> (String, Written) {
        let held = std::mem::replace(&mut self.reasoning, Reasoning::new()).finish();
        let mut cleaned = self.citations.push(&held);
        let (rest, marks) = std::mem::replace(&mut self.citations, Citations::new(0)).finish();
        cleaned.push_str(&rest);
        let mut new = self.continuation.push(&cleaned);
        new.push_str(&self.continuation.finish());
        let mut rest = self.add(&new);
        let last = self.limit.finish();
        rest.push_str(&last);
        self.answer.push_str(&last);
        let (start, dropped) = (self.continuation.start(), self.continuation.dropped());
        let end = dropped + self.answer.len();
        // Citations in the removed repetition are removed too.
        let of_answer = |mark: &Mark| mark.at <= end && (dropped == 0 || mark.at > start);
        let marks = marks.into_iter().filter(of_answer).map(|mark| Mark {
            at: mark.at.saturating_sub(dropped),
            ..mark
        });
        let written = Written {
            marks: marks.collect(),
            likelihood: self.likelihood.of(&(start..end)),
            is_cut: self.limit.is_full(),
            answer: self.answer,
        };
        (rest, written)
    }

    fn add(&mut self, new: &str) -> String {
        let sure = self.limit.push(new);
        self.answer.push_str(&sure);
        sure
    }
}
