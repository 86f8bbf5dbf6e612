use super::*;

#[test]
fn every_form_is_read() {
    let one_of = |values: &[&str]| {
        let values = values.iter().map(|value| (*value).to_owned());
        Condition::OneOf(FieldValues {
            values: values.collect(),
        })
    };
    let bound = |value: &str| Some(value.to_owned());
    let none = FieldRange::default();
    for (text, field, expected) in [
        ("lang=en", "lang", one_of(&["en"])),
        ("note=a in b", "note", one_of(&["a in b"])),
        ("note=", "note", one_of(&[""])),
        ("lang in en, ko", "lang", one_of(&["en", "ko"])),
        ("has:author", "author", Condition::Exists(true)),
        ("lacks:author", "author", Condition::Exists(false)),
        (
            "year>=2024",
            "year",
            Condition::Range(FieldRange {
                gte: bound("2024"),
                ..none.clone()
            }),
        ),
        (
            "year > 2024",
            "year",
            Condition::Range(FieldRange {
                gt: bound("2024"),
                ..none.clone()
            }),
        ),
        (
            "day<2024-05-01",
            "day",
            Condition::Range(FieldRange {
                lt: bound("2024-05-01"),
                ..none.clone()
            }),
        ),
        (
            "size<=-1.5",
            "size",
            Condition::Range(FieldRange {
                lte: bound("-1.5"),
                ..none.clone()
            }),
        ),
    ] {
        let read = condition(text).unwrap();
        assert_eq!(
            (read.field.as_str(), read.condition.unwrap()),
            (field, expected),
            "{text}"
        );
    }
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    for (text, said) in [
        ("year", "'FIELD>=VALUE'"),
        ("year!=2024", "'FIELD>=VALUE'"),
        ("year==2024", "'FIELD>=VALUE'"),
        ("=x", "the field must be 1 to"),
        ("has:", "the field must be 1 to"),
        ("year>=soon", "a number such as 2024 or a time such as 2024-05-01"),
    ] {
        let error = condition(text).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
}
