use super::*;
use crate::fixtures::package;

#[test]
fn a_package_is_told_by_its_parts() {
    let kind = |name: &str| format!("application/vnd.oasis.opendocument.{name}");
    for (parts, format) in [
        (vec![("mimetype", kind("text"))], Some(Format::Odt)),
        (vec![("mimetype", kind("spreadsheet-template"))], Some(Format::Ods)),
        (
            vec![("mimetype", "application/epub+zip\n".to_owned())],
            Some(Format::Epub),
        ),
        (vec![("mimetype", kind("graphics"))], None),
        (
            vec![
                ("[Content_Types].xml", String::new()),
                ("ppt/presentation.xml", String::new()),
            ],
            Some(Format::Pptx),
        ),
        (vec![("word/document.xml", String::new())], None),
    ] {
        let parts: Vec<_> = parts
            .iter()
            .map(|(name, content)| (*name, content.as_bytes()))
            .collect();
        let bytes = package(&parts);
        assert_eq!(
            Package::open(Cursor::new(&bytes)).unwrap().format(),
            format,
            "{parts:?}"
        );
    }
}
