//! Whether evidence is needed: Self-RAG's Retrieve.

use super::{NO, Reader, YES};

/// Whether the next piece of an answer needs evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retrieval {
    /// It needs evidence that is not there.
    Yes,
    /// It needs none.
    No,
    /// The evidence that is there serves it too.
    Continue,
}

/// Words that may open a longer reply.
const CONTINUE: &[&str] = &[
    "continue",
    "continues",
    "continuing",
    "계속",
    "계속하기",
    "계속한다",
    "계속합니다",
    "継続",
    "継続する",
    "続ける",
    "続行",
    "继续",
    "繼續",
    "继续使用",
    "繼續使用",
];
/// What says it only when nothing else is said: the tokens of Self-RAG.
const YES_ALONE: &[&str] = &["y", "retrieve", "retrieval"];
const NO_ALONE: &[&str] = &["n", "no retrieval", "no retrieve"];
const CONTINUE_ALONE: &[&str] = &["continue to use evidence", "continue using evidence"];

impl Reader<Retrieval> {
    pub(super) const RETRIEVAL: Self = Self {
        lead: |word| of(word, YES, NO, CONTINUE),
        only: |word| of(word, YES_ALONE, NO_ALONE, CONTINUE_ALONE),
        begins_phrases: |said| *said != Retrieval::Yes,
        truth: |truth| if truth { Retrieval::Yes } else { Retrieval::No },
    };
}

fn of(word: &str, yes: &[&str], no: &[&str], more: &[&str]) -> Option<Retrieval> {
    [(yes, Retrieval::Yes), (no, Retrieval::No), (more, Retrieval::Continue)]
        .iter()
        .find_map(|(words, said)| words.contains(&word).then_some(*said))
}

/// Yes, no or continue · 계속 · 継続 · 继续, in every dress that [`parse`](super::parse) reads, and the tokens of Self-RAG.
pub fn retrieval(text: &str) -> Option<Retrieval> {
    Reader::RETRIEVAL.read(text)
}
