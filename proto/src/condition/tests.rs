use crate::v1::FieldValues;

use super::*;

fn range(gt: &str, gte: &str, lt: &str, lte: &str) -> Condition {
    let bound = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Condition::Range(FieldRange {
        gt: bound(gt),
        gte: bound(gte),
        lt: bound(lt),
        lte: bound(lte),
    })
}

fn one_of(values: usize) -> Condition {
    Condition::OneOf(FieldValues {
        values: vec!["v".to_owned(); values],
    })
}

fn on(field: &str, condition: impl Into<Option<Condition>>) -> FieldCondition {
    FieldCondition {
        field: field.to_owned(),
        condition: condition.into(),
    }
}

#[test]
fn numbers_and_times_are_told_apart() {
    let number = |text| Quantity::of(text) == Some(Quantity::Number(2024.0));
    assert!(number("2024") && number(" 2024.0 ") && number("+2.024e3"));
    let midnight = Quantity::Time(1_714_521_600.0);
    for text in [
        "2024-05-01",
        "2024-05-01T00:00",
        "2024-05-01T00:00:00Z",
        "2024-05-01T02:00:00+02:00",
        "2024-05-01 00:00:00",
    ] {
        assert_eq!(Quantity::of(text), Some(midnight), "{text}");
    }
    for text in [
        "",
        "inf",
        "-Infinity",
        "NaN",
        "5 km",
        "May",
        "2024-05",
        "2024-13-01",
        "1e999",
        "0x10",
    ] {
        assert_eq!(Quantity::of(text), None, "{text}");
    }
}

#[test]
fn conditions_at_their_limits_are_fine() {
    let longest = "x".repeat(MAX_BYTES);
    let mut conditions = vec![on(&longest, Condition::Exists(true)); MAX_CONDITIONS - 3];
    conditions.push(on("year", range("", "2020", "2024.5", "")));
    conditions.push(on("day", range("2024-05-01", "", "", "2024-05-02T10:00:00Z")));
    conditions.push(on("lang", one_of(MAX_VALUES - MAX_CONDITIONS + 1)));
    assert_eq!(problems(&conditions), []);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let mut long = one_of(2);
    if let Condition::OneOf(values) = &mut long {
        values.values[1] = "v".repeat(MAX_BYTES);
    }
    let conditions = [
        on("", Condition::Exists(false)),
        on(&"x".repeat(MAX_BYTES + 1), Condition::Exists(false)),
        on("a", None),
        on("a", one_of(0)),
        on("a", long),
        on("a", range("", "", "", "")),
        on("a", range("1", "1", "", "")),
        on("a", range("", "", "1", "1")),
        on("a", range("", "1", "2024-05-01", "")),
        on("a", range("", "many", "", "")),
        on("a", range("", &"1".repeat(MAX_BYTES), "", "")),
    ];
    let found = problems(&conditions);
    let places: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(
        places,
        [
            "[0].field",
            "[1].field",
            "[2].condition",
            "[3].one_of.values",
            "[4].one_of.values[1]",
            "[5].range",
            "[6].range.gte",
            "[7].range.lte",
            "[8].range.lt",
            "[9].range.gte",
            "[10].range.gte",
        ]
    );
    assert!(found[9].1.contains("\"many\""), "{found:?}");
    for beyond in [
        vec![on("a", Condition::Exists(true)); MAX_CONDITIONS + 1],
        vec![on("a", one_of(MAX_VALUES + 1))],
    ] {
        let found = problems(&beyond);
        assert_eq!((found.len(), found[0].0.as_str()), (1, ""));
    }
}
