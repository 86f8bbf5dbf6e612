//! Checks requests against the limits of the contract before admission (R15).

use emend_chassis::{InvalidRequest, Violations};
use emend_core::limits::{
    MAX_ANSWER_BYTES, MAX_ANSWER_SENTENCES, MAX_PASSAGE_BYTES, MAX_PASSAGES, MAX_QUESTION_BYTES, MAX_STRIPS,
};
use emend_proto::v1::{
    DecideRetrievalRequest, GradeDocumentsRequest, GradeGroundednessRequest, GradeUsefulnessRequest, Passage,
    RefineKnowledgeRequest, Sentence, StripUnit,
};

/// Most sentences of a strip.
const MAX_STRIP_SENTENCES: u32 = 100;
/// Most blank sentences that an error names; a status has little room.
const MAX_NAMED: usize = 20;
/// Most words of a strip.
const MAX_STRIP_WORDS: u32 = 1000;

pub(crate) fn documents(request: &GradeDocumentsRequest) -> Result<(), InvalidRequest> {
    let mut violations = Violations::new();
    text(&mut violations, "question", &request.question, MAX_QUESTION_BYTES);
    passages(&mut violations, &request.passages);
    let thresholds = [
        ("relevance_threshold", request.relevance_threshold),
        ("upper_threshold", request.upper_threshold),
        ("lower_threshold", request.lower_threshold),
    ];
    for (field, threshold) in thresholds {
        probability(&mut violations, field, threshold);
    }
    if let (Some(lower), Some(upper)) = (request.lower_threshold, request.upper_threshold) {
        violations.require(
            lower <= upper || lower.is_nan() || upper.is_nan(),
            "lower_threshold",
            || format!("must be at most upper_threshold {upper}, is {lower}"),
        );
    }
    violations.finish()
}

pub(crate) fn groundedness(request: &GradeGroundednessRequest) -> Result<(), InvalidRequest> {
    let mut violations = Violations::new();
    text(&mut violations, "question", &request.question, MAX_QUESTION_BYTES);
    passages(&mut violations, &request.passages);
    let mut first = request.passages.iter().take(MAX_PASSAGES);
    let has_text = request.passages.is_empty() || first.any(|p| !p.text.trim().is_empty());
    violations.require(has_text, "passages", || {
        "hold no text: there is no evidence to grade against".to_owned()
    });
    text(&mut violations, "answer", &request.answer, MAX_ANSWER_BYTES);
    sentences(&mut violations, &request.sentences);
    violations.finish()
}

pub(crate) fn usefulness(request: &GradeUsefulnessRequest) -> Result<(), InvalidRequest> {
    let mut violations = Violations::new();
    text(&mut violations, "question", &request.question, MAX_QUESTION_BYTES);
    text(&mut violations, "answer", &request.answer, MAX_ANSWER_BYTES);
    at_most_passages(&mut violations, &request.passages);
    violations.finish()
}

pub(crate) fn retrieval(request: &DecideRetrievalRequest) -> Result<(), InvalidRequest> {
    let mut violations = Violations::new();
    text(&mut violations, "question", &request.question, MAX_QUESTION_BYTES);
    length(
        &mut violations,
        "answer_so_far",
        &request.answer_so_far,
        MAX_ANSWER_BYTES,
    );
    at_most_passages(&mut violations, &request.passages);
    probability(&mut violations, "threshold", request.threshold);
    violations.finish()
}

pub(crate) fn refinement(request: &RefineKnowledgeRequest) -> Result<(), InvalidRequest> {
    let mut violations = Violations::new();
    text(&mut violations, "question", &request.question, MAX_QUESTION_BYTES);
    passages(&mut violations, &request.passages);
    let unit = StripUnit::try_from(request.unit);
    violations.require(unit.is_ok(), "unit", || {
        let known: Vec<String> = [StripUnit::Sentences, StripUnit::Words, StripUnit::Passage]
            .iter()
            .map(|unit| format!("{} ({})", unit.as_str_name(), i32::from(*unit)))
            .collect();
        format!("must be one of {}, is {}", known.join(", "), request.unit)
    });
    let most = match unit {
        Ok(StripUnit::Unspecified | StripUnit::Sentences) => Some((MAX_STRIP_SENTENCES, "sentences")),
        Ok(StripUnit::Words) => Some((MAX_STRIP_WORDS, "words")),
        Ok(StripUnit::Passage) | Err(_) => None,
    };
    if let (Some(size), Some((most, what))) = (request.size, most) {
        violations.require((1..=most).contains(&size), "size", || {
            format!("must be 1 to {most} {what}, is {size}")
        });
    }
    if let Some(strips) = request.max_strips {
        violations.require((1..=MAX_STRIPS).contains(&strips), "max_strips", || {
            format!("must be 1 to {MAX_STRIPS}, is {strips}")
        });
    }
    probability(&mut violations, "threshold", request.threshold);
    violations.finish()
}

fn text(violations: &mut Violations, field: &str, value: &str, most: usize) {
    violations.require(!value.trim().is_empty(), field, || {
        format!("must not be blank, is {} bytes of white space", value.len())
    });
    length(violations, field, value, most);
}

fn length(violations: &mut Violations, field: &str, value: &str, most: usize) {
    violations.require(value.len() <= most, field, || {
        format!("must be at most {most} bytes, is {}", value.len())
    });
}

fn probability(violations: &mut Violations, field: &str, value: Option<f64>) {
    if let Some(value) = value {
        violations.require((0.0..=1.0).contains(&value), field, || {
            format!("must be 0 to 1, is {value}")
        });
    }
}

fn passages(violations: &mut Violations, passages: &[Passage]) {
    let count = passages.len();
    violations.require((1..=MAX_PASSAGES).contains(&count), "passages", || {
        format!("must be 1 to {MAX_PASSAGES} passages, are {count}")
    });
    passage_texts(violations, passages);
}

fn at_most_passages(violations: &mut Violations, passages: &[Passage]) {
    let count = passages.len();
    violations.require(count <= MAX_PASSAGES, "passages", || {
        format!("must be at most {MAX_PASSAGES} passages, are {count}")
    });
    passage_texts(violations, passages);
}

fn passage_texts(violations: &mut Violations, passages: &[Passage]) {
    for (index, passage) in passages.iter().enumerate().take(MAX_PASSAGES) {
        let bytes = passage.text.len();
        violations.require(bytes <= MAX_PASSAGE_BYTES, &format!("passages[{index}].text"), || {
            format!("must be at most {MAX_PASSAGE_BYTES} bytes, is {bytes}")
        });
        violations.headings(&format!("passages[{index}].headings"), &passage.headings);
    }
}

fn sentences(violations: &mut Violations, sentences: &[Sentence]) {
    let count = sentences.len();
    violations.require(count <= MAX_ANSWER_SENTENCES, "sentences", || {
        format!("must be at most {MAX_ANSWER_SENTENCES} sentences, are {count}")
    });
    let bytes: usize = sentences.iter().map(|sentence| sentence.text.len()).sum();
    violations.require(bytes <= MAX_ANSWER_BYTES, "sentences", || {
        format!("must be at most {MAX_ANSWER_BYTES} bytes together, are {bytes}")
    });
    let first = sentences.iter().take(MAX_ANSWER_SENTENCES).enumerate();
    let blank = first.filter(|(_, sentence)| sentence.text.trim().is_empty());
    for (index, _) in blank.take(MAX_NAMED) {
        violations.push(format!("sentences[{index}].text"), "must not be blank");
    }
}

#[cfg(test)]
mod tests;
