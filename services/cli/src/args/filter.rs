//! `--filter`: conditions on the metadata of documents.

use emend_proto::condition;
use emend_proto::v1::{FieldCondition, FieldRange, FieldValues, field_condition::Condition};

const FORMS: &str = "give FIELD=VALUE, 'FIELD in A,B', 'FIELD>=VALUE' (or >, <, <=), has:FIELD or lacks:FIELD";

/// Reads one condition.
///
/// # Errors
/// What is wrong with it, and what the forms are.
pub(super) fn condition(text: &str) -> Result<FieldCondition, String> {
    let (field, met) = read(text).ok_or_else(|| format!("it is none of the known forms: {FORMS}"))?;
    let condition = FieldCondition {
        field: field.trim().to_owned(),
        condition: Some(met),
    };
    match condition::problems(std::slice::from_ref(&condition)).pop() {
        Some((place, problem)) => {
            let part = place.rsplit(['.', ']']).next().unwrap_or_default();
            let part = if part == "field" { "the field" } else { "the value" };
            Err(format!("{part} {problem}"))
        }
        None => Ok(condition),
    }
}

fn read(text: &str) -> Option<(&str, Condition)> {
    for (prefix, exists) in [("has:", true), ("lacks:", false)] {
        if let Some(field) = text.strip_prefix(prefix) {
            return Some((field, Condition::Exists(exists)));
        }
    }
    let operator = text.find(['<', '>', '=']);
    // In `a=b in c` it belongs to the value.
    if let Some(at) = text
        .find(" in ")
        .filter(|at| operator.is_none_or(|operator| *at < operator))
    {
        let values = text[at + " in ".len()..]
            .split(',')
            .map(|value| value.trim().to_owned());
        return Some((
            &text[..at],
            Condition::OneOf(FieldValues {
                values: values.collect(),
            }),
        ));
    }
    let (field, rest) = text.split_at(operator?);
    let operator = ["<=", ">=", "<", ">", "="]
        .into_iter()
        .find(|operator| rest.starts_with(operator))?;
    let value = rest[operator.len()..].trim().to_owned();
    // `!=` and `==` are of other languages.
    if field.ends_with('!') || value.starts_with('=') {
        return None;
    }
    let mut range = FieldRange::default();
    match operator {
        "<=" => range.lte = Some(value),
        ">=" => range.gte = Some(value),
        "<" => range.lt = Some(value),
        ">" => range.gt = Some(value),
        _ => return Some((field, Condition::OneOf(FieldValues { values: vec![value] }))),
    }
    Some((field, Condition::Range(range)))
}

#[cfg(test)]
mod tests;
