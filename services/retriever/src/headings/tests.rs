use super::*;

fn owned(headings: &[&str]) -> Vec<String> {
    headings.iter().map(|&heading| heading.to_owned()).collect()
}

#[test]
fn headings_are_few_short_lines() {
    let given = owned(&[
        "Kettles\n and\tpots \u{1b}[31m",
        " \n",
        &"휴".repeat(300),
        &format!("{} b", "a".repeat(199)),
    ]);
    let stored = bounded(&given);
    assert_eq!(stored, ["Kettles and pots [31m", &"휴".repeat(200), &"a".repeat(199)]);
    assert_eq!(bounded(&vec!["a".to_owned(); 9]).len(), MAX_HEADINGS);
    // Storing them again changes nothing.
    assert_eq!(bounded(&stored), stored);
}

#[test]
fn a_passage_is_given_the_headings_above_it_that_it_does_not_have_itself() {
    let headings = || owned(&["Handbook", "Page 3", "The `port` option"]);
    let left = |title: &str, text: &str| above(title, headings(), text);
    assert_eq!(left("", "words"), headings());
    assert_eq!(left("Handbook", "words"), ["Page 3", "The `port` option"]);
    assert_eq!(left("Handbook", "# Page 3\n\nwords"), ["The `port` option"]);
    assert_eq!(left("Handbook", "Page 3\n======\n\nwords"), ["The `port` option"]);
    // The number of another page, a mention and a foot are no headings.
    let mentioned = "# Page 30\n\nSee Page 3 of the Handbook.\n\nPage 3 of 9";
    assert_eq!(left("Other", mentioned), headings());
    let plain = above(
        "",
        owned(&["Ports", "The port option"]),
        "## The *port* option\n\nwords",
    );
    assert_eq!(plain, ["Ports"]);
}
