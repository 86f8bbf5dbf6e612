use super::*;

const CRATES: [&str; 3] = [
    "crates/base64-0.22.1/README.md",
    "crates/base64-0.23.1/README.md",
    "crates/tower-0.5.3/CHANGELOG.md",
];

#[tokio::test]
async fn the_document_that_is_named_most_comes_before_the_others() {
    let gaps = unnamed("minimum rust version base64 0.22", CRATES).await.unwrap();
    assert_eq!(gaps[0], 0.0);
    assert!(0.0 < gaps[1] && gaps[1] < gaps[2] && gaps[2] < 1.0, "{gaps:?}");
    let likely = |gap| less_likely(0.6, gap);
    assert!((likely(gaps[0]) - 0.6).abs() < 1e-12);
    assert!(likely(gaps[1]) > likely(gaps[2]));
    assert_eq!([less_likely(0.0, 0.5), less_likely(1.0, 0.5)], [0.0, 1.0]);
}

#[tokio::test]
async fn where_no_document_is_named_or_all_have_one_name_nothing_changes() {
    for (question, sources) in [
        ("How is a token refreshed?", CRATES),
        ("What is tower for?", ["tower/README.md"; 3]),
        ("What is tower for?", [""; 3]),
        (
            "passenger numbers 2024?",
            ["prices-2024.csv", "prices-2025.csv", "minutes.txt"],
        ),
        ("", CRATES),
        ("of the", CRATES),
    ] {
        assert_eq!(unnamed(question, sources).await.unwrap(), [0.0; 3], "{question}");
    }
    assert_eq!(unnamed("What is tower for?", []).await.unwrap(), [0.0; 0]);
}

#[tokio::test]
async fn names_of_other_scripts_count() {
    let sources = ["保固說明_2024_舊版.md", "保固說明_2026.md"];
    let gaps = unnamed("2024 舊版的保固是幾個月?", sources).await.unwrap();
    assert!(gaps[0] == 0.0 && gaps[1] > 0.2, "{gaps:?}");
}
