use super::*;

const ALL: Rules = Rules {
    skipped: &["script", "nav"],
    shown: false,
};
const SHOWN: Rules = Rules { shown: true, ..ALL };

fn divs(depth: usize, tag: &str) -> String {
    format!(
        "{}text{}",
        format!("<{tag}>").repeat(depth),
        format!("</{tag}>").repeat(depth)
    )
}

#[test]
fn a_page_says_what_it_is_and_where() {
    let html = "<head><title> Kettles \n &amp; pots </title><meta property='og:url' content='https://b.example'>\
        <link rel='shortlink Canonical' href='https://a.example/k'></head>\
        <body><h1>All <b>about</b> pots</h1><svg><title>drawing</title></svg></body>";
    let page = read(html, ALL).unwrap();
    assert_eq!(page.title.as_deref(), Some("Kettles & pots"));
    assert_eq!(page.heading.as_deref(), Some("All about pots"));
    assert_eq!(page.url.as_deref(), Some("https://a.example/k"));
    assert_eq!(page.markdown, "# All **about** pots");
    let without = read(
        "<title> </title><meta property='og:url' content='https://b.example'>text",
        ALL,
    )
    .unwrap();
    assert_eq!((without.title, without.heading), (None, None));
    assert_eq!(without.url.as_deref(), Some("https://b.example"));
}

#[test]
fn what_is_not_shown_is_left_out_where_asked() {
    let html = "<nav>Home</nav><script>x()</script><p>See <a href='https://a.example'>there</a>.</p><p hidden>No.</p>";
    assert_eq!(
        read(html, ALL).unwrap().markdown,
        "See [there](https://a.example).\n\nNo."
    );
    assert_eq!(read(html, SHOWN).unwrap().markdown, "See there.");
}

#[test]
fn the_main_part_is_read_alone_unless_it_is_an_empty_frame() {
    let long = "It boils water in three minutes. ".repeat(10);
    let html = format!("<body><div>Buy now</div><main><p>{long}</p></main></body>");
    assert!(!read(&html, SHOWN).unwrap().markdown.contains("Buy now"));
    assert!(read(&html, ALL).unwrap().markdown.contains("Buy now"));
    let html = format!("<body><main>Loading</main><p>{long}</p></body>");
    assert!(read(&html, SHOWN).unwrap().markdown.contains("boils"));
}

#[test]
fn depth_is_refused_and_does_not_end_the_process() {
    assert_eq!(read(&divs(400, "section"), ALL).unwrap().markdown, "text");
    assert_eq!(read(&divs(MAX_DEPTH + 1, "section"), ALL), Err(HtmlError::TooDeep));
    assert_eq!(read(&divs(200_000, "section"), ALL), Err(HtmlError::TooDeep));
    assert_eq!(read(&divs(5_000, "div"), ALL).unwrap().markdown, "text", "one box");
    assert_eq!(
        read(&divs(200_000, "div"), ALL),
        Err(HtmlError::TooDeep),
        "too deep to parse"
    );
    // Elements that nobody closes do not nest.
    assert!(read(&"<p>one<br>".repeat(5_000), ALL).unwrap().markdown.contains("one"));
}
