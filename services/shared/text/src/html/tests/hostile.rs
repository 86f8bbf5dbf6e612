//! Pages that a browser, and a reader that keeps a tree, turn into far more than what was written.

use std::cell::Cell;

use emend_fuzz::{damaged, fuzz};
use proptest::prelude::*;

use super::*;

/// What Markdown adds to a text at most: marks, the lines of nested items, the names of columns.
const MOST_TIMES: usize = 60;

/// Reads a page, and holds what is written to a few times what was read.
fn bounded(html: &str) -> Result<Page, HtmlError> {
    let read = read(html, ALL);
    if let Ok(page) = &read {
        let most = MOST_TIMES * html.len() + 100;
        assert!(
            page.markdown.len() <= most,
            "{} bytes of {}",
            page.markdown.len(),
            html.len()
        );
    }
    read
}

#[test]
fn formats_that_nobody_closes_are_not_repeated_in_every_paragraph() {
    let fonts: String = (0..400).map(|number| format!("<font size={number}>")).collect();
    let page = bounded(&(fonts + &"<p>word".repeat(10_000))).unwrap();
    assert_eq!(page.markdown.matches("word").count(), 10_000);
    let marks = "<b><i><code><a href=x>".repeat(100);
    let page = bounded(&(marks + &"<p>word</b>".repeat(10_000))).unwrap();
    assert_eq!(page.markdown.matches("word").count(), 10_000);
}

#[test]
fn one_wide_row_and_one_long_cell_do_not_pad_the_others() {
    let wide = format!("<table><tr>{}", "<th>a".repeat(20_000));
    let page = bounded(&(wide + &"<tr><td>b".repeat(50_000) + "<tr><td>" + &"c".repeat(100_000))).unwrap();
    assert!(page.markdown.ends_with(&format!("| {} |", "c".repeat(100_000))));
}

#[test]
fn attributes_and_elements_are_counted() {
    let attributes = |count: usize| (0..count).map(|number| format!(" a{number}=1")).collect::<String>();
    assert!(bounded(&format!("<p{}>text", attributes(MAX_ATTRIBUTES))).is_ok());
    let (what, limit) = ("attributes in a tag", MAX_ATTRIBUTES);
    let refused = bounded(&format!("<p{}>text", attributes(1_000_000)));
    assert_eq!(refused, Err(HtmlError::TooMany { what, limit }));
    let (what, limit) = ("elements", MAX_ELEMENTS);
    let refused = bounded(&"<p>".repeat(MAX_ELEMENTS + 1));
    assert_eq!(refused, Err(HtmlError::TooMany { what, limit }));
}

#[test]
fn text_is_bounded() {
    let asked = Cell::new(false);
    let limits = Limits {
        bytes: 1000,
        stop: &|| asked.replace(true),
    };
    let (what, limit) = ("bytes of text", 1000);
    let cells = "<table><tr>".to_owned() + &"<td>wordswordswords".repeat(10_000);
    for html in ["words ".repeat(1000), cells] {
        let refused = super::super::read(&html, ALL, limits);
        assert_eq!(refused, Err(HtmlError::TooMany { what, limit }));
        assert!(!asked.get(), "refused before the first thousand tokens");
    }
}

#[test]
fn reading_stops_when_it_is_told_to() {
    for html in [
        "<svg></p>",
        "<blockquote><p>a</blockquote>",
        "</b>",
        "<div>",
        "<table><tr><td>",
    ] {
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() == 3
        };
        let limits = Limits {
            bytes: 32 << 20,
            stop: &stop,
        };
        let stopped = super::super::read(&html.repeat(5_000), ALL, limits);
        let is_too_deep = stopped == Err(HtmlError::TooDeep);
        assert!(is_too_deep || stopped == Err(HtmlError::Stopped), "{html}");
        assert!(asked.get() <= 3, "{html}");
    }
}

#[test]
fn wrong_ends_and_deep_soups_take_no_more_than_a_look_each() {
    for soup in [
        "<blockquote>".repeat(500) + &"</svg></b></div>".repeat(100_000),
        "<b><i>".repeat(250) + &"</code></a>".repeat(100_000),
        "<p>".to_owned() + &"<b><i>".repeat(200) + &"<button><section></section></button>".repeat(50_000),
        "<ul><li>".repeat(250) + &"x<br>".repeat(100_000),
        "<blockquote>".repeat(500) + &"x<br>".repeat(100_000),
        "<!--".to_owned() + &"<div ".repeat(100_000),
        "<a href='".to_owned() + &"&amp;&#x41;".repeat(100_000),
        "<b>x</b>".repeat(200_000),
        "<table><tr><td>".repeat(80) + &"</table>".repeat(80),
    ] {
        bounded(&soup).unwrap();
    }
}

const NAMES: &[&str] = &[
    "p",
    "div",
    "b",
    "i",
    "a href=x",
    "code",
    "pre",
    "ul",
    "ol",
    "li",
    "table",
    "tr",
    "td",
    "th",
    "thead",
    "caption",
    "blockquote",
    "h1",
    "h2",
    "svg",
    "math",
    "title",
    "script",
    "nav",
    "main",
    "button",
    "template",
    "select",
    "option",
    "dl",
    "dt",
    "dd",
    "br",
    "hr",
    "span hidden",
    "font",
    "textarea",
    "x-y",
    "body",
    "head",
];

fn tag_soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(NAMES).prop_map(|name| format!("<{name}>")),
        3 => proptest::sample::select(NAMES).prop_map(|name| format!("</{}>", name.split(' ').next().unwrap())),
        1 => proptest::sample::select(NAMES).prop_map(|name| format!("<{name}/>")),
        3 => "[a-z *_`|<&\\n]{0,6}",
        1 => "\\PC{0,3}",
        1 => Just("<!-- c -->".to_owned()),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

#[test]
fn fuzz_tag_soup() {
    fuzz("tag soup", tag_soup(), |soup| {
        let page = bounded(&soup).unwrap();
        prop_assert_eq!(page.markdown.trim(), page.markdown.as_str());
        super::super::read(
            &soup,
            SHOWN,
            Limits {
                bytes: 1 << 20,
                stop: &|| false,
            },
        )
        .unwrap();
        Ok(())
    });
}

#[test]
fn fuzz_damaged_pages() {
    const PAGES: [&str; 3] = [
        "<!doctype html><html lang=en><head><title>Tides</title><meta charset=utf-8></head><body><h1>Tides</h1><p>They \
         <b>rise</b> <a href='/twice'>twice</a> a day &amp; fall.</body></html>",
        "<table><thead><tr><th>Port<th>High</thead><tr><td rowspan=2>Torvik<td colspan=3>7:10<tr><td>19:40</table>",
        "<ul><li>a<ol start=9><li>b<pre><code>let c = 1 &lt; 2;</code></pre></ol></ul><script>if (a</b) {}</script>\
         <svg><title>x</title></svg><template><p>no</template><textarea></p></textarea><!-- -- -->",
    ];
    let words = NAMES.iter().map(|name| format!("<{name}>")).chain(
        [
            "</p>",
            "</table>",
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "&#x",
            "&notin;",
            "\0",
            "\u{feff}",
            "<",
            "'",
            "\"",
        ]
        .map(str::to_owned),
    );
    fuzz("damaged pages", damaged(PAGES, words), |bytes| {
        // One that is too deep is refused.
        let read = bounded(&String::from_utf8_lossy(&bytes));
        prop_assert!(matches!(read, Ok(_) | Err(HtmlError::TooDeep)), "{:?}", read);
        Ok(())
    });
}

#[test]
fn fuzz_text_with_marks() {
    fuzz("text with marks", "[<>/&;#a-zA-Z'\"= !\\[\\]\\PC-]{0,200}", |text| {
        bounded(&text).unwrap();
        Ok(())
    });
}

#[test]
fn fuzz_text_without_tags_stays() {
    let words = proptest::collection::vec("[a-z]{1,8}", 1..20);
    fuzz("text without tags", words, |words| {
        let html: String = words.iter().map(|word| format!("<p><b>{word}</b> <i>{word}")).collect();
        let page = read(&html, ALL).unwrap();
        let letters = |c: char| !c.is_ascii_alphabetic();
        let read: Vec<_> = page.markdown.split(letters).filter(|word| !word.is_empty()).collect();
        let expected: Vec<_> = words.iter().flat_map(|word| [word.as_str(); 2]).collect();
        prop_assert_eq!(read, expected);
        Ok(())
    });
}
