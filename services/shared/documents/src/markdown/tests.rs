use super::*;

#[test]
fn blocks_are_separated_and_lists_and_code_are_not() {
    let mut out = Markdown::default();
    out.heading(2, " Two\nwords ");
    out.paragraph("# not a heading");
    out.item(0, None, "one");
    out.item(1, Some(3), "two\nlines");
    out.code("let a = 1;");
    out.code("let b = 2;");
    out.paragraph("");
    out.raw("| a |\n| --- |\n");
    assert_eq!(out.next_start(), out.text().len());
    out.code("end");
    assert_eq!(
        out.finish(),
        "## Two words\n\n\\# not a heading\n\n- one\n   3. two\n      lines\n\n```\nlet a = 1;\nlet b = 2;\n```\n\n\
         | a |\n| --- |\n\n```\nend\n```"
    );
}
