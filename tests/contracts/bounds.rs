//! The table of bounds in `.github/SECURITY.md` says what the code says.

use crate::root;

#[test]
fn the_bounds_that_are_told_are_those_of_the_code() {
    let text = std::fs::read_to_string(root().join(".github/SECURITY.md")).unwrap();
    let (_, table) = text.split_once("## Bounds").unwrap();
    let mut rows = 0;
    for row in table.lines().filter(|line| line.contains(".rs`")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, _, told, constant, _] = cells.as_slice() else {
            panic!("{row}");
        };
        let names: Vec<&str> = constant.split('`').filter(|part| !part.trim().is_empty()).collect();
        let [file, name] = names.as_slice() else {
            panic!("{row}");
        };
        let told = amount(told);
        assert!(
            told.is_some() && told == value(file, name),
            "{row}: {:?}",
            value(file, name)
        );
        rows += 1;
    }
    assert!(rows > 30, "{rows} rows");
}

/// Where the bounds of what comes from elsewhere are.
const FILES: [&str; 36] = [
    "proto/src/condition.rs",
    "services/gateway/src/documents/upload.rs",
    "services/gateway/src/mcp.rs",
    "services/gateway/src/mcp/ingest.rs",
    "services/gateway/src/request.rs",
    "services/gateway/src/server.rs",
    "services/generator/src/validate.rs",
    "services/grader/src/validate.rs",
    "services/orchestrator/src/graph.rs",
    "services/orchestrator/src/graph/effort.rs",
    "services/orchestrator/src/graph/file.rs",
    "services/orchestrator/src/validate.rs",
    "services/retriever/src/lib.rs",
    "services/retriever/src/validate.rs",
    "services/rewriter/src/lib.rs",
    "services/shared/chassis/src/server/bounds/budget.rs",
    "services/shared/chassis/src/server/bounds/scan.rs",
    "services/shared/core/src/limits.rs",
    "services/shared/documents/src/bounds.rs",
    "services/shared/models/src/chat/local/gguf/header.rs",
    "services/shared/models/src/chat/openai/http.rs",
    "services/shared/models/src/chat/openai/sse.rs",
    "services/shared/models/src/chat/openai/stream.rs",
    "services/shared/models/src/embed/openai.rs",
    "services/shared/models/src/embed/safetensors.rs",
    "services/shared/models/src/verdict/value.rs",
    "services/shared/pages/src/fetch.rs",
    "services/shared/pages/src/robots.rs",
    "services/shared/pages/src/sitemap.rs",
    "services/shared/text/src/html.rs",
    "services/web-search/src/backend/engine/http.rs",
    "services/web-search/src/backend/folder/page.rs",
    "services/web-search/src/backend/html.rs",
    "services/web-search/src/backend/pages.rs",
    "services/web-search/src/lib.rs",
    "services/web-search/src/validate.rs",
];
/// Constants of these files that bound what we say, or are what the wire has.
const NO_BOUNDS: [&str; 4] = [
    "MAX_MESSAGE_BYTES",
    "MAX_NAMED",
    "MAX_VARINT_BYTES",
    "MAX_YAML_ERROR_BYTES",
];

#[test]
fn every_bound_of_what_comes_from_elsewhere_is_told() {
    let text = std::fs::read_to_string(root().join(".github/SECURITY.md")).unwrap();
    for file in FILES {
        let source = std::fs::read_to_string(root().join(file)).unwrap();
        let names = source.lines().filter_map(|line| {
            let name = line.split_once("const MAX_")?.1.split_once(':')?.0;
            Some(format!("MAX_{name}"))
        });
        for name in names {
            // One that is another's has that one's row.
            let told = text.contains(&format!("`{file}` `{name}`"));
            let is_another = value(file, &name).is_none();
            assert!(
                told || is_another || NO_BOUNDS.contains(&&*name),
                ".github/SECURITY.md has no row for `{file}` `{name}`"
            );
        }
    }
}

/// `8 KiB`, `64 B`, `10 s` or `200` as a number.
fn amount(told: &str) -> Option<u64> {
    let (number, unit) = told.split_once(' ').unwrap_or((told, ""));
    let factor = match unit {
        "" | "B" | "s" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()? * factor)
}

/// The value of a constant: a number, a product, a shift, or seconds.
fn value(file: &str, name: &str) -> Option<u64> {
    let source = std::fs::read_to_string(root().join(file)).ok()?;
    let begin = format!("const {name}:");
    let line = source.lines().find(|line| line.contains(&begin))?;
    let expression = line.split_once(" = ")?.1.trim_end_matches(';');
    let expression = expression
        .strip_prefix("Duration::from_secs(")
        .map_or(expression, |rest| rest.trim_end_matches(')'));
    let number = |text: &str| text.trim().replace('_', "").parse::<u64>().ok();
    match expression.split_once("<<") {
        Some((value, bits)) => Some(number(value)? << number(bits)?),
        None => expression.split('*').map(number).product(),
    }
}
