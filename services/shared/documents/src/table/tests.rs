use super::*;

fn written(rows: &[&[&str]]) -> String {
    let mut out = Markdown::default();
    let rows = rows
        .iter()
        .map(|row| Ok(row.iter().map(|value| (*value).to_owned()).collect()));
    write(&mut out, rows, Bounds::new(&|| false)).unwrap();
    out.finish()
}

#[test]
fn every_block_of_rows_carries_the_header() {
    let mut rows: Vec<Vec<String>> = vec![vec!["order".into(), "city".into()]];
    rows.extend((0..100).map(|number| vec![format!("SO-{number}"), "Tampere".into()]));
    let mut out = Markdown::default();
    write(&mut out, rows.into_iter().map(Ok), Bounds::new(&|| false)).unwrap();
    let text = out.finish();
    let blocks: Vec<&str> = text.split("\n\n").collect();
    assert!(blocks.len() > 3, "{text}");
    for block in &blocks {
        assert!(block.starts_with("| order | city |\n| --- | --- |\n| SO-"), "{block}");
        assert!(tokens(&[(*block).to_owned()]) < 300.0, "{block}");
    }
    assert_eq!(text.matches("SO-").count(), 100);
}

#[test]
fn titles_above_a_table_are_paragraphs_and_empty_rows_are_left_out() {
    let text = written(&[
        &["Price list", "", ""],
        &["", "", ""],
        &["Article", "Price"],
        &["Cell | large", "118\nnet"],
        &["", ""],
        &["Case", ""],
    ]);
    assert_eq!(
        text,
        "Price list\n\n| Article | Price |\n| --- | --- |\n| Cell \\| large | 118 net |\n| Case |  |"
    );
}

#[test]
fn a_first_row_of_data_is_no_header() {
    assert_eq!(
        written(&[&["2026-01-02", "Turin"], &["2026-01-03", "Wien"]]),
        "|  |  |\n| --- | --- |\n| 2026-01-02 | Turin |\n| 2026-01-03 | Wien |"
    );
    assert!(written(&[&["City", "2025", "2026"], &["Turin", "1", "2"]]).starts_with("| City | 2025 | 2026 |\n| ---"));
}

#[test]
fn in_a_wide_table_every_value_stands_behind_its_name() {
    let names: Vec<String> = (0..20).map(|number| format!("field {number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut row = vec![""; 20];
    row[3] = "on";
    row[19] = "off";
    assert_eq!(written(&[&names, &row]), "field 3: on; field 19: off");
}

#[test]
fn one_column_is_a_list_and_a_header_alone_is_kept() {
    assert_eq!(written(&[&["milk"], &["", "bread"]]), "- milk\n- bread");
    assert_eq!(written(&[&["a", "b"]]), "| a | b |\n| --- | --- |");
}
