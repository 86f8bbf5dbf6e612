use super::*;

#[test]
fn marks_are_left_out() {
    let markdown = "# Kettles\n\nFill **it** up,\n_slowly_.  \nBoil `water` in 3\\*4 s.\n\n---\n\n> A kettle.";
    assert_eq!(
        plain(markdown),
        "Kettles\n\nFill it up, slowly.\nBoil water in 3*4 s.\n\nA kettle."
    );
}

#[test]
fn lists_tables_and_code_keep_their_parts() {
    let markdown =
        "*   One\n*   Two\n    1.  Three\n\n| Size | Price |\n| --- | --- |\n| 1 l | 9 |\n\n```\na  b\n  c\n```";
    assert_eq!(
        plain(markdown),
        "- One\n\n- Two\n\n- Three\n\nSize | Price\n\n1 l | 9\n\na  b\n  c"
    );
    assert_eq!(plain(""), "");
}
