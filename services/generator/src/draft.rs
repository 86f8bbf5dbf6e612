//! An answer while a model writes it: what of the model's text is the answer's.

use emend_models::chat::TokenLogprobs;
use emend_proto::v1::GenerateRequest;

use crate::citations::{Citations, Mark};
use crate::continuation::Continuation;
use crate::likelihood::Likelihood;
use crate::limit::SentenceLimit;
use crate::reasoning::Reasoning;

/// Takes a model's text piece by piece and lets the answer through: no reasoning, no marks of citations, nothing that
/// has been said before, and no more sentences than were asked for.
#[derive(Debug)]
pub(crate) struct Draft {
    reasoning: Reasoning,
    citations: Citations,
    continuation: Continuation,
    limit: SentenceLimit,
    likelihood: Likelihood,
    answer: String,
}

/// What a model wrote.
#[derive(Debug)]
pub(crate) struct Written {
    /// The answer.
    pub(crate) answer: String,
    /// Its citations.
    pub(crate) marks: Vec<Mark>,
    /// How likely the model finds it, 0–1, where it says so.
    pub(crate) likelihood: Option<f64>,
    /// Whether there was more of it than sentences were asked for.
    pub(crate) is_cut: bool,
}

impl Draft {
    /// An answer to this request.
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

    /// Takes the tokens of the next piece.
    pub(crate) fn tokens(&mut self, tokens: &[TokenLogprobs]) {
        self.likelihood.take(self.citations.written(), tokens);
    }

    /// Takes the next piece and returns what is surely the answer's.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let said = self.reasoning.push(piece);
        if said.len() < piece.len() && !self.reasoning.is_open() {
            self.likelihood.forget();
        }
        let cleaned = self.citations.push(&said);
        let new = self.continuation.push(&cleaned);
        self.add(&new)
    }

    /// What was let through so far.
    pub(crate) fn answer(&self) -> &str {
        &self.answer
    }

    /// Whether all sentences that were asked for are there and the model goes on.
    pub(crate) fn is_full(&self) -> bool {
        self.limit.is_full()
    }

    /// Ends the text: what was held back, and the whole.
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
        // What cites a sentence that was said before went with it.
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
