use emend_core::ServiceError;

use emend_proto::v1::FieldCondition;

use super::*;

fn wrong<T>(result: Result<T, InvalidRequest>) -> Vec<String> {
    let Err(error) = result else { panic!("accepted") };
    error
        .violations()
        .into_iter()
        .map(|v| format!("{}: {}", v.field, v.description))
        .collect()
}

#[test]
fn what_is_not_given_has_its_default() {
    let query = retrieve(RetrieveRequest {
        query: "tide".into(),
        ..RetrieveRequest::default()
    })
    .unwrap();
    assert_eq!(
        (query.collection.as_str(), query.top_k, query.unit, query.ef),
        ("default", 4, Unit::Section, None)
    );
    assert_eq!(get(GetCollectionRequest::default()).unwrap().0, "default");
    assert_eq!(collection_after("", String::new()), "default");
    assert_eq!(collection_after("a", String::new()), "a");
    assert_eq!(collection_after("a", "b".into()), "b");
}

#[test]
fn limits_are_inclusive() {
    let query = |top_k, ef, length| RetrieveRequest {
        query: "q".repeat(length),
        top_k: Some(top_k),
        ef: Some(ef),
        ..RetrieveRequest::default()
    };
    assert!(retrieve(query(1, 1, 1)).is_ok());
    assert!(retrieve(query(100, 4096, 8192)).is_ok());
    assert_eq!(
        wrong(retrieve(query(101, 4097, 8193))),
        [
            "query: must be at most 8192 bytes, is 8193",
            "top_k: must be 1 to 100, is 101",
            "ef: must be 1 to 4096, is 4097"
        ]
    );
}

#[test]
fn every_wrong_field_is_named_at_once() {
    let request = RetrieveRequest {
        query: " \n".into(),
        collection: "../etc".into(),
        top_k: Some(0),
        mode: 7,
        filter: [(String::new(), "x".into()), ("long".into(), "v".repeat(1021))].into(),
        conditions: vec![FieldCondition::default()],
        ..RetrieveRequest::default()
    };
    assert_eq!(
        wrong(retrieve(request)),
        [
            "query: must not be blank",
            "collection: must be 1 to 64 of a–z, A–Z, 0–9, -, _, . and not begin with a dot, is \"../etc\"",
            "top_k: must be 1 to 100, is 0",
            "filter[\"\"]: must have a name",
            "filter[\"long\"]: must be at most 1024 bytes with its name, is 1025",
            "conditions[0].field: must be 1 to 1024 bytes, is 0",
            "mode: 7 is unknown: known are SEARCH_MODE_DENSE, SEARCH_MODE_SPARSE and SEARCH_MODE_HYBRID",
        ]
    );
}

#[test]
fn names_that_are_other_folders_are_refused() {
    for bad in [".", "..", ".lock", "a/b", "a\\b", "하나", "a b", &"x".repeat(65)] {
        assert_eq!(
            wrong(get(GetCollectionRequest { collection: bad.into() })).len(),
            1,
            "{bad}"
        );
    }
    assert!(
        get(GetCollectionRequest {
            collection: "Docs-1_v2.0".into()
        })
        .is_ok()
    );
}

#[test]
fn documents_and_ids_are_checked() {
    let none = DeleteDocumentsRequest::default();
    assert_eq!(wrong(delete(none)), ["document_ids: must be 1 to 1000, are 0"]);
    let ids = DeleteDocumentsRequest {
        document_ids: vec!["a".into(), String::new()],
        ..Default::default()
    };
    assert_eq!(wrong(delete(ids)), ["document_ids[1]: must be 1 to 512 bytes, is 0"]);
    let odd = Document {
        format: 99,
        ..Document::default()
    };
    assert_eq!(wrong(document("a", &odd)).len(), 2);
}

#[test]
fn where_a_document_is_from_is_short_and_has_no_control_characters() {
    let named = |id: &str, source: &str| {
        let document = Document {
            id: id.to_owned(),
            source: source.to_owned(),
            ..Document::default()
        };
        super::document("notes", &document).map_err(|error| error.to_string())
    };
    assert!(named("a", &"x".repeat(MAX_SOURCE_BYTES)).is_ok());
    let long = named("a", &"x".repeat(MAX_SOURCE_BYTES + 1)).unwrap_err();
    assert!(long.contains("document.source") && long.contains("4097"), "{long}");
    let control = named("a\u{1b}[2J", "b\nc").unwrap_err();
    assert!(
        control.contains("document.id") && control.contains("document.source"),
        "{control}"
    );
    assert!(!control.contains('\u{1b}'), "{control:?}");
}
