//! Conditions on the metadata of documents: what may be asked for, and how values compare. Every service uses these rules.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::v1::{FieldCondition, FieldRange, field_condition::Condition};

/// Most conditions of a request.
pub const MAX_CONDITIONS: usize = 64;
/// Most values of all conditions of a request together.
pub const MAX_VALUES: usize = 256;
/// Longest value of a condition with the name of its field, in bytes.
pub const MAX_BYTES: usize = 1 << 10;

/// A value that a range compares with others of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// A finite number.
    Number(f64),
    /// An instant, in seconds since 1970.
    Time(f64),
}

impl Quantity {
    /// The number or time that a text says; `None` if it says neither.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(number) = text.parse::<f64>() {
            return number.is_finite().then_some(Self::Number(number));
        }
        let instant = text.parse::<Timestamp>().ok().or_else(|| {
            let local: DateTime = text.parse().ok()?;
            local.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
        })?;
        Some(Self::Time(instant.as_millisecond() as f64 / 1000.0))
    }

    fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// The bounds of a range with their names, those that are set.
pub fn bounds(range: &FieldRange) -> impl Iterator<Item = (&'static str, &str)> {
    let bounds = [
        ("gt", &range.gt),
        ("gte", &range.gte),
        ("lt", &range.lt),
        ("lte", &range.lte),
    ];
    bounds
        .into_iter()
        .filter_map(|(name, bound)| Some((name, bound.as_deref()?)))
}

/// What is wrong with the conditions of a request: where, such as `[0].range.gte`, and why. Of many the first of each
/// condition.
#[must_use]
pub fn problems(conditions: &[FieldCondition]) -> Vec<(String, String)> {
    let count = conditions.len();
    if count > MAX_CONDITIONS {
        let problem = format!("must be at most {MAX_CONDITIONS}, are {count}");
        return vec![(String::new(), problem)];
    }
    let values: usize = conditions.iter().map(values).sum();
    if values > MAX_VALUES {
        let problem = format!("must have at most {MAX_VALUES} values together, have {values}");
        return vec![(String::new(), problem)];
    }
    let problems = conditions.iter().enumerate().filter_map(|(index, condition)| {
        let (place, problem) = problem(condition)?;
        Some((format!("[{index}].{place}"), problem))
    });
    problems.collect()
}

fn values(condition: &FieldCondition) -> usize {
    match &condition.condition {
        Some(Condition::OneOf(one_of)) => one_of.values.len(),
        _ => 1,
    }
}

/// The first thing that is wrong with a condition, and where.
fn problem(condition: &FieldCondition) -> Option<(String, String)> {
    let field = &condition.field;
    if !(1..=MAX_BYTES).contains(&field.len()) {
        return Some((
            "field".to_owned(),
            format!("must be 1 to {MAX_BYTES} bytes, is {}", field.len()),
        ));
    }
    let long = |place: String, value: &str| {
        let bytes = field.len() + value.len();
        let problem = format!("must be at most {MAX_BYTES} bytes with the name of its field, is {bytes}");
        (bytes > MAX_BYTES).then_some((place, problem))
    };
    match &condition.condition {
        None => Some((
            "condition".to_owned(),
            "must be set: one_of, range or exists".to_owned(),
        )),
        Some(Condition::Exists(_)) => None,
        Some(Condition::OneOf(one_of)) if one_of.values.is_empty() => {
            Some(("one_of.values".to_owned(), "must have a value".to_owned()))
        }
        Some(Condition::OneOf(one_of)) => {
            let mut values = one_of.values.iter().enumerate();
            values.find_map(|(index, value)| long(format!("one_of.values[{index}]"), value))
        }
        Some(Condition::Range(range)) => {
            let too_long = bounds(range).find_map(|(name, bound)| long(format!("range.{name}"), bound));
            too_long.or_else(|| range_problem(range))
        }
    }
}

fn range_problem(range: &FieldRange) -> Option<(String, String)> {
    let mut first: Option<(&str, Quantity)> = None;
    for (name, bound) in bounds(range) {
        let shown: String = bound.chars().take(40).collect();
        let wrong = |problem: String| Some((format!("range.{name}"), problem));
        let Some(quantity) = Quantity::of(bound) else {
            return wrong(format!(
                "must be a number such as 2024 or a time such as 2024-05-01, is {shown:?}"
            ));
        };
        match first {
            Some((other, known)) if !known.is_like(quantity) => {
                return wrong(format!(
                    "must be of the kind of `{other}`, a number or a time, is {shown:?}"
                ));
            }
            // `gt` and `gte`, or `lt` and `lte`.
            Some((other, _)) if name.strip_suffix('e') == Some(other) => {
                return wrong(format!("must be unset where `{other}` is set"));
            }
            _ => first = Some((name, quantity)),
        }
    }
    first.is_none().then(|| {
        let problem = "must have a bound: gt, gte, lt or lte";
        ("range".to_owned(), problem.to_owned())
    })
}

#[cfg(test)]
mod tests;
