use super::*;

fn rows(table: &[u8]) -> (Vec<String>, Vec<Row>) {
    let rows = Rows::new(table).unwrap();
    (rows.header().to_vec(), rows.map(Result::unwrap).collect())
}

#[test]
fn rows_come_with_their_lines_whatever_stands_in_quotation_marks() {
    let (header, read) = rows(b"\xef\xbb\xbfid;text\n1;\"one\ntwo; \"\"three\"\"\"\n2;four;surplus\n3\n");
    assert_eq!(header, ["id", "text"]);
    let values: Vec<_> = read.iter().map(|row| (row.line, row.values.join("|"))).collect();
    assert_eq!(
        values,
        [
            (2, "1|one\ntwo; \"three\"".to_owned()),
            (4, "2|four".to_owned()),
            (5, "3".to_owned())
        ]
    );
}

#[test]
fn excel_may_name_the_delimiter_and_the_encoding_may_be_an_old_one() {
    let (header, read) = rows(b"sep=,\r\nid,text\r\n1,a|b|c\r\n");
    assert_eq!((header.len(), read[0].values[1].as_str()), (2, "a|b|c"));
    let (text, _, _) = encoding_rs::EUC_KR.encode("번호,내용\n1,휴가는 이십오일입니다\n2,출장은 기차로 갑니다\n");
    let (header, read) = rows(&text);
    assert_eq!(header, ["번호", "내용"]);
    assert_eq!(read[1].values, ["2", "출장은 기차로 갑니다"]);
}

#[test]
fn a_table_with_one_column_is_one_and_what_is_no_table_is_refused() {
    let (header, read) = rows(b"text\nwords\n");
    assert_eq!((header.join(""), read.len()), ("text".to_owned(), 1));
    for (odd, says) in [
        (&b""[..], "empty"),
        (b"\xff\xfei\0d\0", "UTF-16"),
        (b"a,b\n\0\x01", "binary"),
    ] {
        let refused = Rows::new(odd).unwrap_err().to_string();
        assert!(refused.contains(says), "{refused}");
    }
    let wide = vec![b','; MAX_COLUMNS + 1];
    assert!(Rows::new(&wide[..]).unwrap_err().to_string().contains("columns"));
}

#[test]
fn a_row_that_never_ends_is_refused_with_its_line_and_not_kept() {
    let mut table = b"id,text\n1,short\n2,\"never closed ".to_vec();
    table.extend(std::iter::repeat_n(b'x', 100_000));
    let mut read = Rows::bounded(&table[..], 20_000).unwrap();
    assert_eq!(read.next().unwrap().unwrap().line, 2);
    let refused = read.next().unwrap().unwrap_err();
    assert!(matches!(refused, RowError::TooLong { line: 3 }), "{refused:?}");
}

#[test]
fn a_table_is_not_held_in_memory() {
    /// A table without an end, which counts how much of it is asked for.
    struct Endless(u64);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let row = b"id,some words of a row\n";
            let length = buffer.len() / row.len() * row.len();
            buffer[..length]
                .chunks_mut(row.len())
                .for_each(|part| part.copy_from_slice(row));
            self.0 += length as u64;
            Ok(length)
        }
    }
    let mut endless = Endless(0);
    let taken = Rows::new(&mut endless)
        .unwrap()
        .take(100_000)
        .filter(Result::is_ok)
        .count();
    assert_eq!(taken, 100_000);
    let needed = 100_001 * 23 + SAMPLE_BYTES + (16 << 10);
    assert!(endless.0 <= needed, "{} of {needed} bytes", endless.0);
}
