//! Documents read back.

use emend_proto::v1::{GetDocumentRequest, GetDocumentResponse, ListDocumentsRequest};
use tonic::{Code, Status};

use super::*;

impl Running {
    async fn read_back(&mut self, request: GetDocumentRequest) -> Result<GetDocumentResponse, Status> {
        self.client.get_document(request).await.map(tonic::Response::into_inner)
    }
}

fn of(document: &str) -> GetDocumentRequest {
    GetDocumentRequest {
        document_id: document.to_owned(),
        ..GetDocumentRequest::default()
    }
}

/// Sections with characters of one to four bytes, so that code points and bytes differ.
fn prose() -> String {
    let sentences = |section: usize| {
        let sentence = |n: usize| format!("Satz {n} im Kapitel {section} über Gebühren, 요금 und 🦀. ");
        (0..40).map(sentence).collect::<String>()
    };
    (1..=6)
        .map(|section| format!("# Kapitel {section}\n\n{}\n\n", sentences(section)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_is_read_back_with_each_passage_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let text = prose();
    let characters: Vec<char> = text.chars().collect();
    let mut stored = document("handbook.md", &text);
    stored.format = emend_proto::v1::DocumentFormat::Markdown.into();
    stored.title = "Handbuch".to_owned();
    stored.owner = "shelf.jsonl".to_owned();
    stored.metadata = [("lang".to_owned(), "de".to_owned())].into();
    retriever.store([stored]).await;

    for parents in [None, Some(true), Some(false)] {
        let mut request = of("handbook.md");
        request.parents = parents;
        request.page_size = Some(2);
        let (mut passages, mut pages, mut total) = (Vec::new(), 0, usize::MAX);
        loop {
            let page = retriever.read_back(request.clone()).await.unwrap();
            assert!(!page.passages.is_empty() && page.passages.len() <= 2);
            let described = page.document.unwrap();
            assert_eq!(
                (described.title.as_str(), described.owner.as_str()),
                ("Handbuch", "shelf.jsonl")
            );
            assert_eq!(page.metadata["lang"], "de");
            total = total.min(page.total_passages as usize);
            passages.extend(page.passages);
            pages += 1;
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
        assert!(pages > 1 && passages.len() == total, "{pages} pages, {total} passages");
        let (mut covered, mut headed) = (vec![false; characters.len()], 0);
        for (index, passage) in passages.iter().enumerate() {
            let letter = if parents == Some(false) { 'c' } else { 'p' };
            assert_eq!(passage.id, format!("handbook.md#{letter}{index}"));
            let span = passage.span.unwrap();
            let range = span.start as usize..span.end as usize;
            let there: String = characters[range.clone()].iter().collect();
            assert_eq!(there, passage.text, "{}", passage.id);
            let before: String = characters[..range.start].iter().collect();
            let chapter = before.matches("# Kapitel").count();
            let above = match passage.text.starts_with("# Kapitel") {
                true => Vec::new(),
                false => vec![format!("Kapitel {chapter}")],
            };
            assert_eq!(passage.headings, above, "{}", passage.id);
            headed += above.len();
            covered[range].fill(true);
        }
        // A chapter is a section, of several chunks.
        assert_eq!(headed > 0, parents == Some(false), "{parents:?}");
        let lost = characters
            .iter()
            .zip(&covered)
            .filter(|(c, covered)| !**covered && !c.is_whitespace());
        // A heading by itself is nothing to find.
        assert!(lost.count() == 0 || parents == Some(false), "{parents:?}");
    }

    // What a search finds is what is read back.
    let found = retriever
        .retrieve(RetrieveRequest {
            query: "Gebühren im Kapitel 3".to_owned(),
            ..RetrieveRequest::default()
        })
        .await;
    let whole = retriever.read_back(of("handbook.md")).await.unwrap();
    let same = whole.passages.iter().find(|passage| passage.id == found[0].id).unwrap();
    let shown = (&found[0].text, found[0].span, &found[0].headings);
    assert_eq!((&same.text, same.span, &same.headings), shown);
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_document_stays_below_the_size_of_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &["--chunk-tokens", "256"]).await;
    let text: String = (0..95_000)
        .map(|n| format!("word{n} is followed by others here. "))
        .collect();
    retriever.store([document("large", &text)]).await;
    let mut request = of("large");
    request.page_size = Some(1000);
    let (mut read, mut pages) = (0, 0);
    loop {
        let page = retriever.read_back(request.clone()).await.unwrap();
        let bytes = prost_size(&page);
        assert!(bytes < 4 << 20, "{bytes} bytes");
        read += page.passages.len();
        pages += 1;
        if page.next_page_token.is_empty() {
            assert_eq!(read, page.total_passages as usize);
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert!(pages > 1, "{read} passages in {pages} page");
    retriever.stop().await;
}

fn prost_size(page: &GetDocumentResponse) -> usize {
    let text: usize = page
        .passages
        .iter()
        .map(|passage| passage.text.len() + passage.id.len() + 32)
        .sum();
    text + page.next_page_token.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_said_with_what_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let refused = retriever.read_back(of("a")).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    assert!(refused.message().contains("\"default\""), "{}", refused.message());

    retriever
        .store([document("leave.md", "words"), document("travel.md", "words")])
        .await;
    let refused = retriever.read_back(of("leaves.md")).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    let message = refused.message();
    assert!(
        message.contains("leave.md, travel.md") && message.contains("did you mean `leave.md`?"),
        "{message}"
    );
    let refused = retriever.read_back(of("leave.md#p0")).await.unwrap_err();
    assert!(
        refused.message().contains("ask for the document \"leave.md\""),
        "{}",
        refused.message()
    );

    let mut odd = of("");
    odd.page_size = Some(1001);
    odd.page_token = "mañana".to_owned();
    odd.collection = "../etc".to_owned();
    let refused = retriever.read_back(odd).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    for field in ["collection", "document_id", "page_size", "page_token"] {
        assert!(refused.message().contains(field), "{field}: {}", refused.message());
    }
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_replaced_between_pages_is_no_mixture() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    retriever.store([document("a", &prose())]).await;
    let mut request = of("a");
    request.page_size = Some(1);
    let page = retriever.read_back(request.clone()).await.unwrap();
    request.page_token = page.next_page_token;
    retriever
        .store([document("a", &prose().replace("Satz", "Zeile"))])
        .await;
    let refused = retriever.read_back(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("begin again"), "{}", refused.message());
    retriever.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_tells_the_owner_and_another_owner_is_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let mut retriever = Running::start(folder.path(), &[]).await;
    let owned = |owner: &str| Document {
        owner: owner.to_owned(),
        ..document("a", "words")
    };
    retriever.store([owned("one.jsonl"), document("b", "words")]).await;
    let again = retriever.ingest([owned("one.jsonl"), document("b", "words")]).await;
    assert!(again.iter().all(|answer| answer.status() == IngestStatus::Unchanged));
    retriever.store([owned("two.jsonl")]).await;
    let listed = retriever
        .client
        .list_documents(ListDocumentsRequest::default())
        .await
        .unwrap();
    let owners: Vec<String> = listed
        .into_inner()
        .documents
        .into_iter()
        .map(|document| document.owner)
        .collect();
    assert_eq!(owners, ["two.jsonl", ""]);

    let refused = retriever.ingest([owned("line\nbreak")]).await;
    assert!(refused[0].error.contains("document.owner"), "{}", refused[0].error);
    retriever.stop().await;
}
