use proptest::prelude::*;

use super::*;

const SETTINGS: SplitSettings = SplitSettings {
    chunk: 8,
    overlap: 0,
    section: 24,
};

fn words(text: &str) -> usize {
    text.split_whitespace()
        .map(|word| word.chars().count().div_ceil(12))
        .sum()
}

fn split(text: &str, markdown: bool) -> SplitText<'_> {
    SETTINGS.split(text, markdown, &words, &|| false).unwrap()
}

/// Invariants for any text: spans are correct, chunks are within sections, and only white space is left out.
fn check(text: &str, pieces: &SplitText<'_>) {
    let letters: Vec<char> = text.chars().collect();
    let at = |start: u32, end: u32| letters[start as usize..end as usize].iter().collect::<String>();
    let mut covered = vec![0_u8; letters.len()];
    for chunk in &pieces.chunks {
        assert_eq!(at(chunk.start, chunk.end), chunk.text);
        let section = &pieces.sections[chunk.section as usize];
        assert!(chunk.start >= section.start && chunk.end <= section.start + section.text.chars().count() as u32);
        assert!(!chunk.text.trim().is_empty());
        covered[chunk.start as usize..chunk.end as usize]
            .iter_mut()
            .for_each(|times| *times += 1);
    }
    for (letter, times) in letters.iter().zip(covered) {
        assert!(
            times == 1 || (times == 0 && letter.is_whitespace()),
            "{letter:?} is in {times} chunks of {text:?}"
        );
    }
    let mut end = 0;
    for section in &pieces.sections {
        let length = section.text.chars().count() as u32;
        assert_eq!(at(section.start, section.start + length), section.text);
        assert!(section.start >= end && section.text.len() <= MAX_SECTION_BYTES);
        end = section.start + length;
    }
}

#[test]
fn a_plain_text_is_split_into_sections_and_chunks() {
    let text = "The harbour wall was built in 1874. It is made of granite. ".repeat(12);
    let pieces = split(&text, false);
    check(&text, &pieces);
    assert!(pieces.sections.len() > 3, "{pieces:?}");
    assert!(pieces.sections.iter().all(|section| words(section.text) <= 24));
    assert!(pieces.chunks.iter().all(|chunk| words(chunk.text) <= 8));
    assert!(
        pieces
            .chunks
            .iter()
            .any(|chunk| chunk.text == "The harbour wall was built in 1874."),
        "{pieces:?}"
    );
}

#[test]
fn markdown_sections_begin_at_headings_and_record_them() {
    let text = "# Boats\n\nThere are nine boats in the harbour and two on land.\n\n## Ferries\n\nThe ferry leaves at \
                seven and returns at noon, on Sundays at one.\n\n# Birds\n\nGulls nest on the roof of the boathouse every year.";
    let pieces = split(text, true);
    check(text, &pieces);
    let headings: Vec<_> = pieces
        .sections
        .iter()
        .map(|section| section.headings.join("/"))
        .collect();
    assert_eq!(headings, ["Boats", "Boats/Ferries", "Birds"]);
    assert!(pieces.sections[1].text.starts_with("## Ferries"));
}

#[test]
fn small_adjacent_sections_are_merged_under_their_common_heading() {
    let text = "# Tides\n\nAll times are local.\n\n## May\n\nnoon\n\n## June\n\none\n\n# Winds\n\nwest";
    let pieces = split(text, true);
    check(text, &pieces);
    let sections: Vec<_> = pieces.sections.iter().map(|s| (s.headings.join("/"), s.text)).collect();
    assert_eq!(
        sections,
        [
            ("Tides".to_owned(), "# Tides\n\nAll times are local."),
            ("Tides".to_owned(), "## May\n\nnoon\n\n## June\n\none"),
            ("Winds".to_owned(), "# Winds\n\nwest"),
        ]
    );
}

#[test]
fn an_overlap_repeats_the_end_of_the_chunk_before() {
    let text = "one two three four five six seven eight nine ten eleven twelve";
    let settings = SplitSettings { overlap: 2, ..SETTINGS };
    let pieces = settings.split(text, false, &words, &|| false).unwrap();
    assert_eq!(pieces.chunks.len(), 2);
    assert!(pieces.chunks[0].text.ends_with("seven eight"));
    assert!(pieces.chunks[1].text.starts_with("seven eight nine"));
    assert!(
        SplitSettings { overlap: 8, ..SETTINGS }
            .split(text, false, &words, &|| false)
            .is_err()
    );
}

#[test]
fn a_text_without_spaces_is_split() {
    for text in ["항구".repeat(4000), "x".repeat(300_000)] {
        let pieces = split(&text, false);
        check(&text, &pieces);
        assert!(pieces.chunks.len() > 50);
    }
}

#[test]
fn a_megabyte_takes_seconds_at_most() {
    let paragraph = "The lighthouse keeper wrote down the weather every three hours, whether anybody read it or not. ";
    let mut text = String::new();
    while text.len() < 1 << 20 {
        text.push_str("## A year\n\n");
        text.push_str(&paragraph.repeat(40));
        text.push_str("\n\n");
    }
    let settings = SplitSettings {
        chunk: 250,
        overlap: 0,
        section: 1000,
    };
    for markdown in [false, true] {
        let began = std::time::Instant::now();
        let pieces = settings.split(&text, markdown, &words, &|| false).unwrap();
        println!(
            "markdown {markdown}: {} chunks in {:?}",
            pieces.chunks.len(),
            began.elapsed()
        );
        assert!(pieces.chunks.len() > 600);
        // Guards against quadratic time, which would take hours.
        assert!(began.elapsed().as_secs() < 120);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_is_lost_or_misplaced(text in "([a-z가-힣。.]{1,9}[ \n]{0,2}|#{1,3} [a-z]{1,5}\n\n|\n\n|- [a-z]{1,4}\n|😀|\u{3000}){0,60}", markdown: bool) {
        check(&text, &split(&text, markdown));
    }
}
