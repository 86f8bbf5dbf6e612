use emend_proto::v1::{ChatMessage, Passage};

use super::*;
use crate::queries::normalized;

fn passage(text: &str) -> Passage {
    Passage {
        text: text.to_owned(),
        ..Passage::default()
    }
}

fn request(purpose: RewritePurpose, question: &str) -> RewriteRequest {
    RewriteRequest {
        question: question.to_owned(),
        failed_queries: vec![question.to_owned()],
        purpose: purpose.into(),
        passages: vec![
            passage("The boiler of the mill burns pellets from Larchwood."),
            passage("Old mills have wheels."),
        ],
        ..RewriteRequest::default()
    }
}

fn rewritten(request: &RewriteRequest) -> String {
    let scope = Scope {
        deadline: emend_core::Deadline::after(std::time::Duration::from_secs(600)),
        cancel: tokio_util::sync::CancellationToken::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime
        .block_on(KeywordBackend.rewrite(request.clone(), scope))
        .unwrap()
        .query
}

/// Marks every query as failed until no new one is returned, at most `most` times.
fn exhausted(mut request: RewriteRequest, most: usize) -> Vec<String> {
    let mut offered = Vec::new();
    while offered.len() < most {
        let query = rewritten(&request);
        if query.is_empty() {
            break;
        }
        request.failed_queries.push(query.clone());
        offered.push(query);
    }
    offered
}

#[test]
fn keywords_come_first_then_terms_of_the_passages_then_fewer() {
    let offered = exhausted(
        request(
            RewritePurpose::Retrieval,
            "When was the boiler in the old mill installed?",
        ),
        4,
    );
    assert_eq!(offered[0], "boiler old mill installed");
    assert!(
        offered[1].starts_with("boiler old mill installed ") && offered[1].contains("Larchwood"),
        "{offered:?}"
    );
    assert!(
        offered[2].starts_with("boiler old mill installed ") && !offered[2].contains("Larchwood"),
        "{offered:?}"
    );
    assert!(
        offered[3].split(' ').count() < 4 && offered[3].contains("installed"),
        "{offered:?}"
    );
}

#[test]
fn names_numbers_and_quotes_lead_for_documents_and_keep_their_order_for_the_web() {
    let question = "Which song did Nina Holt release after \"Blue Rain\" in 1984?";
    assert_eq!(
        rewritten(&request(RewritePurpose::Retrieval, question)),
        "Blue Rain Nina Holt 1984 song release"
    );
    assert_eq!(
        rewritten(&request(RewritePurpose::WebSearch, question)),
        "song Nina Holt release Blue Rain 1984"
    );
}

#[test]
fn no_failed_query_is_repeated_and_the_end_is_empty() {
    for (purpose, question) in [
        (
            RewritePurpose::Retrieval,
            "When was the boiler in the old mill installed?",
        ),
        (
            RewritePurpose::WebSearch,
            "When was the boiler in the old mill installed?",
        ),
        (RewritePurpose::Retrieval, "오래된 방앗간의 보일러는 언제 설치되었나요?"),
        (
            RewritePurpose::Retrieval,
            "古い水車小屋のボイラーはいつ設置されましたか？",
        ),
        (RewritePurpose::WebSearch, "旧磨坊的锅炉是什么时候安装的？"),
        (RewritePurpose::Retrieval, "What is it?"),
    ] {
        let request = request(purpose, question);
        let offered = exhausted(request.clone(), 500);
        assert!(offered.len() < 500, "{question}: it never ends");
        let mut keys: Vec<_> = offered
            .iter()
            .chain(&request.failed_queries)
            .map(|query| normalized(query))
            .collect();
        keys.sort();
        assert!(
            keys.is_sorted_by(|a, b| a < b),
            "{question}: a query came twice in {offered:?}"
        );
    }
}

#[test]
fn case_and_spacing_of_a_failed_query_do_not_matter() {
    let mut request = request(
        RewritePurpose::Retrieval,
        "When was the boiler in the old mill installed?",
    );
    request
        .failed_queries
        .push(" BOILER  old\tMILL ｉｎｓｔａｌｌｅｄ".to_owned());
    assert_ne!(
        normalized(&rewritten(&request)),
        normalized("boiler old mill installed")
    );
}

#[test]
fn queries_come_from_the_question_and_not_from_a_failed_rewrite() {
    let mut request = request(
        RewritePurpose::Retrieval,
        "When was the boiler in the old mill installed?",
    );
    request.passages.clear();
    request.failed_queries.push("submarine engine age".to_owned());
    for query in exhausted(request, 500) {
        assert!(
            ["boiler", "old", "mill", "installed"]
                .iter()
                .any(|word| query.contains(word)),
            "{query}"
        );
        assert!(!query.contains("submarine") && !query.contains("engine"), "{query}");
    }
}

#[test]
fn an_hour_long_question_gives_a_short_query() {
    let question = (0..800).map(|n| format!("keyword{n}")).collect::<Vec<_>>().join(" ");
    let query = rewritten(&request(RewritePurpose::Retrieval, &question));
    assert!(query.split(' ').count() <= 12, "{query}");
}

#[test]
fn condensing_ignores_failed_queries() {
    use emend_proto::v1::chat_message::Role;
    let turn = |role: Role, content: &str| ChatMessage {
        role: role.into(),
        content: content.to_owned(),
    };
    let request = RewriteRequest {
        failed_queries: Vec::new(),
        history: vec![
            turn(Role::User, "Where is the old mill?"),
            turn(Role::Assistant, "By the river."),
        ],
        ..request(RewritePurpose::Condense, "Who built it?")
    };
    let offered = exhausted(request, 3);
    assert_eq!(offered, ["Who built it? (old, mill)"; 3]);
}

#[test]
fn a_question_that_is_one_phrase_still_has_another_query() {
    for question in [
        "蒸汽機車於哪年用木炭作為燃料？",
        "蒸汽機車用木炭作為燃料嗎",
        "全國鐵路聯盟",
    ] {
        let mut request = request(RewritePurpose::WebSearch, question);
        request.passages.clear();
        assert!(exhausted(request, 500).len() >= 2, "{question}");
    }
}
