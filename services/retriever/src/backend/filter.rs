//! Filters by metadata, and what both stores index of metadata for them.
//!
//! A point has a keyword for each value (`4:lang=en`) and one for each field (`4:lang`), and for each value that is a number
//! or a time its field with a prefix of its kind and the number (`n:year`, 2024). So there are as many indexes as kinds of
//! conditions, whatever fields documents have, and names of fields may have any characters, unlike paths of payloads.

use std::collections::{BTreeMap, HashMap};

use emend_proto::condition::Quantity;
use emend_proto::v1::{FieldCondition, FieldRange, field_condition};

/// The field of a point with the keywords.
pub(crate) const METADATA: &str = "metadata";
/// The field of a point with the numbers: a list of objects.
pub(crate) const NUMBERS: &str = "numbers";
/// The prefixed field in an object of [`NUMBERS`].
pub(crate) const NUMBERS_FIELD: &str = "field";
/// The number in an object of [`NUMBERS`].
pub(crate) const NUMBERS_VALUE: &str = "value";

/// A condition on one field of a document's metadata.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The field's name.
    pub field: String,
    /// What must hold.
    pub test: Test,
}

/// What must hold of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// Its value is one of these.
    OneOf(Vec<String>),
    /// Its value is a number or a time within a range.
    Range(Range),
    /// Whether the document has the field.
    Exists(bool),
}

/// A range. Its bounds are of one kind, and there is at least one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// Greater than this.
    pub gt: Option<Quantity>,
    /// This or greater.
    pub gte: Option<Quantity>,
    /// Less than this.
    pub lt: Option<Quantity>,
    /// This or less.
    pub lte: Option<Quantity>,
}

impl Range {
    /// What values of a field that it can contain are indexed under.
    pub(crate) fn key(&self, field: &str) -> String {
        let bound = self.gt.or(self.gte).or(self.lt).or(self.lte);
        bound.map_or_else(String::new, |bound| indexed(field, bound).0)
    }
}

impl From<&FieldRange> for Range {
    fn from(range: &FieldRange) -> Self {
        let bound = |text: &Option<String>| text.as_deref().and_then(Quantity::of);
        Self {
            gt: bound(&range.gt),
            gte: bound(&range.gte),
            lt: bound(&range.lt),
            lte: bound(&range.lte),
        }
    }
}

/// The filter of a request that was checked.
pub(crate) fn of_request(equal: HashMap<String, String>, conditions: Vec<FieldCondition>) -> Vec<Condition> {
    let equal = equal.into_iter().map(|(field, value)| Condition {
        field,
        test: Test::OneOf(vec![value]),
    });
    let conditions = conditions.into_iter().filter_map(|condition| {
        let test = match condition.condition? {
            field_condition::Condition::OneOf(one_of) => Test::OneOf(one_of.values),
            field_condition::Condition::Range(range) => Test::Range((&range).into()),
            field_condition::Condition::Exists(exists) => Test::Exists(exists),
        };
        let field = condition.field;
        Some(Condition { field, test })
    });
    equal.chain(conditions).collect()
}

/// The keyword of a value. The length in front distinguishes `a=b` with the value `c` from `a` with the value `b=c`.
pub(crate) fn value_keyword(field: &str, value: &str) -> String {
    format!("{}={value}", field_keyword(field))
}

/// The keyword of a field.
pub(crate) fn field_keyword(field: &str) -> String {
    format!("{}:{field}", field.len())
}

/// The keywords of metadata.
pub(crate) fn keywords(metadata: &BTreeMap<String, String>) -> impl Iterator<Item = String> {
    metadata
        .iter()
        .flat_map(|(field, value)| [field_keyword(field), value_keyword(field, value)])
}

/// The numbers of metadata: what they are indexed under, and themselves.
pub(crate) fn numbers(metadata: &BTreeMap<String, String>) -> impl Iterator<Item = (String, f64)> {
    metadata
        .iter()
        .filter_map(|(field, value)| Some(indexed(field, Quantity::of(value)?)))
}

/// A quantity of a field as it is indexed.
fn indexed(field: &str, quantity: Quantity) -> (String, f64) {
    match quantity {
        Quantity::Number(number) => (format!("n:{field}"), number),
        Quantity::Time(seconds) => (format!("t:{field}"), seconds),
    }
}

/// The bound of a range as it is indexed.
pub(crate) fn bound(quantity: Option<Quantity>) -> Option<f64> {
    quantity.map(|quantity| indexed("", quantity).1)
}
