use super::*;

const BOUNDARY: &str = "edge";

/// A part of a form: its name, its file name, its text.
fn part(name: &str, file: Option<&str>, text: &str) -> String {
    let file = file.map(|file| format!("; filename=\"{file}\"")).unwrap_or_default();
    format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{text}\r\n")
}

async fn read(parts: &[String]) -> (Vec<IngestRequest>, Option<Problem>) {
    let form = format!("{}--{BOUNDARY}--\r\n", parts.concat());
    // In pieces as they come from a connection.
    let pieces: Vec<_> = form
        .as_bytes()
        .chunks(1000)
        .map(Bytes::copy_from_slice)
        .map(Ok::<_, String>)
        .collect();
    read_body(Body::from_stream(futures::stream::iter(pieces))).await
}

async fn read_body(body: Body) -> (Vec<IngestRequest>, Option<Problem>) {
    let mut headers = HeaderMap::new();
    let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
    headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
    let (upload, outcome) = Upload::new(&headers, body, &Memory::new(128)).unwrap();
    let documents = upload.documents().collect().await;
    (documents, outcome.problem())
}

#[tokio::test]
async fn parts_without_a_file_name_say_something_of_those_with_one() {
    let (documents, problem) = read(&[
        part("collection", None, "handbook"),
        part("metadata", None, r#"{"team": "people"}"#),
        part("title", None, "Leave"),
        part("id", None, "leave"),
        part("file", Some("a/leave.md"), "25 days."),
        part("file", Some("b/pay.md"), &"Monthly. ".repeat(1000)),
    ])
    .await;
    assert!(problem.is_none(), "{problem:?}");
    let [first, second] = documents.as_slice() else {
        panic!("{documents:?}")
    };
    assert_eq!(first.collection, "handbook");
    let first = first.document.as_ref().unwrap();
    assert_eq!((first.id.as_str(), first.title.as_str()), ("leave", "Leave"));
    assert_eq!(
        (first.source.as_str(), first.content.as_slice()),
        ("a/leave.md", &b"25 days."[..])
    );
    assert_eq!(second.collection, "handbook");
    let second = second.document.as_ref().unwrap();
    assert_eq!((second.id.as_str(), second.title.as_str()), ("b/pay.md", ""));
    assert_eq!(second.metadata["team"], "people");
    assert_eq!(second.content.len(), 9000);
}

#[tokio::test]
async fn a_wrong_form_says_what_is_wrong() {
    for (parts, said) in [
        (vec![], "no document"),
        (vec![part("colection", None, "x")], "colection"),
        (vec![part("metadata", None, "[1]")], "metadata"),
        (vec![part("title", None, &"x".repeat(MAX_TEXT_BYTES + 1))], "title"),
        (vec![part("id", None, "x"); MAX_TEXT_PARTS + 1], "parts"),
    ] {
        let (documents, problem) = read(&parts).await;
        assert!(documents.is_empty());
        let problem = problem.unwrap();
        assert!(problem.detail.contains(said), "{}", problem.detail);
    }
}

#[tokio::test]
async fn a_document_has_a_largest_size() {
    let large = part("file", Some("large.txt"), &"x".repeat(MAX_DOCUMENT_BYTES + 1));
    let (documents, problem) = read(&[part("file", Some("small.txt"), "x"), large]).await;
    assert_eq!(documents.len(), 1, "what came before is handed on");
    let problem = problem.unwrap();
    assert_eq!(problem.status(), 413);
    assert!(problem.detail.contains("large.txt"), "{}", problem.detail);
}

#[tokio::test]
async fn headers_that_never_end_are_not_read_on() {
    let read_so_far = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&read_so_far);
    let endless = futures::stream::iter(0..).map(move |_| {
        counted.fetch_add(64 * 1024, Ordering::Relaxed);
        Ok::<_, String>(Bytes::from(vec![b'x'; 64 * 1024]))
    });
    let begin = format!("--{BOUNDARY}\r\nContent-Disposition: ");
    let begin = futures::stream::once(async { Ok(Bytes::from(begin)) });
    let (documents, problem) = read_body(Body::from_stream(begin.chain(endless))).await;
    assert!(documents.is_empty());
    assert!(problem.unwrap().detail.contains("headers"), "says why");
    assert!(read_so_far.load(Ordering::Relaxed) < 2 * MAX_UNREAD_BYTES);
}

#[tokio::test]
async fn a_form_that_breaks_off_is_no_whole_form() {
    let text = part("file", Some("a.md"), "text");
    let (_, problem) = read_body(Body::from(text)).await;
    assert!(problem.is_some());
}
