use std::collections::BTreeMap;

use super::*;

fn document(sections: usize, bytes: usize, passages: u32, values: usize) -> NewDocument {
    NewDocument {
        id: "a".to_owned(),
        fingerprint: [7; 32],
        title: "T".to_owned(),
        source: "s".to_owned(),
        owner: "o".to_owned(),
        metadata: BTreeMap::from([("k".to_owned(), "v".to_owned())]),
        sections: (0..sections)
            .map(|section| Section {
                start: (section * bytes) as u32,
                text: "x".repeat(bytes),
                headings: vec![format!("Section {section}")],
            })
            .collect(),
        chunks: (0..passages)
            .map(|start| Chunk {
                section: 0,
                start,
                end: start + 1,
                embedding: Some(vec![0.5; values].into()),
                terms: [(start, 1.0)].into_iter().collect(),
            })
            .collect(),
    }
}

#[test]
fn parts_are_small_and_make_the_document() {
    for (sections, bytes, passages, values, expected) in [
        (0, 0, 0, 0, 1),
        (1, 10, 1, 4, 1),
        (3, PART_BYTES, 0, 0, 3),
        (1, 10, 1000, 1024, 4),
        (2, PART_BYTES / 2, 600, 1024, 4),
    ] {
        let whole_before = document(sections, bytes, passages, values);
        let parts: Vec<_> = split(whole_before.clone()).collect();
        assert_eq!(parts.len(), expected, "{sections} {bytes} {passages} {values}");
        let lasts: Vec<bool> = parts.iter().map(|(_, last)| *last).collect();
        assert!(lasts[..expected - 1].iter().all(|last| !last) && lasts[expected - 1]);
        let mut joined = EmbeddedDocument::default();
        for (number, (part, _)) in parts.into_iter().enumerate() {
            assert!(size(&part) < PART_BYTES + bytes + 8192, "{}", size(&part));
            assert_eq!(part.id, "a");
            if number == 0 {
                joined = part;
            } else {
                assert!(part.title.is_empty() && part.metadata.is_empty());
                joined.sections.extend(part.sections);
                joined.passages.extend(part.passages);
            }
        }
        assert_eq!(format!("{:?}", whole(joined)), format!("{whole_before:?}"));
    }
}
