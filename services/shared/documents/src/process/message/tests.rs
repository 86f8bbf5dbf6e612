use super::*;

#[test]
fn what_is_told_and_answered_arrives() {
    let message = [&encode_request(Format::Pdf, "é.pdf")[..], b"%PDF"].concat();
    assert_eq!(request(&message), Some((Format::Pdf, "é.pdf", &b"%PDF"[..])));
    let page = |number, start| PageStart { number, start };
    for (title, pages) in [(None, vec![]), (Some("Tides"), vec![page(1, 0), page(3, 70_000)])] {
        let read = Extracted {
            text: "# é".to_owned(),
            title: title.map(str::to_owned),
            markdown: true,
            pages,
        };
        assert_eq!(answer(&encode_answer(&Ok(read.clone()))), Some(Ok(read)));
    }
    let told = answer(&encode_answer(&Err(DocumentError::Encrypted)))
        .unwrap()
        .unwrap_err();
    assert_eq!(told.to_string(), DocumentError::Encrypted.to_string());
}

#[test]
fn what_broke_off_is_no_answer() {
    let read = Extracted {
        title: Some("Tides".to_owned()),
        ..Extracted::default()
    };
    let whole = encode_answer(&Ok(read));
    for length in 0..whole.len() {
        assert_eq!(answer(&whole[..length]), None, "{length}");
        // Neither panics, whatever the bytes are.
        drop((answer(&whole[length..]), request(&whole[length..])));
    }
    assert_eq!(request(&[255, 0, 0, 0, 0]), None);
}

#[test]
fn every_format_has_a_number() {
    let known: Vec<Format> = (0..).map_while(Format::of_number).collect();
    assert!(known.contains(&Format::Pdf) && known.contains(&Format::Toml));
    assert!(
        known
            .iter()
            .enumerate()
            .all(|(number, format)| usize::from(format.number()) == number)
    );
}
