use super::*;
use crate::fixtures::opendocument;

fn read(kind: &str, format: Format, content: &str) -> Extracted {
    extract(format, &opendocument(kind, content), Bounds::new(&|| false)).unwrap()
}

#[test]
fn a_text_becomes_headings_lists_tables_and_code() {
    let text = read(
        "text",
        Format::Odt,
        r##"<office:automatic-styles><style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/></office:automatic-styles>
        <office:body><office:text><text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>
        <text:p text:style-name="Title">Facility   guide</text:p><text:h text:outline-level="2">Access</text:h>
        <text:p>Open from 06:00<text:line-break/>to<text:s text:c="2"/>22:00 &amp; <text:a xlink:href="https://x.org">later</text:a>.</text:p>
        <text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>two</text:p></text:list-item></text:list></text:list-item></text:list>
        <text:p text:style-name="P1">let a;</text:p><text:p text:style-name="P1">let b;</text:p>
        <table:table><table:table-row><table:table-cell><text:p>Room</text:p></table:table-cell><table:table-cell><text:p>Seats</text:p></table:table-cell></table:table-row>
        <table:table-row><table:table-cell><text:p>Havel</text:p></table:table-cell><table:table-cell><text:p>12</text:p></table:table-cell></table:table-row></table:table>
        <text:p>Noted<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>aside</text:p></text:note-body></text:note> here.</text:p>
        </office:text></office:body>"##,
    );
    assert_eq!(
        text.text,
        "# Facility guide\n\n## Access\n\nOpen from 06:00\nto  22:00 & [later](https://x.org).\n\n- one\n   - two\n\n\
         ```\nlet a;\nlet b;\n```\n\n| Room | Seats |\n| --- | --- |\n| Havel | 12 |\n\nNoted (aside) here."
    );
}

#[test]
fn a_spreadsheet_becomes_its_sheets() {
    let sheet = read(
        "spreadsheet",
        Format::Ods,
        r#"<table:table table:name="Stock"><table:table-row><table:table-cell><text:p>Article</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2"/><table:table-cell><text:p>Shelf</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16380"/></table:table-row>
        <table:table-row table:number-rows-repeated="2"><table:table-cell><text:p>Case</text:p></table:table-cell></table:table-row>
        <table:table-row table:number-rows-repeated="1048573"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>
        <table:table table:name="Empty"/>"#,
    );
    assert_eq!(
        sheet.text,
        "# Stock\n\n| Article |  |  | Shelf |\n| --- | --- | --- | --- |\n| Case |  |  |  |\n| Case |  |  |  |\n\n# Empty"
    );
}

#[test]
fn a_presentation_becomes_its_slides() {
    let deck = read(
        "presentation",
        Format::Odp,
        r#"<draw:page><draw:frame presentation:class="title"><text:p>Goals</text:p></draw:frame><draw:frame presentation:class="outline"><text:list><text:list-item><text:p>grow</text:p></text:list-item></text:list></draw:frame><presentation:notes><draw:frame><text:p>be brief</text:p></draw:frame></presentation:notes></draw:page>
        <draw:page><draw:frame><text:p>Thanks</text:p></draw:frame></draw:page>"#,
    );
    assert_eq!(
        deck.text,
        "# Slide 1: Goals\n\n- grow\n\nNotes: be brief\n\n# Slide 2\n\nThanks"
    );
    let places: Vec<_> = deck
        .pages
        .iter()
        .map(|page| (page.number, &deck.text[page.start..]))
        .collect();
    assert!(
        places[0].1.starts_with("# Slide 1") && places[1].1.starts_with("# Slide 2"),
        "{places:?}"
    );
}
