//! Files that tests build in code.

use std::io::{Cursor, Write as _};

use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// An archive of parts.
pub(crate) fn package(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        let method = match *name {
            "mimetype" => CompressionMethod::Stored,
            _ => CompressionMethod::Deflated,
        };
        archive
            .start_file(*name, SimpleFileOptions::default().compression_method(method))
            .unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

const TYPES: &str = r#"<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/></Types>"#;

fn relationships(items: &[(&str, &str, &str)]) -> String {
    let items: String = items
        .iter()
        .map(|(id, kind, target)| {
            format!(
                r#"<Relationship Id="{id}" Target="{target}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}"/>"#
            )
        })
        .collect();
    format!(
        r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{items}</Relationships>"#
    )
}

/// A document of Word with this body.
pub(crate) fn docx(body: &str) -> Vec<u8> {
    let document = format!(
        r#"<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><w:body>{body}</w:body></w:document>"#
    );
    let styles = r#"<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">
<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style></w:styles>"#;
    package(&[
        ("[Content_Types].xml", TYPES.as_bytes()),
        (
            "_rels/.rels",
            relationships(&[("r1", "officeDocument", "word/document.xml")]).as_bytes(),
        ),
        (
            "word/_rels/document.xml.rels",
            relationships(&[("r1", "styles", "styles.xml")]).as_bytes(),
        ),
        ("word/styles.xml", styles.as_bytes()),
        ("word/document.xml", document.as_bytes()),
    ])
}

/// A workbook with one sheet of these rows.
pub(crate) fn xlsx(name: &str, rows: &str) -> Vec<u8> {
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let workbook = format!(
        r#"<workbook xmlns="{main}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="{name}" sheetId="1" r:id="r1"/></sheets></workbook>"#
    );
    let sheet = format!(r#"<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>"#);
    package(&[
        ("[Content_Types].xml", TYPES.as_bytes()),
        (
            "_rels/.rels",
            relationships(&[("r1", "officeDocument", "xl/workbook.xml")]).as_bytes(),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            relationships(&[("r1", "worksheet", "worksheets/sheet1.xml")]).as_bytes(),
        ),
        ("xl/workbook.xml", workbook.as_bytes()),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
    ])
}

/// A presentation whose slides have a title and a line.
pub(crate) fn pptx(slides: &[(&str, &str)]) -> Vec<u8> {
    let main = r#"xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships""#;
    let shape = |kind: &str, text: &str| {
        format!(
            r#"<p:sp><p:nvSpPr><p:cNvPr id="2" name="s"/><p:cNvSpPr/><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"#
        )
    };
    let mut parts = vec![
        ("[Content_Types].xml".to_owned(), TYPES.to_owned()),
        (
            "_rels/.rels".to_owned(),
            relationships(&[("r1", "officeDocument", "ppt/presentation.xml")]),
        ),
    ];
    let (mut ids, mut targets) = (String::new(), Vec::new());
    for (index, (title, line)) in slides.iter().enumerate() {
        ids.push_str(&format!(r#"<p:sldId id="{}" r:id="r{index}"/>"#, 256 + index));
        targets.push((format!("r{index}"), format!("slides/slide{index}.xml")));
        let slide = format!(
            r#"<p:sld {main}><p:cSld><p:spTree>{}{}</p:spTree></p:cSld></p:sld>"#,
            shape("title", title),
            shape("body", line)
        );
        parts.push((format!("ppt/slides/slide{index}.xml"), slide));
    }
    let items: Vec<_> = targets
        .iter()
        .map(|(id, target)| (id.as_str(), "slide", target.as_str()))
        .collect();
    parts.push(("ppt/_rels/presentation.xml.rels".to_owned(), relationships(&items)));
    parts.push((
        "ppt/presentation.xml".to_owned(),
        format!(r#"<p:presentation {main}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>"#),
    ));
    let parts: Vec<_> = parts
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_bytes()))
        .collect();
    package(&parts)
}

/// An OpenDocument package of a kind (`text`, `spreadsheet`, `presentation`) with this content.
pub(crate) fn opendocument(kind: &str, content: &str) -> Vec<u8> {
    let content = format!(
        r#"<?xml version="1.0"?><office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:style="s" xmlns:draw="d" xmlns:presentation="p" xmlns:xlink="x">{content}</office:document-content>"#
    );
    package(&[
        (
            "mimetype",
            format!("application/vnd.oasis.opendocument.{kind}").as_bytes(),
        ),
        ("content.xml", content.as_bytes()),
    ])
}
