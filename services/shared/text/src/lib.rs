//! Text in English, Korean, Japanese and Chinese, and in other languages as far as rules reach: language, sections,
//! sentences, words, numbers, names, and whether an answer abstains.

mod abstention;
mod ends;
mod excerpt;
mod language;
mod script;
mod sections;
mod sentences;
mod stop;
mod words;

pub use abstention::is_abstention;
pub use ends::{ends_question, ends_sentence, is_closing_mark, is_sentence_end, sentence_separator};
pub use excerpt::{excerpt, printable};
pub use language::{Language, language};
pub use script::Script;
pub use sections::{Section, sections};
pub use sentences::sentences;
pub use words::{content_words, names, numbers, rarity, words};
