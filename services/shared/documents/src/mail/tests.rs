use super::*;

fn read(text: &str) -> Extracted {
    extract(text.replace('\n', "\r\n").as_bytes(), Bounds::new(&|| false)).unwrap()
}

#[test]
fn a_message_is_its_header_and_its_text() {
    let message = read(
        "From: Ada Lovelace <ada@example.org>\nTo: =?utf-8?b?7ZmN6ri464+Z?= <hong@example.org>, bob@example.org\n\
         Date: Tue, 28 Apr 2026 14:07:31 +0200\nSubject: Re: =?utf-8?q?caf=C3=A9?=\nMIME-Version: 1.0\n\
         Content-Type: multipart/mixed; boundary=\"o\"\n\n--o\nContent-Type: multipart/alternative; boundary=\"i\"\n\n\
         --i\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\nIt costs =E2=82=AC5, a=\n bargain.\n\
         --i\nContent-Type: text/html\n\n<p>Never shown</p>\n--i--\n\
         --o\nContent-Type: application/pdf; name=\"offer.pdf\"\nContent-Disposition: attachment; filename=\"offer.pdf\"\n\
         Content-Transfer-Encoding: base64\n\nJVBERg==\n--o--\n",
    );
    assert_eq!(message.title.as_deref(), Some("Re: café"));
    assert_eq!(
        message.text,
        "Subject: Re: café\nFrom: Ada Lovelace <ada@example.org>\nTo: 홍길동 <hong@example.org>, bob@example.org\n\
         Date: 2026-04-28 14:07:31+02:00\n\nIt costs €5, a bargain.\n\nAttachments: offer.pdf\n"
    );
}

#[test]
fn a_body_of_html_is_read_as_a_page() {
    let message = read(
        "From: a@example.org\nSubject: News\nContent-Type: text/html; charset=utf-8\n\n\
         <style>p{}</style><h1>Tides</h1><ul><li>spring<li>neap</ul>",
    );
    assert!(
        message.text.ends_with("\n# Tides\n\n*   spring\n*   neap\n"),
        "{}",
        message.text
    );
}

#[test]
fn a_charset_of_long_ago_is_read() {
    let mut bytes = b"From: a@example.org\r\nSubject: x\r\nContent-Type: text/plain; charset=euc-kr\r\n\r\n".to_vec();
    bytes.extend_from_slice(&encoding_rs::EUC_KR.encode("주차장은 지하 2층").0);
    assert!(
        extract(&bytes, Bounds::new(&|| false))
            .unwrap()
            .text
            .ends_with("\n주차장은 지하 2층\n")
    );
}

#[test]
fn what_is_no_message_is_refused() {
    let refused = extract(b"just words, and no header at all", Bounds::new(&|| false)).unwrap_err();
    assert!(
        refused.to_string().starts_with("it cannot be read as e-mail"),
        "{refused}"
    );
}
