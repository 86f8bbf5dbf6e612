//! Small PDFs.

/// A PDF of these pages, each of some lines of text.
#[must_use]
pub fn pdf(pages: &[&str]) -> Vec<u8> {
    let contents: Vec<String> = pages
        .iter()
        .map(|lines| {
            let lines: String = lines.lines().map(|line| format!("({line}) Tj 0 -40 Td ")).collect();
            format!("BT /F1 12 Tf 72 720 Td {lines}ET")
        })
        .collect();
    pdf_of(&contents)
}

/// A PDF with these content streams, one a page. `/F1` is Helvetica.
#[must_use]
pub fn pdf_of(contents: &[String]) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len())
        .map(|index| format!("{} 0 R", 4 + 2 * index))
        .collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {} >>",
            kids.join(" "),
            contents.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (index, content) in contents.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents {} 0 R >>",
            5 + 2 * index
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    pdf_file(&objects)
}

/// A PDF of these objects, numbered from 1; the first is the catalogue.
#[must_use]
pub fn pdf_file(objects: &[String]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend(format!("{} 0 obj\n{object}\nendobj\n", index + 1).bytes());
    }
    let start = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    file.extend(
        format!(
            "trailer << /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n",
            objects.len() + 1
        )
        .bytes(),
    );
    file
}
