use proptest::prelude::*;

use super::*;

#[test]
fn a_row_has_its_values_behind_the_names_of_their_columns() {
    let markdown = "Limits:\n\n| Country | Full day | Hotel |\n| --- | ---: | --- |\n| Norway | **75** | 182 |\n| Japan | | `165` |\n\nThat is all.";
    let rows = table_rows(markdown);
    let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Country: Norway; Full day: 75; Hotel: 182",
            "Country: Japan; Hotel: 165"
        ]
    );
    assert_eq!(&markdown[rows[0].range.clone()], "| Norway | **75** | 182 |");
}

#[test]
fn columns_without_a_name_have_bare_values() {
    let rows = table_rows("| | Price |\n|---|---|\n| Lamp | 9 |\n| Cable | 2 | 1 |");
    let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    assert_eq!(texts, ["Lamp; Price: 9", "Cable; Price: 2"]);
    assert_eq!(table_rows("a | b\nno table"), []);
}

#[test]
fn long_names_do_not_multiply() {
    let markdown = format!("| {} |\n| --- |\n| 1 |\n| 2 |", "name ".repeat(1000));
    let rows = table_rows(&markdown);
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.text.chars().count() < 100), "{rows:?}");
}

proptest! {
    #[test]
    fn rows_lie_in_the_text_in_order(markdown in "([|a -:\\n가]|(\\n\\|---\\|---\\|\\n)){0,60}") {
        let mut at = 0;
        for row in table_rows(&markdown) {
            prop_assert!(row.range.start >= at);
            prop_assert!(markdown.get(row.range.clone()).is_some());
            at = row.range.end;
        }
    }
}
