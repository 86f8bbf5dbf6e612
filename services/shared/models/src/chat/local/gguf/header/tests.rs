use std::io::Cursor;

use candle_core::quantized::gguf_file::Content;
use emend_fuzz::{damaged, fuzz};
use emend_testkit::tiny_gguf::Tiny;
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

/// A file of a model that is as small as can be.
fn tiny(family: &'static str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    Tiny::of(family).write(&path);
    std::fs::read(path).unwrap()
}

/// How many bytes of a file its header has.
fn header_length(file: &[u8]) -> usize {
    let content = Content::read(&mut Cursor::new(file)).unwrap();
    usize::try_from(content.tensor_data_offset).unwrap()
}

#[test]
fn fuzz_gguf_headers() {
    let files = ["llama", "qwen2", "gemma3"].map(tiny);
    for file in &files {
        assert_eq!(check(&mut Cursor::new(file)), Ok(()));
    }
    // Without the weights, which nobody looks at here.
    let headers = files.map(|file| file[..header_length(&file)].to_vec());
    let counts = [
        0,
        1,
        5,
        9,
        u64::from(u32::MAX),
        MAX_STRING,
        MAX_VALUES,
        MAX_TENSORS + 1,
        u64::MAX / 8,
        u64::MAX,
    ];
    let kinds = (0..14_u32).map(|kind| kind.to_le_bytes().to_vec());
    let words = counts
        .map(|count| count.to_le_bytes().to_vec())
        .into_iter()
        .chain(kinds);
    fuzz("headers of GGUF files", damaged(headers, words), |bytes| {
        let mut reader = Cursor::new(&bytes);
        if check(&mut reader).is_ok() {
            prop_assert_eq!(reader.position(), 0);
            // What is let through is read, or refused in turn, and takes no more than it was looked over for.
            if let Ok(content) = Content::read(&mut reader) {
                let values = content.metadata.values().filter_map(|value| value.to_vec().ok());
                let values: usize = values.map(Vec::len).sum();
                prop_assert!(values <= bytes.len(), "{} values of {} bytes", values, bytes.len());
            }
        }
        Ok(())
    });
}

#[test]
fn fuzz_bytes_that_begin_as_gguf() {
    let bytes = (prop::collection::vec(any::<u8>(), 0..200), any::<bool>());
    fuzz("bytes that begin as GGUF", bytes, |(bytes, magic)| {
        let mut reader = Cursor::new(if magic { [start(2, 3), bytes].concat() } else { bytes });
        if check(&mut reader).is_ok() {
            prop_assert_eq!(reader.position(), 0);
        }
        Ok(())
    });
}
