use proptest::prelude::*;

use super::*;
use crate::sentences;

fn outline(text: &str) -> Vec<(String, &str)> {
    sections(text)
        .into_iter()
        .map(|section| (section.headings.join("/"), text[section.range].trim()))
        .collect()
}

fn named<'t>(sections: &[(&str, &'t str)]) -> Vec<(String, &'t str)> {
    sections
        .iter()
        .map(|(path, text)| ((*path).to_owned(), *text))
        .collect()
}

#[test]
fn splits_at_headings() {
    let text = "before\n\n# A\n\nof a\n\n## B `x`\nof b\n\nC\n===\n\nof c";
    let wanted = [
        ("", "before"),
        ("A", "# A\n\nof a"),
        ("A/B x", "## B `x`\nof b"),
        ("C", "C\n===\n\nof c"),
    ];
    assert_eq!(outline(text), named(&wanted));
}

#[test]
fn a_badge_is_not_part_of_a_heading_and_a_logo_alone_is_one() {
    let text = "# Harbour [![Build Status]][ci] ![msrv](m.svg)\n\nof it\n\n# ![The crane](crane.svg)\n\nof the crane\n\n\
                [Build Status]: https://ci.example/badge.svg\n[ci]: https://ci.example/\n";
    let headings: Vec<String> = sections(text)
        .into_iter()
        .flat_map(|section| section.headings)
        .collect();
    assert_eq!(
        headings.iter().map(|heading| heading.trim()).collect::<Vec<_>>(),
        ["Harbour", "The crane"]
    );
}

#[test]
fn a_heading_without_text_is_merged_into_the_next_section() {
    assert_eq!(
        outline("# A\n\n## B\n\ntext\n"),
        named(&[("A/B", "# A\n\n## B\n\ntext")])
    );
}

#[test]
fn a_heading_at_the_end_is_merged_into_the_previous_section() {
    assert_eq!(outline("text\n# End"), named(&[("", "text\n# End")]));
    assert_eq!(
        outline("# A\ntext\n# B\n## C\n\n"),
        named(&[("A", "# A\ntext\n# B\n## C")])
    );
    assert_eq!(outline("# A\n## B"), named(&[("A/B", "# A\n## B")]));
}

#[test]
fn other_lines_do_not_split() {
    for text in [
        "One.\n\nTwo.",
        "#hashtag\nwords\n#another\nwords",
        "####### seven\nwords\n####### seven\nwords",
        "# One\nwords\n```sh\n# a comment\nls\n```\nwords",
        "words\n\n> # quoted\n\n- # in a list",
        " \n",
    ] {
        assert_eq!(sections(text).len(), 1, "{text}");
    }
    assert!(sections("").is_empty());
}

#[test]
fn sentences_are_the_same_in_sections_and_in_the_whole() {
    let text = include_str!("../../../../../README.md");
    let whole: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
    let cut: Vec<&str> = sections(text).into_iter().map(|section| &text[section.range]).collect();
    let parts = cut
        .iter()
        .flat_map(|section| sentences(section).into_iter().map(|range| &section[range]));
    assert_eq!(parts.collect::<Vec<_>>(), whole);
    assert!(cut.len() > 5 && cut.concat() == text);
}

#[test]
fn ranges_alone_are_the_same_and_bounded() {
    let many = "# a\n\ntext\n\n## b\n\n# c\n\nmore\n".repeat(20);
    for text in [
        "",
        " ",
        "no heading",
        "# only",
        "text\n\n# a\n\n## b\n\nmore\n\n# end\n",
        &many,
    ] {
        let whole: Vec<Range<usize>> = sections(text).into_iter().map(|section| section.range).collect();
        assert_eq!(section_ranges(text, usize::MAX), whole, "{text:?}");
        let bounded = section_ranges(text, 3);
        assert!(bounded.len() <= 3 && bounded.last().map(|last| last.end) == whole.last().map(|last| last.end));
    }
}

proptest! {
    #[test]
    fn any_markdown_has_its_sections_in_order(text in "([#>*_`|=-]{1,4}|[a-z]{1,5}|[ \\n]{1,3}|<[a-z]{1,3}>|\\[|\\]|\\(|!){0,80}") {
        let mut end = 0;
        for section in sections(&text) {
            prop_assert!(section.range.start >= end && text.get(section.range.clone()).is_some());
            end = section.range.end;
        }
        prop_assert!(end <= text.len());
        prop_assert!(crate::plain(&text).len() <= 4 * text.len() + 10);
        let _ = crate::has_content(&text);
    }
}

#[test]
fn markdown_that_was_made_to_harm_is_read_at_once() {
    for piece in [
        "[", "*a ", "> ", "- ", "`", "<!-- ", "![](", "|a", "# ", "<a ", "_a*", "&#x",
    ] {
        let text = piece.repeat(20_000);
        let _ = sections(&text);
        let _ = (crate::plain(&text), crate::has_content(&text));
    }
}
