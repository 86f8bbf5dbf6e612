use std::io::Cursor;

use proptest::prelude::*;

use super::*;

/// The header of an empty file of version 3 with these counts.
fn start(tensors: u64, entries: u64) -> Vec<u8> {
    [
        b"GGUF".as_slice(),
        &3_u32.to_le_bytes(),
        &tensors.to_le_bytes(),
        &entries.to_le_bytes(),
    ]
    .concat()
}

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

fn array(kind: u32, count: u64) -> Vec<u8> {
    [
        string("key"),
        ARRAY.to_le_bytes().to_vec(),
        kind.to_le_bytes().to_vec(),
        count.to_le_bytes().to_vec(),
    ]
    .concat()
}

fn checked(parts: &[Vec<u8>]) -> Result<(), String> {
    check(&mut Cursor::new(parts.concat()))
}

#[test]
fn what_no_model_has_is_refused_before_it_is_read() {
    for (parts, says) in [
        (vec![start(MAX_TENSORS + 1, 0)], "100001 tensors"),
        (vec![start(0, u64::MAX)], "entries of metadata"),
        (
            vec![start(0, 1), array(0, MAX_VALUES + 1), vec![0; MAX_VALUES as usize + 1]],
            "more than 4000000 values",
        ),
        (
            vec![
                start(0, 2),
                array(0, 2_500_000),
                vec![0; 2_500_000],
                array(0, 2_500_000),
            ],
            "more than 4000000 values",
        ),
        (vec![start(0, 1), array(ARRAY, 1)], "array of arrays"),
        (vec![start(0, 1), array(5, 1000)], "end of the file"),
        (vec![start(0, 1), array(77, 1)], "unknown type 77"),
        (
            vec![start(0, 1), (MAX_STRING + 1).to_le_bytes().to_vec()],
            "a string has",
        ),
        (
            vec![start(1, 0), string("t"), 5_u32.to_le_bytes().to_vec()],
            "5 dimensions",
        ),
        (
            vec![
                start(1, 0),
                string("t"),
                2_u32.to_le_bytes().to_vec(),
                u64::MAX.to_le_bytes().repeat(2),
            ],
            "can be counted",
        ),
        (vec![b"GGUF".to_vec()], "end of the file"),
    ] {
        let error = checked(&parts).unwrap_err();
        assert!(error.contains(says), "{says}: {error}");
    }
    assert_eq!(checked(&[start(0, 1), array(8, 2), string("a"), string("b")]), Ok(()));
}

proptest! {
    #[test]
    fn no_bytes_end_it_otherwise(bytes in prop::collection::vec(any::<u8>(), 0..200), magic in any::<bool>()) {
        let mut reader = Cursor::new(if magic { [start(2, 3), bytes].concat() } else { bytes });
        if check(&mut reader).is_ok() {
            prop_assert_eq!(reader.position(), 0);
        }
    }
}
