use super::*;

fn read(text: &str) -> String {
    extract(text, Bounds::new(&|| false)).unwrap().text
}

#[test]
fn the_delimiter_is_told_by_the_rows() {
    let table = "| a | b |\n| --- | --- |\n| 1,5 | x |";
    for text in [
        "a;b\n1,5;x\n",
        "a\tb\r\n1,5\tx\r\n",
        "a|b\n1,5|x",
        "a,b\n\"1,5\",x\n",
        "sep=;\r\na;b\r\n1,5;x",
    ] {
        assert_eq!(read(text), table, "{text}");
    }
    // Commas within the values are more than the semicolons between them.
    let text = "name;note\nAda;one, two, three\nBob;four, five\nEve;six\n";
    assert!(read(text).contains("| Ada | one, two, three |"));
}

#[test]
fn values_may_hold_lines_and_rows_may_be_short() {
    assert_eq!(
        read("a,b,c\n\"one\ntwo\",\"say \"\"hi\"\"\"\n"),
        "| a | b | c |\n| --- | --- | --- |\n| one two | say \"hi\" |  |"
    );
}

#[test]
fn a_text_without_a_delimiter_stays_as_it_is() {
    let extracted = extract("milk\nbread\n", Bounds::new(&|| false)).unwrap();
    assert_eq!((extracted.text.as_str(), extracted.markdown), ("milk\nbread\n", false));
}
