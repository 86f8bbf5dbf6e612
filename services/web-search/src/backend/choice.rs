//! The choice of windows to return, and how they become passages.

use std::collections::HashSet;

use emend_proto::v1::{Origin, Passage};
use uuid::Uuid;

use super::index::Hit;

/// Most passages of one page. Every page gets its first passage before any page gets a second one.
pub(super) const PASSAGES_A_PAGE: usize = 3;

/// Chooses up to `most` of the hits, which come best first: one window of each page, then further windows of these
/// pages that do not overlap those chosen.
pub(super) fn choose(hits: Vec<Hit<'_>>, most: usize) -> Vec<Hit<'_>> {
    let mut chosen: Vec<Hit<'_>> = Vec::new();
    let mut texts = HashSet::new();
    for round in 0..PASSAGES_A_PAGE {
        for hit in &hits {
            if chosen.len() == most {
                break;
            }
            let page = &hit.window.page;
            let of_page = || chosen.iter().filter(|other| other.window.page.url == page.url);
            let apart = || {
                of_page().all(|other| {
                    hit.window.range.end <= other.window.range.start || other.window.range.end <= hit.window.range.start
                })
            };
            // A page that was saved twice counts once.
            if of_page().count() == round && apart() && texts.insert(&page.text[hit.window.range.clone()]) {
                chosen.push(hit.clone());
            }
        }
    }
    chosen
}

pub(super) fn passage(hit: &Hit<'_>) -> Passage {
    let page = &hit.window.page;
    let text = &page.text[hit.window.range.clone()];
    Passage {
        // The id depends on the URL and the text, so that the same text at the same URL keeps its
        // id.
        id: Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("{}\n{text}", page.url).as_bytes()).to_string(),
        document_id: page.url.to_string(),
        title: page.title.clone(),
        text: text.to_owned(),
        origin: Origin::Web.into(),
        source: page.url.to_string(),
        score: hit.score,
        span: None,
        retrieved_at: Some(page.saved.into()),
        metadata: page.metadata.clone(),
        pieces: Vec::new(),
        headings: Vec::new(),
    }
}
