//! Text in English, Korean, Japanese and Chinese, and in other languages as far as rules reach: language, sections,
//! sentences, words, numbers, names, and whether an answer abstains.

mod abstention;
mod excerpt;
#[cfg(feature = "html")]
pub mod html;
mod language;
mod plain;
mod script;
mod sections;
mod sentences;
mod stop;
mod words;

pub use abstention::is_abstention;
pub use excerpt::{excerpt, printable};
pub use language::{Language, language};
pub use plain::plain;
pub use script::Script;
pub use sections::{Section, sections};
pub use sentences::sentences;
pub use words::{content_words, names, numbers, rarity, words};
