use super::*;

fn error(content: &[u8]) -> String {
    decode(content).unwrap_err().to_string()
}

#[test]
fn a_byte_order_mark_is_no_text() {
    assert_eq!(decode("\u{feff}안녕".as_bytes()).unwrap(), "안녕");
    assert_eq!(decode(b"plain").unwrap(), "plain");
}

#[test]
fn binary_files_are_named_whatever_their_extension_says() {
    assert_eq!(
        error(b"%PDF-1.7\n1 0 obj"),
        "it is a PDF file, not text: convert it to plain text, Markdown or HTML first"
    );
    assert!(error(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").starts_with("it is a PNG file"));
    assert!(error(b"PK\x03\x04\x14\0\0\0\x08\0").starts_with("it is a ZIP file"));
    assert!(error(b"some\0thing").starts_with("it is a binary file"));
}

#[test]
fn text_that_only_begins_like_a_binary_file_is_text() {
    // The signature of a bitmap is BM, that of an archive MZ.
    assert_eq!(
        decode(b"BM is short for benchmark").unwrap(),
        "BM is short for benchmark"
    );
    assert_eq!(decode(b"MZ was his monogram").unwrap(), "MZ was his monogram");
}

#[test]
fn other_encodings_are_told_apart() {
    assert_eq!(error(b"\xff\xfeh\0i\0"), "it is UTF-16, not UTF-8: save it as UTF-8");
    assert_eq!(error(b"\xfe\xff\0h\0i"), "it is UTF-16, not UTF-8: save it as UTF-8");
    assert_eq!(
        error(b"caf\xe9 au lait"),
        "it is not UTF-8, byte 3 is wrong: save it as UTF-8"
    );
}
