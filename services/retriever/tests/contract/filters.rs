//! Filters by metadata: cases, and random ones for the model.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use emend_proto::condition::Quantity;
use emend_retriever::backend::{Condition, Query, Range, Search, Test, Unit};
use emend_retriever::terms::Terms;
use proptest::prelude::*;

use crate::subject::{Subject, dense, document, embedder, vector};

pub(crate) async fn a_filter_takes_documents_that_meet_all_conditions(subject: &Subject) {
    let store = &subject.store;
    let sets: [&[(&str, &str)]; 4] = [
        &[("lang", "de"), ("year", "2024"), ("on", "2024-05-01")],
        &[("lang", "en"), ("year", "2024.5"), ("on", "2024-05-01T12:00:00+02:00")],
        &[("a", "b=c"), ("year", "unknown"), ("odd.key[0]\"", "-1e3")],
        &[("a=b", "c"), ("lang", "")],
    ];
    for (seed, pairs) in (0..).zip(sets) {
        let mut new = document(&format!("d{seed}"), seed, &[(&format!("words {seed}"), 1)]);
        let owned = pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        new.metadata = owned.collect();
        store.put("notes", &embedder(), new).await.unwrap();
    }
    let on = |field: &str, test: Test| Condition {
        field: field.to_owned(),
        test,
    };
    let one_of = |field: &str, values: &[&str]| {
        let values = values.iter().map(|value| (*value).to_owned());
        on(field, Test::OneOf(values.collect()))
    };
    let within = |field: &str, from: &str, below: &str| {
        let range = Range {
            gte: Quantity::of(from),
            lt: Quantity::of(below),
            ..Range::default()
        };
        on(field, Test::Range(range))
    };
    let has = |field: &str, exists| on(field, Test::Exists(exists));
    let filters: [(Vec<Condition>, &[&str]); 15] = [
        (vec![], &["d0", "d1", "d2", "d3"]),
        (vec![one_of("year", &["2024"])], &["d0"]),
        (vec![one_of("lang", &["de", "en", "fr"])], &["d0", "d1"]),
        (
            vec![one_of("lang", &["de", "en"]), within("year", "2024.2", "")],
            &["d1"],
        ),
        (vec![one_of("lang", &[""])], &["d3"]),
        (vec![one_of("lang", &["fr"])], &[]),
        (vec![one_of("a", &["b=c"])], &["d2"]),
        (vec![one_of("a=b", &["c"])], &["d3"]),
        (vec![within("year", "2024", "2024.5")], &["d0"]),
        (vec![within("on", "2024-05-01T10:00:00Z", "2024-05-02")], &["d1"]),
        (vec![within("odd.key[0]\"", "-1000", "0")], &["d2"]),
        (vec![has("lang", true)], &["d0", "d1", "d3"]),
        (vec![has("lang", false), has("a", true)], &["d2"]),
        (vec![has("on", false)], &["d2", "d3"]),
        (vec![has("on", false), has("on", true)], &[]),
    ];
    for (filter, expected) in filters {
        let words = Terms::of_query("words");
        for query in [
            Query::Dense(vector(1)),
            Query::Sparse(words.clone()),
            Query::Hybrid(vector(1), words.clone()),
        ] {
            let search = Search {
                query,
                filter: filter.clone(),
                ..dense(1, 10, Unit::Section)
            };
            let hits = store.search("notes", search).await.unwrap();
            let mut found: Vec<&str> = hits.iter().map(|hit| hit.document.as_str()).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{filter:?}");
        }
    }
}

/// A condition on `value`, which is 0, 1 or 2, or on `day`, which is missing, a day or a number, as [`metadata`] has them.
pub(crate) fn condition() -> impl Strategy<Value = Condition> {
    let on = |field: &str, test: Test| Condition {
        field: field.to_owned(),
        test,
    };
    let value = prop::sample::select(vec!["0", "1", "2", "9", "1.0"]).prop_map(str::to_owned);
    let number = (-1_i32..6).prop_map(|halves| Quantity::Number(f64::from(halves) / 2.0));
    let day = (0_u8..10).prop_map(|day| Quantity::of(&format!("2024-05-{:02}", day + 1)).unwrap());
    prop_oneof![
        prop::collection::vec(value, 1..3).prop_map(move |values| on("value", Test::OneOf(values))),
        range(number.clone()).prop_map(move |range| on("value", Test::Range(range))),
        range(number).prop_map(move |range| on("day", Test::Range(range))),
        range(day).prop_map(move |range| on("day", Test::Range(range))),
        (prop::sample::select(vec!["value", "day", "nothing"]), any::<bool>())
            .prop_map(move |(field, exists)| on(field, Test::Exists(exists))),
    ]
}

fn range(bound: impl Strategy<Value = Quantity> + Clone) -> impl Strategy<Value = Range> {
    let none = Range::default();
    (bound.clone(), prop::option::of(bound), 0_u8..4).prop_map(move |(one, other, kind)| match kind {
        0 => Range {
            gt: Some(one),
            lte: other,
            ..none
        },
        1 => Range {
            gte: Some(one),
            lt: other,
            ..none
        },
        2 => Range {
            lt: Some(one),
            gt: other,
            ..none
        },
        _ => Range {
            lte: Some(one),
            gte: other,
            ..none
        },
    })
}

pub(crate) fn metadata(seed: u64, value: u8) -> BTreeMap<String, String> {
    let day = match value {
        0 => None,
        1 => Some(format!("2024-05-{:02}", seed % 9 + 1)),
        _ => Some((seed % 3).to_string()),
    };
    let fields = [("value", Some(value.to_string())), ("day", day)];
    let fields = fields
        .into_iter()
        .filter_map(|(field, value)| Some((field.to_owned(), value?)));
    fields.collect()
}

/// Whether a condition holds, by the words of the contract.
pub(crate) fn holds(condition: &Condition, metadata: &BTreeMap<String, String>) -> bool {
    let value = metadata.get(&condition.field);
    let order = |bound: Quantity| match (value.and_then(|value| Quantity::of(value)), bound) {
        (Some(Quantity::Number(value)), Quantity::Number(bound))
        | (Some(Quantity::Time(value)), Quantity::Time(bound)) => value.partial_cmp(&bound),
        _ => None,
    };
    match &condition.test {
        Test::OneOf(values) => value.is_some_and(|value| values.contains(value)),
        Test::Exists(exists) => value.is_some() == *exists,
        Test::Range(Range { gt, gte, lt, lte }) => {
            gt.is_none_or(|bound| order(bound) == Some(Ordering::Greater))
                && gte.is_none_or(|bound| order(bound).is_some_and(Ordering::is_ge))
                && lt.is_none_or(|bound| order(bound) == Some(Ordering::Less))
                && lte.is_none_or(|bound| order(bound).is_some_and(Ordering::is_le))
        }
    }
}
