//! Checks requests against the limits of the contract before admission (R15, R17).

use std::{collections::HashMap, time::Duration};

use emend_chassis::{InvalidRequest, Violations, refusal};
use emend_core::{
    Reason, cut,
    limits::{
        MAX_ANSWER_BYTES, MAX_FILTERS, MAX_GRAPH_BYTES, MAX_HISTORY, MAX_PASSAGE_BYTES, MAX_PASSAGES,
        MAX_QUESTION_BYTES, MAX_TITLE_BYTES,
    },
};
use emend_proto::condition;
use emend_proto::v1::{self, FeedbackVerdict, SearchMode, chat_message};
use tonic::Status;

use crate::{
    graph::{Graph, MAX_OPTIONS, Options},
    walk::Budget,
};

/// Longest name of a collection, in bytes; the retriever says which names there may be.
const MAX_COLLECTION_BYTES: usize = 256;
/// Longest field of a filter, name and value together, in bytes.
const MAX_FILTER_BYTES: usize = 1024;

/// Adds a violation for each invalid field of a question: text, collection, filter, conditions, search and history.
pub(crate) fn question(question: &v1::Question, violations: &mut Violations) {
    let text = &question.question;
    violations.require(!text.trim().is_empty(), "question.question", || {
        format!(
            "must be 1 to {MAX_QUESTION_BYTES} bytes and not blank, is {} bytes",
            text.len()
        )
    });
    violations.require(text.len() <= MAX_QUESTION_BYTES, "question.question", || {
        format!("must be 1 to {MAX_QUESTION_BYTES} bytes, is {}", text.len())
    });
    let bytes = question.collection.len();
    violations.require(bytes <= MAX_COLLECTION_BYTES, "question.collection", || {
        format!(
            "must be at most {MAX_COLLECTION_BYTES} bytes, is `{}`",
            cut(&question.collection)
        )
    });
    filter(&question.filter, violations);
    for (place, problem) in condition::problems(&question.conditions) {
        violations.push(format!("question.conditions{place}"), problem);
    }
    violations.require(SearchMode::try_from(question.search).is_ok(), "question.search", || {
        format!(
            "{} is unknown: known are SEARCH_MODE_DENSE, SEARCH_MODE_SPARSE and SEARCH_MODE_HYBRID",
            question.search
        )
    });
    let messages = question.history.len();
    violations.require(messages <= MAX_HISTORY, "question.history", || {
        format!("must have at most {MAX_HISTORY} messages, has {messages}; leave the oldest out")
    });
    for (place, message) in question.history.iter().enumerate().take(MAX_HISTORY) {
        let field = |name: &str| format!("question.history[{place}].{name}");
        let length = message.content.len();
        violations.require(
            length <= MAX_QUESTION_BYTES && !message.content.trim().is_empty(),
            &field("content"),
            || format!("must be 1 to {MAX_QUESTION_BYTES} bytes and not blank, is {length} bytes"),
        );
        let known =
            chat_message::Role::try_from(message.role).is_ok_and(|role| role != chat_message::Role::Unspecified);
        violations.require(known, &field("role"), || {
            format!("must be ROLE_USER (1) or ROLE_ASSISTANT (2), is {}", message.role)
        });
    }
}

/// Adds a violation for a filter with too many fields, else for each field that is too long.
fn filter(filter: &HashMap<String, String>, violations: &mut Violations) {
    let fields = filter.len();
    if fields > MAX_FILTERS {
        violations.push(
            "question.filter",
            format!("must name at most {MAX_FILTERS} fields, names {fields}"),
        );
        return;
    }
    let mut long: Vec<_> = filter
        .iter()
        .map(|(name, value)| (name, name.len() + value.len()))
        .filter(|(name, bytes)| name.is_empty() || *bytes > MAX_FILTER_BYTES)
        .collect();
    long.sort_unstable();
    for (name, bytes) in long {
        violations.push(
            format!("question.filter[{}]", cut(name)),
            format!("must have a name, and at most {MAX_FILTER_BYTES} bytes with its value; has {bytes}"),
        );
    }
}

/// Reads the budget of a question and adds a violation for each invalid field. Without a budget,
/// nothing is limited.
pub(crate) fn budget(budget: Option<&v1::Budget>, violations: &mut Violations) -> Budget {
    let Some(budget) = budget else {
        return Budget::default();
    };
    violations.require(budget.steps != Some(0), "question.budget.steps", || {
        "must be at least 1, is 0; a walk needs a step".to_owned()
    });
    // Not by prost's own conversion, which negates what is negative and so overflows at the least number.
    let time = budget.time.map(|time| {
        let seconds = u64::try_from(time.seconds).ok()?;
        Some(Duration::new(seconds, u32::try_from(time.nanos).ok()?))
    });
    let fits = time.is_none_or(|time| time.is_some_and(|time| !time.is_zero()));
    violations.require(fits, "question.budget.time", || "must be above 0".to_owned());
    Budget {
        steps: budget.steps,
        model_calls: budget.model_calls,
        tokens: budget.tokens,
        web_searches: budget.web_searches,
        time: time.flatten(),
    }
}

/// Returns whether a graph file is within [`MAX_GRAPH_BYTES`]; adds a violation of `field` if not.
pub(crate) fn graph_yaml(field: &str, yaml: &str, violations: &mut Violations) -> bool {
    let fits = yaml.len() <= MAX_GRAPH_BYTES;
    violations.require(fits, field, || {
        format!("must be at most {MAX_GRAPH_BYTES} bytes, is {}", yaml.len())
    });
    fits
}

/// The options of a graph: its defaults, overridden by `given`. Adds a violation of `field` for
/// each invalid option and returns `None` if there is one.
pub(crate) fn options(
    graph: &Graph,
    field: &str,
    given: &HashMap<String, f64>,
    violations: &mut Violations,
) -> Option<Options> {
    if given.len() > MAX_OPTIONS {
        violations.push(
            field,
            format!("must name at most {MAX_OPTIONS} options, names {}", given.len()),
        );
        return None;
    }
    match Options::resolve(graph.options(), given) {
        Ok(options) => Some(options),
        Err(invalid) => {
            for option in invalid {
                let known = graph.options().iter().any(|spec| spec.name == option.name);
                let reason = if known {
                    Reason::FieldInvalid
                } else {
                    Reason::OptionUnknown
                };
                violations.push_as(reason, format!("{field}[{}]", cut(&option.name)), option.problem);
            }
            None
        }
    }
}

/// Longest name of a walk in feedback, in bytes.
const MAX_WALK_ID_BYTES: usize = 128;
/// Longest comment of feedback, in bytes.
const MAX_COMMENT_BYTES: usize = 4 << 10;
/// Longest identifier of a passage of feedback, in bytes.
const MAX_PASSAGE_ID_BYTES: usize = 1 << 10;
/// Most bytes of the passages of feedback together.
const MAX_FEEDBACK_PASSAGE_BYTES: usize = 1 << 20;

/// Checks feedback.
///
/// # Errors
/// [`InvalidRequest`] with every bad field.
pub fn feedback(feedback: Option<v1::Feedback>) -> Result<v1::Feedback, InvalidRequest> {
    let mut violations = Violations::new();
    let Some(feedback) = feedback else {
        return Err(InvalidRequest::field("feedback", "must be set"));
    };
    let at_most = |violations: &mut Violations, field: &str, text: &str, most: usize| {
        violations.require(text.len() <= most, field, || {
            format!("must be at most {most} bytes, is {}", text.len())
        });
    };
    let question = &feedback.question;
    violations.require(!question.trim().is_empty(), "feedback.question", || {
        "must not be blank".to_owned()
    });
    at_most(&mut violations, "feedback.question", question, MAX_QUESTION_BYTES);
    at_most(
        &mut violations,
        "feedback.walk_id",
        &feedback.walk_id,
        MAX_WALK_ID_BYTES,
    );
    let has_control = feedback.walk_id.contains(char::is_control);
    violations.require(!has_control, "feedback.walk_id", || {
        "must not have control characters".to_owned()
    });
    at_most(&mut violations, "feedback.answer", &feedback.answer, MAX_ANSWER_BYTES);
    at_most(
        &mut violations,
        "feedback.comment",
        &feedback.comment,
        MAX_COMMENT_BYTES,
    );
    let verdict = FeedbackVerdict::try_from(feedback.verdict).unwrap_or_default();
    violations.require(verdict != FeedbackVerdict::Unspecified, "feedback.verdict", || {
        let known = "FEEDBACK_VERDICT_RIGHT (1), FEEDBACK_VERDICT_WRONG (2) or FEEDBACK_VERDICT_WRONGLY_ABSTAINED (3)";
        format!("must be {known}, is {}", feedback.verdict)
    });
    let needs_answer = matches!(verdict, FeedbackVerdict::Right | FeedbackVerdict::Wrong);
    violations.require(
        !needs_answer || !feedback.answer.trim().is_empty(),
        "feedback.answer",
        || "must not be blank unless the walk wrongly abstained".to_owned(),
    );
    let status = v1::WalkStatus::try_from(feedback.status);
    violations.require(status.is_ok(), "feedback.status", || {
        format!("{} is unknown", feedback.status)
    });
    let passages = &feedback.passages;
    violations.require(passages.len() <= MAX_PASSAGES, "feedback.passages", || {
        format!("must be at most {MAX_PASSAGES}, are {}", passages.len())
    });
    for (place, passage) in passages.iter().enumerate().take(MAX_PASSAGES) {
        let field = |name: &str| format!("feedback.passages[{place}].{name}");
        violations.require(!passage.text.trim().is_empty(), &field("text"), || {
            "must not be blank".to_owned()
        });
        at_most(&mut violations, &field("text"), &passage.text, MAX_PASSAGE_BYTES);
        at_most(&mut violations, &field("id"), &passage.id, MAX_PASSAGE_ID_BYTES);
        at_most(&mut violations, &field("title"), &passage.title, MAX_TITLE_BYTES);
    }
    let bytes: usize = passages.iter().map(|passage| passage.text.len()).sum();
    violations.require(bytes <= MAX_FEEDBACK_PASSAGE_BYTES, "feedback.passages", || {
        format!("must have at most {MAX_FEEDBACK_PASSAGE_BYTES} bytes together, have {bytes}")
    });
    violations.finish()?;
    Ok(feedback)
}

/// The status of a request with at least one violation.
pub(crate) fn refused(violations: Violations) -> Status {
    match violations.finish() {
        Err(invalid) => invalid.into(),
        Ok(()) => refusal(Reason::Fault, "a request was refused without a reason"),
    }
}

#[cfg(test)]
mod tests;
