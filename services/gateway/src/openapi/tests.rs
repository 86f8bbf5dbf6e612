use emend_json::PACKAGE;
use prost_reflect::Kind;

use super::*;

#[test]
fn every_route_is_in_the_document() {
    let document = make().unwrap();
    for operation in Operation::ALL {
        let (method, path) = operation.route();
        let described = &document["paths"][path.replace("{*", "{")][method.to_ascii_lowercase()];
        assert_eq!(described["operationId"], format!("{operation:?}"), "{method} {path}");
        assert!(!described["summary"].as_str().unwrap().is_empty());
        for parameter in path.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
            let name = parameter.trim_start_matches('*');
            let known = described["parameters"].as_array().unwrap();
            assert!(known.iter().any(|known| known["name"] == name), "{path}: {name}");
        }
    }
}

/// Every field of every message that can be reached from a route, found by another way than the one under test.
#[test]
fn every_field_that_can_be_reached_is_in_the_document() {
    let document = make().unwrap();
    let schemas = &document["components"]["schemas"];
    let roots = [
        "Question",
        "WalkResult",
        "WalkEvent",
        "RetrieveRequest",
        "RetrieveResponse",
        "ListGraphsResponse",
        "GetGraphResponse",
        "ValidateGraphRequest",
        "ValidateGraphResponse",
        "ListCollectionsResponse",
        "Collection",
        "ListDocumentsResponse",
        "DeleteDocumentsResponse",
        "DeleteCollectionResponse",
        "IngestResponse",
        "GetDocumentResponse",
        "Feedback",
        "RecordFeedbackResponse",
        "ReplayWalkRequest",
        "ReplayWalkResponse",
    ];
    let pool = emend_json::pool().unwrap();
    let message = |name: &str| pool.get_message_by_name(&format!("{PACKAGE}.{name}")).unwrap();
    let mut waiting: Vec<_> = roots.iter().map(|root| message(root)).collect();
    let mut seen = Vec::new();
    let mut fields = 0;
    while let Some(message) = waiting.pop() {
        if seen.contains(&message) || message.package_name() != PACKAGE {
            continue;
        }
        let name = message.full_name().trim_start_matches("emend.v1.").to_owned();
        for field in message.fields() {
            let entry = |kind| match kind {
                Kind::Message(entry) if field.is_map() => entry.map_entry_value_field().kind(),
                kind => kind,
            };
            if let Kind::Message(inner) = entry(field.kind()) {
                waiting.push(inner);
            }
            let described = &schemas[&name]["properties"][field.json_name()];
            assert!(
                described["description"].is_string(),
                "{name}.{}: {described}",
                field.json_name()
            );
            fields += 1;
        }
        seen.push(message);
    }
    assert!(fields > 100, "{fields} fields");
}

#[test]
fn every_reference_leads_somewhere() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                if let Some(Value::String(to)) = object.get("$ref") {
                    found.push(to.clone());
                }
                object.values().for_each(|inner| references(inner, found));
            }
            Value::Array(array) => array.iter().for_each(|inner| references(inner, found)),
            _ => {}
        }
    }
    let document = make().unwrap();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 50);
    for to in found {
        let at = document.pointer(to.trim_start_matches('#'));
        assert!(at.is_some_and(Value::is_object), "{to}");
    }
}

#[test]
fn what_the_mapping_writes_is_what_the_schema_says() {
    let document = make().unwrap();
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Usage"]["properties"]["inputTokens"]["type"], "string");
    assert_eq!(schemas["WalkResult"]["properties"]["duration"]["type"], "string");
    assert_eq!(
        schemas["WalkResult"]["properties"]["options"]["additionalProperties"]["type"],
        "number"
    );
    assert_eq!(schemas["WalkStatus"]["enum"][1], "WALK_STATUS_ANSWERED");
}
