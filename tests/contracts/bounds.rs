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

/// `8 KiB`, `10 s` or `200` as a number.
fn amount(told: &str) -> Option<u64> {
    let (number, unit) = told.split_once(' ').unwrap_or((told, ""));
    let factor = match unit {
        "" | "s" => 1,
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
