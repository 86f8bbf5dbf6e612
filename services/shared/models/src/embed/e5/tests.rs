use std::sync::atomic::AtomicBool;

use half::f16;

use super::*;

const HIDDEN: usize = 32;
const PIECES: [(&str, f32); 8] = [
    ("<s>", 0.0),
    ("<pad>", 0.0),
    ("</s>", 0.0),
    ("<unk>", 0.0),
    ("▁sea", -3.0),
    ("▁", -4.0),
    ("s", -5.0),
    ("a", -5.5),
];

/// Offsets of the parts of [`file`].
struct Places {
    pieces: usize,
    tensors: usize,
    data: usize,
}

/// A model with one layer, two heads, hidden size 32 and patterned weights.
fn file(positions: i32) -> (Vec<u8>, Places) {
    let mut file = MAGIC.to_vec();
    for size in [HIDDEN as i32, 1, 2, 32, 8, positions, 1] {
        file.extend(size.to_le_bytes());
    }
    file.extend(1e-12_f32.to_le_bytes());
    file.extend([32, 0, 0, 0]);
    let pieces = file.len();
    for number in [8, 0, 2, 1, 3] {
        file.extend(i32::to_le_bytes(number));
    }
    let blob: String = PIECES.iter().map(|(piece, _)| *piece).collect();
    file.extend((blob.len() as u64).to_le_bytes());
    let mut offset = 0;
    for (piece, _) in PIECES {
        file.extend((offset as u32).to_le_bytes());
        offset += piece.len();
    }
    file.extend((offset as u32).to_le_bytes());
    for (_, score) in PIECES {
        file.extend(score.to_le_bytes());
    }
    file.extend(blob.as_bytes());
    let mut normalizer = Vec::new();
    for (from, to) in [('Ｓ', vec!['s']), ('\u{7}', vec![])] {
        normalizer.extend(u32::from(from).to_le_bytes());
        normalizer.push(to.len() as u8);
        for c in to {
            normalizer.extend(u32::from(c).to_le_bytes());
        }
    }
    file.extend(2_u32.to_le_bytes());
    file.extend((normalizer.len() as u32).to_le_bytes());
    file.extend(normalizer);

    let mut tensors: Vec<(String, bool, usize)> = vec![
        ("emb.word".into(), true, 8 * HIDDEN),
        ("emb.pos".into(), false, positions as usize * HIDDEN),
        ("emb.type".into(), false, HIDDEN),
    ];
    for norm in ["emb.ln", "l0.aln", "l0.oln"] {
        tensors.push((format!("{norm}.w"), false, HIDDEN));
        tensors.push((format!("{norm}.b"), false, HIDDEN));
    }
    for linear in ["q", "k", "v", "ao", "fi", "fo"] {
        tensors.push((format!("l0.{linear}.w"), true, HIDDEN * HIDDEN));
        tensors.push((format!("l0.{linear}.b"), false, HIDDEN));
    }
    let places_tensors = file.len();
    let directory: usize = tensors.iter().map(|(name, ..)| 2 + name.len() + 21).sum();
    let start = places_tensors + 4 + directory;
    let mut data = Vec::new();
    file.extend((tensors.len() as u32).to_le_bytes());
    for (number, (name, quantized, elements)) in tensors.iter().enumerate() {
        let offset = start + data.len();
        if *quantized {
            for block in 0..elements / 32 {
                data.extend(f16::from_f32(0.02 + 0.001 * block as f32).to_le_bytes());
                data.extend((0..16).map(|i| (i * 37 + block * 11 + number * 5) as u8));
            }
        } else {
            let pattern = |i: usize| {
                if name.ends_with("ln.w") {
                    1.0
                } else {
                    ((i * 7 + number) % 13) as f32 * 0.02 - 0.1
                }
            };
            data.extend((0..*elements).flat_map(|i| pattern(i).to_le_bytes()));
        }
        file.extend((name.len() as u16).to_le_bytes());
        file.extend(name.as_bytes());
        file.push(u8::from(*quantized));
        file.extend((*elements as u32).to_le_bytes());
        file.extend((offset as u64).to_le_bytes());
        file.extend(((start + data.len() - offset) as u64).to_le_bytes());
    }
    assert_eq!(file.len(), start);
    file.extend(data);
    (
        file,
        Places {
            pieces,
            tensors: places_tensors,
            data: start,
        },
    )
}

fn refused(bytes: &[u8]) -> String {
    match parse(bytes) {
        Ok(_) => panic!("accepted"),
        Err(Malformed(detail)) => detail,
    }
}

#[test]
fn a_whole_file_gives_a_model_and_its_tokenizer() {
    let (bytes, _) = file(16);
    let (bert, tokenizer, special_tokens) = parse(&bytes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((bert.hidden(), bert.max_positions(), bert.layers.len()), (32, 16, 1));
    assert_eq!((special_tokens.first, special_tokens.last), (0, 2));
    assert_eq!(tokenizer.ids(" sea\u{7} Ｓa龜").unwrap(), [4, 5, 6, 7, 3]);
    // Special tokens are not matched in a text, although their score is the best.
    assert!(!tokenizer.ids("<s> </s>\0").unwrap().contains(&0));
    let vectors = bert
        .encode(&[], &[vec![0, 4, 2], vec![0, 6, 7, 2]], &AtomicBool::new(false))
        .unwrap()
        .unwrap();
    assert!(
        vectors
            .iter()
            .all(|vector| (vector.iter().map(|v| v * v).sum::<f32>() - 1.0).abs() < 1e-5)
    );
    assert_ne!(vectors[0], vectors[1]);
}

#[test]
fn roberta_counts_positions_from_two() {
    let (bytes, _) = file(514);
    let (bert, ..) = parse(&bytes).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(bert.max_positions(), 512);
}

#[test]
fn a_truncated_file_is_rejected() {
    let (bytes, places) = file(16);
    for length in (0..bytes.len()).filter(|length| *length < places.data + 40 || length % 97 == 0) {
        refused(&bytes[..length]);
    }
    assert!(refused(&bytes[..places.tensors + 2]).starts_with("unexpected end of file in the number of tensors"));
    assert!(refused(&bytes[..bytes.len() - 1]).contains("is out of bounds"));
}

#[test]
fn wrong_sizes_are_rejected_before_allocation() {
    let (bytes, places) = file(16);
    let with = |at: usize, value: i32| {
        let mut bytes = bytes.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        refused(&bytes)
    };
    assert!(with(0, 0).contains("wrong magic number"));
    assert!(with(8, i32::MAX).starts_with("hidden is 2147483647"));
    assert!(with(8, 33).contains("inconsistent sizes"));
    assert!(with(12, -1).starts_with("layers is -1"));
    assert!(with(16, 0).starts_with("heads is 0"));
    assert!(with(24, 1_999_999).contains("emb.word"));
    assert!(with(places.pieces, 9).starts_with("pieces is 9"));
    assert!(with(places.pieces + 4, 8).starts_with("bos is 8"));
    // The upper half of the 64-bit length of the piece blob.
    assert!(with(places.pieces + 24, i32::MAX).starts_with("unexpected end of file in the pieces"));
    // The end of a piece: beyond the blob, equal to its start, and within a character.
    assert!(with(places.pieces + 32, -1).starts_with("piece 0 is empty, out of bounds"));
    assert!(with(places.pieces + 32, 0).starts_with("piece 0 is empty, out of bounds"));
    assert!(with(places.pieces + 28 + 5 * 4, 18).starts_with("piece 4 is empty, out of bounds"));
    assert!(with(places.tensors, -1).contains("tensor"));
}

#[test]
fn flipped_bytes_do_not_panic() {
    let (bytes, places) = file(16);
    for at in 0..places.data {
        for flip in [0xff, 0x80, 0x01] {
            let mut bytes = bytes.clone();
            bytes[at] ^= flip;
            if let Ok((bert, tokenizer, special_tokens)) = parse(&bytes) {
                let mut ids = tokenizer.ids("sea s a").unwrap();
                ids.insert(0, special_tokens.first);
                // May succeed or fail, but must not panic.
                let _ = bert.encode(&[], &[ids], &AtomicBool::new(false));
            }
        }
    }
}

#[test]
fn the_stop_flag_cancels_encoding() {
    let (bert, ..) = parse(&file(16).0).unwrap_or_else(|error| panic!("{error}"));
    assert!(
        bert.encode(&[], &[vec![0, 4, 2]], &AtomicBool::new(true))
            .unwrap()
            .is_none()
    );
}

#[test]
fn ids_and_lengths_out_of_range_are_errors() {
    let (bert, ..) = parse(&file(16).0).unwrap_or_else(|error| panic!("{error}"));
    let stop = AtomicBool::new(false);
    let error = bert.encode(&[], &[vec![0, 8, 2]], &stop).unwrap_err().to_string();
    assert!(
        error.starts_with("token id 8 is out of range, the vocabulary has 8"),
        "{error}"
    );
    let error = bert.encode(&[], &[vec![0; 17]], &stop).unwrap_err().to_string();
    assert!(error.starts_with("text has 17 tokens, the model takes 16"), "{error}");
}
