//! The sections of a text with Markdown headings.

use std::ops::Range;

/// Where the sections of `text` stand, in order, all of it covered: each begins with its heading, and a heading without
/// words of its own under it stays with the next. One section where there are no headings, none for an empty text.
pub fn sections(text: &str) -> Vec<Range<usize>> {
    let mut sections: Vec<Range<usize>> = Vec::new();
    let (mut start, mut end) = (0, 0);
    let (mut fenced, mut said) = (false, false);
    for line in text.split_inclusive('\n') {
        let words = line.trim();
        if words.starts_with("```") || words.starts_with("~~~") {
            fenced = !fenced;
        }
        if !fenced && is_heading(words) {
            if said {
                sections.push(start..end);
                (start, said) = (end, false);
            }
        } else {
            said |= !words.is_empty();
        }
        end += line.len();
    }
    match sections.last_mut() {
        // A heading at the end has nothing to say.
        Some(last) if !said => last.end = end,
        _ if end > 0 => sections.push(start..end),
        _ => {}
    }
    sections
}

fn is_heading(line: &str) -> bool {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    (1..=6).contains(&marks) && line.as_bytes().get(marks).is_some_and(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::sentences;

    fn cut(text: &str) -> Vec<&str> {
        sections(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn a_heading_begins_a_section() {
        let text = "# Book\n\n## Leave\nIt is 25 days.\n\n## Travel\nTrains are booked.\n";
        assert_eq!(
            cut(text),
            [
                "# Book\n\n## Leave\nIt is 25 days.\n\n",
                "## Travel\nTrains are booked.\n"
            ]
        );
        assert_eq!(cut("Before.\n# After\nWords."), ["Before.\n", "# After\nWords."]);
    }

    #[test]
    fn sentences_are_the_same_in_sections_and_in_the_whole() {
        let text = include_str!("../../../../README.md");
        let whole: Vec<&str> = sentences(text).into_iter().map(|range| &text[range]).collect();
        let cut = cut(text);
        let parts = cut
            .iter()
            .flat_map(|section| sentences(section).into_iter().map(|range| &section[range]));
        assert_eq!(parts.collect::<Vec<_>>(), whole);
        assert!(cut.len() > 5 && cut.concat() == text);
    }

    #[test]
    fn what_is_no_heading_divides_nothing() {
        for text in [
            "One.\n\nTwo.",
            "#hashtag\nwords\n#another\nwords",
            "####### seven\nwords\n####### seven\nwords",
            "# One\nwords\n```sh\n# a comment\nls\n```\nwords",
            "# One\nwords\n# Nothing below\n\n",
            "# Only headings\n## Only headings",
        ] {
            assert_eq!(cut(text), [text]);
        }
        assert!(cut("").is_empty());
    }
}
