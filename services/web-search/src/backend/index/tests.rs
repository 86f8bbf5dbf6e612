use std::time::SystemTime;

use url::Url;

use super::*;

fn index(pages: &[(&str, &str)]) -> Index {
    let pages = pages.iter().enumerate().map(|(number, (title, text))| {
        let url = Url::parse(&format!("https://example.com/{number}")).unwrap();
        Arc::new(Page {
            domain: None,
            url,
            title: (*title).to_owned(),
            text: (*text).to_owned(),
            saved: SystemTime::UNIX_EPOCH,
            metadata: HashMap::new(),
        })
    });
    Index::build(pages, 1500, &CancellationToken::new()).unwrap()
}

fn titles<'a>(index: &'a Index, query: &str) -> Vec<&'a str> {
    index
        .search(query, |_| true)
        .into_iter()
        .map(|hit| hit.window.page.title.as_str())
        .collect()
}

#[test]
fn rare_words_and_short_windows_win() {
    let index = index(&[
        ("A", "The boiler heats the house. The house is old."),
        ("B", "The house has a kettle."),
        (
            "C",
            "The house has a kettle, a boiler, a pump, a lamp, a table, a chair, a bed, a door, a roof and a garden.",
        ),
    ]);
    assert_eq!(titles(&index, "Which boiler?"), ["A", "C"]);
    assert_eq!(titles(&index, "kettles"), ["B", "C"]);
    assert_eq!(titles(&index, "kettle boiler house")[0], "C");
}

#[test]
fn what_shares_no_word_is_not_found() {
    let index = index(&[("A", "The boiler heats the house.")]);
    assert!(titles(&index, "the violin of the").is_empty());
    assert!(titles(&index, "?!").is_empty());
    assert!(Index::default().search("boiler", |_| true).is_empty());
}

#[test]
fn the_title_counts() {
    let index = index(&[("Kettles", "Fill it and switch it on."), ("Lamps", "Switch it on.")]);
    assert_eq!(titles(&index, "kettle"), ["Kettles"]);
}

#[test]
fn chinese_japanese_and_korean_are_searched() {
    let index = index(&[
        ("ko", "부산은 대한민국에서 두 번째로 큰 도시이다."),
        ("ja", "富士山は日本で一番高い山である。"),
        ("zh", "长江是亚洲最长的河流。"),
    ]);
    assert_eq!(titles(&index, "대한민국의 도시")[0], "ko");
    assert_eq!(titles(&index, "日本で一番高い山は何ですか")[0], "ja");
    assert_eq!(titles(&index, "亚洲最长的河流是什么？")[0], "zh");
}
