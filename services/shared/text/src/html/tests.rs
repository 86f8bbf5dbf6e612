use super::*;

mod hostile;

fn read(html: &str, rules: Rules) -> Result<Page, HtmlError> {
    let limits = Limits {
        bytes: 32 << 20,
        stop: &|| false,
    };
    super::read(html, rules, limits)
}

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
fn a_page_says_when_it_was_published() {
    let meta = "<meta property='article:published_time' content=' 2026-03-01T09:30:00+02:00 '>";
    let data =
        "<script type='Application/LD+json'>{\"@type\": \"Article\", \"datePublished\": \"2026-02-02\"}</script>";
    let time = "<p>On <time datetime='2026-01-03'>3 January</time>.";
    for (html, date) in [
        (format!("{time}{data}{meta}"), Some("2026-03-01T09:30:00+02:00")),
        (format!("{time}{data}"), Some("2026-02-02")),
        (format!("{time}<time datetime='2025-01-01'>before</time>"), Some("2026-01-03")),
        (format!("<time datetime='PT2H'>two hours</time>{time}"), Some("2026-01-03")),
        (format!("<nav>{time}</nav>text"), None),
        (format!("{}<meta property='article:published_time' content='soon'>", ""), None),
        (
            "<script type=application/ld+json>[1, {\"@graph\": [{\"name\": \"x\"}, {\"datePublished\": \"2026-02-03T00:00:00Z\"}]}]</script>"
                .to_owned(),
            Some("2026-02-03T00:00:00Z"),
        ),
        // The next data is read where the first has none.
        (format!("<script type=application/ld+json>{{}}</script>{data}"), Some("2026-02-02")),
        ("<script>{\"datePublished\": \"2026-02-02\"}</script>".to_owned(), None),
        ("<script type=application/ld+json>{\"datePublished\": \"2026-02-02\"".to_owned(), None),
        ("<script type=application/ld+json>{\"datePublished\": 2026}</script>".to_owned(), None),
        ("<script type=application/ld+json>{\"datePublished\": \"today\"}</script>".to_owned(), None),
    ] {
        for rules in [ALL, SHOWN] {
            let page = read(&html, rules).unwrap();
            assert_eq!(page.published.as_deref(), date, "{html}");
            assert!(!page.markdown.contains("datePublished"), "{html}");
        }
    }
}

#[test]
fn what_a_page_says_of_its_date_is_bounded() {
    let data = |filler: &str| {
        format!(
            "<script type=application/ld+json>{{\"a\": \"{filler}\", \"datePublished\": \"2026-02-02\"}}</script>text"
        )
    };
    assert!(read(&data(&"a".repeat(60_000)), ALL).unwrap().published.is_some());
    assert!(read(&data(&"a".repeat(70_000)), ALL).unwrap().published.is_none());
    let nested = format!("<script type=application/ld+json>{}</script>text", "[".repeat(60_000));
    assert!(read(&nested, ALL).unwrap().published.is_none());
    let long = format!("<time datetime='2026-01-03T00:00:00[{}]'>x</time>", "a".repeat(100));
    assert!(read(&long, ALL).unwrap().published.is_none());
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

#[test]
fn blocks_lists_tables_and_code_become_markdown() {
    for (html, markdown) in [
        (
            "<h2>Two <i>words</i></h2><p>One\n two.<p>Three<br>four",
            "## Two *words*\n\nOne two.\n\nThree  \nfour",
        ),
        (
            "<ul><li>one<ol start=3><li>a<li>b</ol><li><p>two</p><p>more</p></ul>after",
            "*   one\n    3.  a\n    4.  b\n*   two\n\n    more\n\nafter",
        ),
        ("<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n> \n> b\n\nc"),
        (
            "<table><caption>Prices</caption><tr><th>Size<th>Price<tr><td>1 | 2<td><p>9</p></table>end",
            "Prices\n\n| Size | Price |\n| --- | --- |\n| 1 &#124; 2 | 9 |\n\nend",
        ),
        (
            "<table><tr><th>Size</th><td>1 l</td></tr><tr><th>Price</th><td>9</td><td>10</td></tr></table>",
            "| Size | 1 l | |\n| --- | --- | --- |\n| Price | 9 | 10 |",
        ),
        (
            "<table><tr><td>left<td><table><tr><td>right</table></table>",
            "left\n\nright",
        ),
        (
            "<pre><code class='x language-rust'>\nfn a() {\n    b::&lt;C&gt;()\n}\n</code></pre>",
            "```rust\nfn a() {\n    b::<C>()\n}\n```",
        ),
        (
            "<p>Call <code>a `b` c</code> or <code>d</code>.",
            "Call ``a `b` c`` or `d`.",
        ),
        ("<dl><dt>term<dd>meaning<dt>next</dl>", "term\n\nmeaning\n\nnext"),
        (
            "<p>a <b> bold </b>, <strong>one</strong><b>two</b> <i></i><a href='x(1)' title='a \"t\"'> link </a>.",
            "a **bold** , **onetwo** [link](x\\(1\\) \"a \\\"t\\\"\") .",
        ),
        (
            "a<hr>b<p>1. c</p><p>- d</p><p># e *f* &lt;g&gt;",
            "a\n\n* * *\n\nb\n\n1\\. c\n\n\\- d\n\n\\# e \\*f\\* \\<g>",
        ),
        (
            "<p>one<div>two</div>three<select><option>a<option>b</select>",
            "one\n\ntwo\n\nthree\n\na\n\nb",
        ),
        (
            "<svg><g><path d=''/><title/>x</g></svg>after <textarea>a <b> c</textarea>",
            "xafter\n\na \\<b> c",
        ),
    ] {
        assert_eq!(read(html, ALL).unwrap().markdown, markdown, "{html}");
    }
}

#[test]
fn ends_that_are_missing_or_wrong_lose_no_text() {
    for (html, markdown) in [
        ("<p><b>one<p>two</b>three", "**one**\n\ntwothree"),
        ("<b><div>one</b>two</div>three</b>four", "**onetwo\n\nthree**four"),
        ("</div></p><div><table><tr><td>a</div>b</table>c</div>", "ab\n\nc"),
        ("<a href=1>one<a href=2>two</a></a>", "[one](1)[two](2)"),
        ("<nav><nav>x</nav>y</nav>z", "z"),
        ("<svg><g><p>text</p>", "text"),
        ("<td>cell</td><li>item</li><tr>row", "cell\n\n*   item\n\nrow"),
        ("<p hidden>a<p>b<span hidden>c<span>d</span>e</span>f", "a\n\nbcdef"),
    ] {
        assert_eq!(read(html, ALL).unwrap().markdown, markdown, "{html}");
    }
    let hidden = read("<p hidden>a<p>b<span hidden>c<span>d</span>e</span>f", SHOWN).unwrap();
    assert_eq!(hidden.markdown, "bf");
    let pre = read("<h1>c</h1><pre>a\n  b</pre>c", SHOWN).unwrap();
    assert_eq!(pre.markdown, "# c\n\n```\na\n  b\n```\n\nc");
}
