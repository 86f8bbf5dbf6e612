//! The options of web search.

mod web;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use emend_chassis::ServiceOptions;

use crate::backend::WebSettings;

pub(crate) use web::{BRAVE_KEY, TAVILY_KEY};
pub use web::{ProviderKind, WebOptions};

/// Finds pages outside the collections and returns the passages of them that fit a query.
#[derive(Clone, Debug, Parser)]
#[command(name = "emend-web-search", version, about, mut_arg("listen", |listen| listen.default_value("127.0.0.1:50055")))]
pub struct Options {
    /// What every service has.
    #[command(flatten)]
    pub service: ServiceOptions,

    /// Search engines.
    #[command(flatten)]
    pub web: WebOptions,

    /// Provider `folder`: a folder of saved pages (.html, .htm, .md, .txt, .jsonl), read with its subfolders.
    ///
    /// The URL of a page is its `<link rel="canonical">`, the `url:` of its front matter or of its
    /// JSON line, otherwise its file:// URL. A JSON line has `text`, and may have `title`, `url`
    /// and `doc_id`.
    #[arg(long, env = "EMEND_WEB_FOLDER", value_name = "FOLDER")]
    pub folder: Option<PathBuf>,

    /// Provider `folder`: shortest time between two checks for changed files, which queries
    /// trigger.
    #[arg(long, env = "EMEND_WEB_FOLDER_CHECK", value_name = "DURATION", default_value = "5s", value_parser = emend_core::duration)]
    pub folder_check: Duration,

    /// Most characters of a passage, 200–20000. Passages are whole sentences;
    /// only longer sentences are split.
    #[arg(long, env = "EMEND_WEB_PASSAGE_CHARS", value_name = "CHARS", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(200..=20_000))]
    pub passage_chars: u32,
}

impl Options {
    /// The providers that these options select, in the order in which they are asked.
    pub fn providers(&self) -> Vec<ProviderKind> {
        self.web.providers(self.folder.is_some())
    }

    /// How `engine` is used.
    pub(crate) fn web_settings(&self, engine: ProviderKind) -> WebSettings {
        WebSettings {
            rate: self.web.rates.of(engine),
            cache_ttl: self.web.cache_ttl,
            cache_bytes: u64::from(self.web.cache_mib) << 20,
            passage_chars: self.passage_chars as usize,
        }
    }
}

emend_chassis::service_options!(Options);

#[cfg(test)]
mod tests;
