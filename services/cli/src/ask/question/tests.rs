use super::*;

fn read_from(word: &str, input: &[u8]) -> Result<String, String> {
    read(word.to_owned(), input)
}

#[test]
fn a_dash_reads_standard_input_and_any_other_word_is_the_question() {
    assert_eq!(read_from("-", b"Why?\n"), Ok("Why?".to_owned()));
    assert_eq!(read_from("Why?", b"not read"), Ok("Why?".to_owned()));
}

#[test]
fn what_is_no_question_is_refused_with_what_to_do() {
    for (word, input) in [("", &b""[..]), (" ", b""), ("-", b""), ("-", b" \n\n")] {
        let error = read_from(word, input).unwrap_err();
        assert!(error.contains("the question is empty: give it"), "{error}");
    }
    let error = read_from("-", b"caf\xe9").unwrap_err();
    assert!(error.contains("not UTF-8"), "{error}");
}

#[test]
fn a_question_may_be_as_long_as_the_limit_and_no_longer() {
    let longest = "a".repeat(MAX_QUESTION_BYTES);
    assert_eq!(read_from("-", format!("{longest}\r\n").as_bytes()).unwrap(), longest);
    for input in [format!("{longest}a"), "等".repeat(MAX_QUESTION_BYTES)] {
        assert!(read_from("-", input.as_bytes()).unwrap_err().contains("longer than"));
        assert!(read_from(&input, b"").unwrap_err().contains("longer than"));
    }
    // What follows is not read.
    let endless = io::repeat(b'a');
    assert!(read("-".to_owned(), endless).unwrap_err().contains("longer than"));
}
