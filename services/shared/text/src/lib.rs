//! Text analysis for English, Korean, Japanese and Chinese, with rule-based support for other languages: language
//! detection, Markdown sections, sentence boundaries, words, numbers, names, and abstention detection.

mod abstention;
mod code;
mod content;
mod ends;
mod excerpt;
#[cfg(feature = "html")]
pub mod html;
mod inline;
mod language;
mod parts;
mod plain;
mod script;
mod sections;
mod sentences;
mod source;
mod stop;
mod tables;
mod words;

pub use abstention::is_abstention;
pub use code::{CodeBlock, code_blocks};
pub use content::has_content;
pub use ends::{ends_question, ends_sentence, is_closing_mark, is_sentence_end, sentence_separator};
pub use excerpt::{excerpt, one_line};
pub use inline::without_marks;
pub use language::{Language, language};
pub use parts::parts;
pub use plain::plain;
pub use script::Script;
pub use sections::{Section, section_ranges, sections};
pub use sentences::{is_link_definition, is_list_entry, sentences, starts_block};
pub use source::source_name;
pub use tables::{TableRow, table_rows};
pub use words::{content_words, letters, names, numbers, rarity, words};
