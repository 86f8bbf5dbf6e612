use super::*;

fn document(id: &str, content: impl Into<Vec<u8>>) -> Document {
    Document {
        id: id.into(),
        content: content.into(),
        ..Document::default()
    }
}

#[test]
fn the_extension_decides_unless_the_format_is_given() {
    let mut page = document("a.txt", "<p>one</p>");
    assert_eq!(extract(&page, &|| false).unwrap().text, "<p>one</p>");
    page.set_format(DocumentFormat::Html);
    assert_eq!(extract(&page, &|| false).unwrap().text, "one");
    page.set_format(DocumentFormat::Unspecified);
    page.source = "b.html".into();
    assert_eq!(extract(&page, &|| false).unwrap().text, "one");
}

#[test]
fn every_format_of_the_contract_has_its_reader() {
    let formats: Vec<DocumentFormat> = (0..)
        .map_while(|number| DocumentFormat::try_from(number).ok())
        .collect();
    assert_eq!(formats.len(), 20);
    for known in formats {
        // The words of a name begin with capitals in the contract and differ otherwise.
        let name = known
            .as_str_name()
            .trim_start_matches("DOCUMENT_FORMAT_")
            .to_lowercase();
        let read = format(known).map(|format| format.to_string().to_lowercase().replace(' ', "_").replace('-', ""));
        assert_eq!(read.unwrap_or_else(|| "unspecified".to_owned()), name);
    }
}
