//! BPE merges derived from the scores of a SentencePiece vocabulary.

use std::collections::HashMap;

use tokenizers::models::bpe::Merges;

/// Returns every split of a piece into two other pieces, best score first. Only pieces whose index passes `include` are
/// split.
pub(super) fn from_scores(pieces: &[&str], scores: &[f32], include: impl Fn(usize) -> bool) -> Merges {
    let ids: HashMap<&str, usize> = pieces
        .iter()
        .enumerate()
        .map(|(index, piece)| (*piece, index))
        .collect();
    let mut merges: Vec<(f32, usize, usize, &str, &str)> = Vec::new();
    for (index, piece) in pieces.iter().enumerate().filter(|(index, _)| include(*index)) {
        let score = scores.get(index).copied().unwrap_or(f32::MIN);
        for (at, _) in piece.char_indices().skip(1) {
            let (left, right) = piece.split_at(at);
            if let (Some(first), Some(second)) = (ids.get(left), ids.get(right)) {
                merges.push((score, *first, *second, left, right));
            }
        }
    }
    merges.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    merges
        .into_iter()
        .map(|(.., left, right)| (left.to_owned(), right.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests;
