use super::*;

#[test]
fn open_elements_are_counted_and_closed_ones_are_not() {
    assert!(deeper_than(&"<div>".repeat(11), 10));
    assert!(!deeper_than(&"<div>".repeat(10), 10));
    assert!(
        deeper_than(&"<DIV class=a/>".repeat(11), 10),
        "only foreign elements close themselves"
    );
    assert!(!deeper_than(&"<div>text</div>".repeat(100), 10));
    assert!(!deeper_than(&"<p>one<br><li>".repeat(100), 10));
    assert!(!deeper_than(&format!("<svg>{}</svg>", "<path d=''/>".repeat(100)), 10));
}

#[test]
fn scripts_and_comments_are_not_elements() {
    assert!(!deeper_than(
        &format!("<script>{}</script>", "if (a<b) ".repeat(100)),
        10
    ));
    assert!(!deeper_than(&format!("<!-- {} -->", "<div>".repeat(100)), 10));
    assert!(deeper_than(&format!("<SCRIPT>x</Script>{}", "<div>".repeat(100)), 10));
    assert!(!deeper_than("<script>never closed <div><div>", 1));
    assert!(!deeper_than("1 < 2, 3 <4, <é>, <", 0));
}
