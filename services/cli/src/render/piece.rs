//! Shows the passages and strips that a step kept and dropped.

use emend_core::printable_line;
use emend_proto::v1::{GradedPassage, Passage, Relevance, Strip};
use emend_text::excerpt;

use super::{DIM, GOOD, relative};

/// Maximum numbers of kept and of dropped pieces to show.
const MAX_KEPT: usize = 5;
const MAX_DROPPED: usize = 3;
/// Maximum length of an excerpt, in characters.
const MAX_PREVIEW_WIDTH: usize = 70;

/// A passage or a strip that a step kept or dropped.
pub(super) struct Piece {
    kept: bool,
    score: Option<f64>,
    /// The placeholder for a missing score.
    without_score: &'static str,
    text: String,
}

/// As much of a passage as a line shows.
#[derive(Debug)]
pub(super) struct Preview {
    source: String,
    text: String,
}

impl Preview {
    pub(super) fn of(passage: &Passage) -> Self {
        Self {
            source: printable_line(&relative(&passage.source)),
            text: excerpt(&passage.text, MAX_PREVIEW_WIDTH),
        }
    }
}

impl Piece {
    pub(super) fn strip(strip: &Strip) -> Self {
        Self {
            kept: strip.kept,
            score: strip.score,
            without_score: "?",
            text: excerpt(&strip.text, MAX_PREVIEW_WIDTH),
        }
    }

    pub(super) fn passage(graded: &GradedPassage, preview: &Preview) -> Self {
        Self {
            kept: graded.kept,
            score: graded.score,
            without_score: if graded.relevance() == Relevance::Ungraded {
                "?"
            } else {
                ""
            },
            text: format!("{DIM}{}{DIM:#} {}", preview.source, preview.text),
        }
    }

    fn line(&self) -> String {
        let score = match self.score {
            Some(score) => format!("{score:.2}"),
            None => self.without_score.to_owned(),
        };
        if self.kept {
            format!("    {GOOD}+{GOOD:#} {score:>4} {}", self.text)
        } else {
            format!("    {DIM}- {score:>4}{DIM:#} {}", self.text)
        }
    }
}

/// The lines of the first kept pieces, in order, and of the dropped pieces with the highest scores.
pub(super) fn pieces(pieces: Vec<Piece>) -> Vec<String> {
    let (kept, mut dropped): (Vec<Piece>, Vec<Piece>) = pieces.into_iter().partition(|piece| piece.kept);
    dropped.sort_by(|a, b| b.score.unwrap_or_default().total_cmp(&a.score.unwrap_or_default()));
    let mut lines: Vec<String> = kept.iter().take(MAX_KEPT).map(Piece::line).collect();
    if kept.len() > MAX_KEPT {
        lines.push(format!("    {GOOD}+{GOOD:#}      {} more", kept.len() - MAX_KEPT));
    }
    lines.extend(dropped.iter().take(MAX_DROPPED).map(Piece::line));
    if let Some(next) = dropped.get(MAX_DROPPED) {
        let most = next
            .score
            .map(|score| format!(", at most {score:.2}"))
            .unwrap_or_default();
        lines.push(format!(
            "    {DIM}-      {} more{most}{DIM:#}",
            dropped.len() - MAX_DROPPED
        ));
    }
    lines
}
