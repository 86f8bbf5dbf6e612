//! Parses retrieval decisions (Self-RAG's Retrieve).

use super::{NO, Parser, YES};

/// Whether the next segment of an answer needs evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retrieval {
    /// It needs new evidence.
    Yes,
    /// It needs no evidence.
    No,
    /// It continues to use the present evidence.
    Continue,
}

/// Words for continue that also count at the start of a longer reply.
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
/// Words that count only as the whole reply: the tokens of Self-RAG.
const YES_ALONE: &[&str] = &["y", "retrieve", "retrieval"];
const NO_ALONE: &[&str] = &["n", "no retrieval", "no retrieve"];
const CONTINUE_ALONE: &[&str] = &["continue to use evidence", "continue using evidence"];

impl Parser<Retrieval> {
    pub(super) const RETRIEVAL: Self = Self {
        leading_word: |word| lookup(word, YES, NO, CONTINUE),
        whole_reply: |word| lookup(word, YES_ALONE, NO_ALONE, CONTINUE_ALONE),
        begins_phrases: |value| *value != Retrieval::Yes,
        from_bool: |value| if value { Retrieval::Yes } else { Retrieval::No },
    };
}

fn lookup(word: &str, yes: &[&str], no: &[&str], more: &[&str]) -> Option<Retrieval> {
    [(yes, Retrieval::Yes), (no, Retrieval::No), (more, Retrieval::Continue)]
        .iter()
        .find_map(|(words, value)| words.contains(&word).then_some(*value))
}

/// Parses yes, no or continue (계속, 継続, 继续) in every format that [`parse`](super::parse) accepts, and the tokens of
/// Self-RAG.
pub fn retrieval(text: &str) -> Option<Retrieval> {
    Parser::RETRIEVAL.parse(text)
}
