use emend_proto::v1::Passage;

use super::*;

fn request(question: &str, failed: &[&str], passages: &[&str]) -> Arc<RewriteRequest> {
    Arc::new(RewriteRequest {
        question: question.to_owned(),
        failed_queries: failed.iter().map(|query| (*query).to_owned()).collect(),
        passages: passages
            .iter()
            .map(|text| Passage {
                text: (*text).to_owned(),
                ..Passage::default()
            })
            .collect(),
        ..RewriteRequest::default()
    })
}

#[tokio::test]
async fn terms_beside_the_questions_words_come_first() {
    let passages = [
        "Lunch is at noon. The boiler burns pellets from Larchwood.",
        "The boiler is old. Gardening helps.",
    ];
    let found = expansion(&request("Why does the boiler smell?", &[], &passages))
        .await
        .unwrap();
    assert_eq!(found[0], "Larchwood");
    let place = |term: &str| found.iter().position(|found| found == term).unwrap();
    assert!(
        place("pellets") < place("Lunch") && !found.contains(&"boiler".to_owned()),
        "{found:?}"
    );
}

#[tokio::test]
async fn times_and_ids_of_a_log_are_not_searched_for() {
    let passages = ["2026-03-02T09:14:55Z INFO boiler started by Larchwood version=2.4.0"];
    let found = expansion(&request("Why does the boiler smell?", &[], &passages))
        .await
        .unwrap();
    assert!(found.contains(&"Larchwood".to_owned()), "{found:?}");
    assert!(found.iter().all(|term| !term.contains("2026")), "{found:?}");
}

#[tokio::test]
async fn failed_terms_are_not_suggested_again() {
    let passages = ["The boiler burns pellets from Larchwood."];
    let asked = request("Why does the boiler smell?", &["boiler larchwood"], &passages);
    let found = expansion(&asked).await.unwrap();
    assert!(
        !found.contains(&"Larchwood".to_owned()) && found.contains(&"pellets".to_owned()),
        "{found:?}"
    );
}

#[tokio::test]
async fn it_works_in_korean_japanese_and_chinese() {
    for (question, passage, expected) in [
        ("보일러는 왜 냄새가 나나요?", "보일러는 목재펠릿을 태운다.", "목재펠릿"),
        (
            "ボイラーはなぜ臭うのですか",
            "ボイラーは木質ペレットを燃やす。",
            "木質ペレット",
        ),
        ("锅炉为什么有味道？", "锅炉的燃料是木屑颗粒。", "木屑颗粒"),
    ] {
        let found = expansion(&request(question, &[], &[passage])).await.unwrap();
        assert!(found.contains(&expected.to_owned()), "{question}: {found:?}");
    }
}

#[tokio::test]
async fn a_long_passage_is_read_up_to_a_limit() {
    let long = "물".repeat(20_000);
    assert!(start(&long).len() <= READ_BYTES);
    assert!(expansion(&request("q", &[], &[])).await.unwrap().is_empty());
}
