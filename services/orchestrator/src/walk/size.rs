//! Keeps results and events below the size that clients accept, so that a successful walk does not
//! fail at its last message.

use std::collections::HashMap;

use emend_core::limits::MAX_RESULT_BYTES;
use emend_proto::v1::{GradedPassage, Passage, PassageContent, Step, WalkResult};
use prost::Message as _;

/// Shortens a step to the size limit of an event.
pub(super) fn fit_step(step: &mut Step) {
    let steps = std::slice::from_mut(step);
    fit_texts(steps, MAX_RESULT_BYTES);
    fit_details(steps, MAX_RESULT_BYTES);
}

/// Shortens the texts of passages and strips until the steps fit, as far as that is possible.
pub(super) fn fit_texts(steps: &mut [Step], most: usize) {
    let excess = excess(steps, most);
    if excess > 0 {
        cut(step_texts(steps), excess);
    }
}

/// Shortens a result to the size that clients accept by default, the least important parts first
/// (R15).
pub(super) fn fit_result(result: &mut WalkResult) {
    let stages: [fn(&mut WalkResult, usize); 6] = [
        |result, _| result.record = None,
        |result, excess| cut(step_texts(&mut result.steps), excess),
        |result, excess| {
            let cited = cited(result);
            cut(
                document_texts(&mut result.documents, |id| !cited.contains_key(id)),
                excess,
            );
        },
        |result, excess| {
            let cited = cited(result);
            let uncited = |graded: &&mut GradedPassage| !cited.contains_key(id(graded));
            result.documents.iter_mut().filter(uncited).for_each(drop_metadata);
            let most = steps_size(&result.steps).saturating_sub(excess);
            fit_details(&mut result.steps, most);
        },
        |result, excess| {
            let cited = cited(result);
            cut(quoted_texts(&mut result.documents, &cited), excess);
        },
        |result, excess| {
            result.documents.iter_mut().for_each(drop_metadata);
            cut(document_texts(&mut result.documents, |_| true), excess);
        },
    ];
    for stage in stages {
        let excess = result.encoded_len().saturating_sub(MAX_RESULT_BYTES);
        if excess == 0 {
            return;
        }
        result.shortened = true;
        stage(result, excess);
    }
}

/// A reference to a passage: its id, origin and score.
pub(super) fn reference(passage: Passage) -> Passage {
    Passage {
        id: passage.id,
        origin: passage.origin,
        score: passage.score,
        ..Passage::default()
    }
}

fn steps_size(steps: &[Step]) -> usize {
    steps.iter().map(Step::encoded_len).sum()
}

/// Bytes by which the steps are larger than `most`.
fn excess(steps: &[Step], most: usize) -> usize {
    steps_size(steps).saturating_sub(most)
}

/// Removes what steps carry besides the texts of passages until they fit, the least informative
/// parts first.
fn fit_details(steps: &mut [Step], most: usize) {
    let stages: [fn(&mut [Step]); 4] = [
        |steps| passages(steps).for_each(drop_metadata),
        |steps| steps.iter_mut().for_each(|step| step.strips.retain(|strip| strip.kept)),
        |steps| steps.iter_mut().for_each(|step| step.strips.clear()),
        |steps| {
            for graded in passages(steps).filter(|graded| carries(graded)) {
                graded.set_content(PassageContent::Shortened);
                graded.passage = graded.passage.take().map(reference);
            }
        },
    ];
    for stage in stages {
        if excess(steps, most) == 0 {
            return;
        }
        stage(steps);
    }
    let mut left = steps_size(steps);
    for step in steps.iter_mut() {
        if left <= most {
            return;
        }
        left -= step.encoded_len();
        step.passages.clear();
        left += step.encoded_len();
    }
    let words = steps.iter_mut().flat_map(|step| {
        [
            &mut step.summary,
            &mut step.query,
            &mut step.previous_query,
            &mut step.error,
        ]
        .map(Text::of)
    });
    cut(words.collect(), left.saturating_sub(most));
}

fn passages(steps: &mut [Step]) -> impl Iterator<Item = &mut GradedPassage> {
    steps.iter_mut().flat_map(|step| &mut step.passages)
}

/// Whether this is more than a reference to a passage.
fn carries(graded: &GradedPassage) -> bool {
    matches!(
        graded.content(),
        PassageContent::Whole | PassageContent::Shortened | PassageContent::Unspecified
    )
}

fn drop_metadata(graded: &mut GradedPassage) {
    if let Some(passage) = &mut graded.passage
        && !passage.metadata.is_empty()
    {
        passage.metadata.clear();
        graded.set_content(PassageContent::Shortened);
    }
}

fn id(graded: &GradedPassage) -> &str {
    graded.passage.as_ref().map_or("", |passage| passage.id.as_str())
}

/// The passages that sentences cite, each with the end of the last quotation from it in code
/// points; 0 if the whole passage is cited.
fn cited(result: &WalkResult) -> HashMap<String, usize> {
    let mut cited = HashMap::new();
    for citation in result.sentences.iter().flat_map(|sentence| &sentence.citations) {
        let end = citation.span.map_or(0, |span| span.end as usize);
        let last = cited.entry(citation.passage_id.clone()).or_insert(0);
        *last = end.max(*last);
    }
    cited
}

/// A text that may be cut.
struct Text<'a> {
    text: &'a mut String,
    /// Bytes that must stay.
    keep: usize,
    /// Marks the passage as shortened when its text is cut.
    content: Option<&'a mut i32>,
}

impl<'a> Text<'a> {
    fn of(text: &'a mut String) -> Text<'a> {
        Text {
            text,
            keep: 0,
            content: None,
        }
    }

    fn of_passage(graded: &'a mut GradedPassage) -> Option<Text<'a>> {
        let GradedPassage { passage, content, .. } = graded;
        passage.as_mut().map(|passage| Text {
            text: &mut passage.text,
            keep: 0,
            content: Some(content),
        })
    }
}

/// The texts of passages and strips.
fn step_texts(steps: &mut [Step]) -> Vec<Text<'_>> {
    let mut texts = Vec::new();
    for step in steps {
        texts.extend(step.passages.iter_mut().filter_map(Text::of_passage));
        texts.extend(step.strips.iter_mut().map(|strip| Text::of(&mut strip.text)));
    }
    texts
}

/// The texts of the documents whose id is wanted.
fn document_texts(documents: &mut [GradedPassage], wanted: impl Fn(&str) -> bool) -> Vec<Text<'_>> {
    let wanted = documents.iter_mut().filter(|graded| wanted(id(graded)));
    wanted.filter_map(Text::of_passage).collect()
}

/// The texts of the cited documents; each must keep everything up to the end of its last quotation.
fn quoted_texts<'a>(documents: &'a mut [GradedPassage], cited: &HashMap<String, usize>) -> Vec<Text<'a>> {
    let mut texts = Vec::new();
    for graded in documents {
        let Some(end) = cited.get(id(graded)).copied() else {
            continue;
        };
        texts.extend(Text::of_passage(graded).map(|text| {
            Text {
                keep: text
                    .text
                    .char_indices()
                    .nth(end)
                    .map_or(text.text.len(), |(byte, _)| byte),
                ..text
            }
        }));
    }
    texts
}

/// Cuts `excess` bytes off the texts, as far as that is possible. The longest texts are cut to one
/// length; the others stay.
fn cut(texts: Vec<Text<'_>>, excess: usize) {
    let total: usize = texts.iter().map(|text| text.text.len()).sum();
    let longest = texts.iter().map(|text| text.text.len()).max().unwrap_or_default();
    let most = total.saturating_sub(excess);
    let left = |length: usize| -> usize {
        let lengths = texts.iter().map(|text| text.text.len().min(length.max(text.keep)));
        lengths.sum()
    };
    // The greatest length at which the texts fit; 0 if there is none.
    let (mut fits, mut exceeds) = (0, longest + 1);
    while exceeds - fits > 1 {
        let length = fits + (exceeds - fits) / 2;
        if left(length) <= most {
            fits = length;
        } else {
            exceeds = length;
        }
    }
    for Text { text, keep, content } in texts {
        let length = fits.max(keep);
        if text.len() > length {
            text.truncate(text.floor_char_boundary(length));
            if let Some(content) = content {
                *content = PassageContent::Shortened.into();
            }
        }
    }
}

#[cfg(test)]
mod tests;
