//! BM25 over windows, in memory.
//!
//! The weights are those of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with
//! the inverse document frequency that stays positive. A title counts as part of each of its page's windows.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::page::Page;
use super::window::windows;

/// BM25's k1, term saturation: the smaller, the less a repeated word adds.
const K1: f64 = 1.2;
/// BM25's b, length normalisation, 0–1: the larger, the less a longer window scores.
const B: f64 = 0.75;

/// An inverted index. It is built once and then only read.
#[derive(Debug, Default)]
pub(in crate::backend) struct Index {
    windows: Vec<Window>,
    postings: HashMap<Box<str>, Vec<Posting>>,
    mean_words: f64,
}

/// A piece of a page.
#[derive(Clone, Debug)]
pub(in crate::backend) struct Window {
    pub(in crate::backend) page: Arc<Page>,
    /// Bytes of the page's text.
    pub(in crate::backend) range: Range<usize>,
    words: u32,
}

/// How often a word is in a window.
#[derive(Clone, Copy, Debug)]
struct Posting {
    window: u32,
    count: u32,
}

/// A window that shares words with the query.
#[derive(Clone, Debug)]
pub(in crate::backend) struct Hit<'a> {
    pub(in crate::backend) window: &'a Window,
    pub(in crate::backend) score: f64,
}

impl Index {
    /// Indexes all windows of `pages`, of at most `chars` characters each; `None` if `closed` is cancelled meanwhile.
    pub(in crate::backend) fn build(
        pages: impl IntoIterator<Item = Arc<Page>>,
        chars: usize,
        closed: &CancellationToken,
    ) -> Option<Self> {
        let mut index = Self::default();
        let mut all_words = 0_u64;
        for page in pages {
            let title = emend_text::words(&page.title);
            for range in windows(&page.text, chars) {
                if closed.is_cancelled() {
                    return None;
                }
                // More than 2³² windows do not fit into memory.
                let Ok(window) = u32::try_from(index.windows.len()) else {
                    return Some(index);
                };
                let mut counts: HashMap<String, u32> = HashMap::new();
                let mut words = 0;
                for word in title
                    .iter()
                    .cloned()
                    .chain(emend_text::words(&page.text[range.clone()]))
                {
                    *counts.entry(word).or_default() += 1;
                    words += 1;
                }
                for (word, count) in counts {
                    index
                        .postings
                        .entry(word.into_boxed_str())
                        .or_default()
                        .push(Posting { window, count });
                }
                all_words += u64::from(words);
                index.windows.push(Window {
                    page: Arc::clone(&page),
                    range,
                    words,
                });
            }
        }
        index.mean_words = (all_words as f64 / index.windows.len().max(1) as f64).max(1.0);
        Some(index)
    }

    /// Windows of all pages.
    pub(in crate::backend) fn len(&self) -> usize {
        self.windows.len()
    }

    /// Windows that share at least one word with `query` and whose page `admits` accepts, best
    /// first; ties in the order of the pages. Function words count only if the query has no other
    /// words.
    pub(in crate::backend) fn search(&self, query: &str, mut admits: impl FnMut(&Page) -> bool) -> Vec<Hit<'_>> {
        let mut words = emend_text::content_words(query);
        words.sort_unstable();
        words.dedup();
        let mut scores: HashMap<u32, f64> = HashMap::new();
        for word in &words {
            let Some(postings) = self.postings.get(word.as_str()) else {
                continue;
            };
            let (all, with) = (self.windows.len() as f64, postings.len() as f64);
            let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
            for posting in postings {
                let Some(window) = self.windows.get(posting.window as usize) else {
                    continue;
                };
                let count = f64::from(posting.count);
                let length = 1.0 - B + B * f64::from(window.words) / self.mean_words;
                *scores.entry(posting.window).or_default() += rarity * count * (K1 + 1.0) / (count + K1 * length);
            }
        }
        let mut found: Vec<(u32, f64)> = scores.into_iter().collect();
        found.sort_unstable_by(|a, b| b.1.partial_cmp(&a.1).unwrap_or(Ordering::Equal).then(a.0.cmp(&b.0)));
        let windows = found.into_iter().filter_map(|(window, score)| {
            Some(Hit {
                window: self.windows.get(window as usize)?,
                score,
            })
        });
        windows.filter(|hit| admits(&hit.window.page)).collect()
    }
}

#[cfg(test)]
mod tests;
