//! How documents are searched.

use clap::ValueEnum;
use emend_proto::v1::SearchMode;

/// How passages are searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Search {
    /// By embedding: meaning, also across languages
    Dense,
    /// By words, with BM25: names, numbers and rare terms
    Sparse,
    /// Both, joined by reciprocal rank fusion; of four passages one is kept for the nearest in another language
    Hybrid,
}

impl From<Search> for SearchMode {
    fn from(search: Search) -> Self {
        match search {
            Search::Dense => Self::Dense,
            Search::Sparse => Self::Sparse,
            Search::Hybrid => Self::Hybrid,
        }
    }
}
