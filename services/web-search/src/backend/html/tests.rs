use super::*;

fn page(content: &str) -> Found {
    read(content, &|| false).unwrap()
}

#[test]
fn the_page_says_where_it_is_from_and_how_it_is_called() {
    let found = page(
        "<html><head><title> Kettles \n &amp; pots </title><meta property='og:url' content='https://b.example'>\
             <link rel='shortlink canonical' href='https://a.example/k'></head><body><h1>Other</h1><p>Boil.</p></body></html>",
    );
    assert_eq!(found.url.as_deref(), Some("https://a.example/k"));
    assert_eq!(found.title, "Kettles & pots");
    let found = page("<meta property='og:url' content='https://b.example'><h1>Pots <b>and</b> pans</h1>Boil.");
    assert_eq!(
        (found.url.as_deref(), found.title.as_str()),
        (Some("https://b.example"), "Pots and pans")
    );
}

#[test]
fn text_reads_as_on_a_screen() {
    let found = page(
        "<body><nav>Home</nav><script>x()</script><h1>Kettles</h1><p>Fill  <b>it</b>\nup.<br>Boil.</p>\
             <ul><li>One</li><li><p>Two</p></li></ul><table><tr><th>Size</th><th>Price</th></tr><tr><td>1 l</td><td>9</td></tr></table>\
             <div hidden>secret</div><pre>a  b\n  c</pre><footer>Imprint</footer></body>",
    );
    assert_eq!(
        found.text,
        "Kettles\n\nFill it up.\nBoil.\n\n- One\n\n- Two\n\nSize | Price\n\n1 l | 9\n\na  b\n  c"
    );
}

#[test]
fn main_is_preferred_unless_it_is_an_empty_frame() {
    let long = "It boils water in three minutes. ".repeat(10);
    let found = page(&format!("<body><div>Buy now</div><main><p>{long}</p></main></body>"));
    assert!(!found.text.contains("Buy now") && found.text.contains("boils"));
    let found = page(&format!("<body><main>Loading</main><p>{long}</p></body>"));
    assert!(found.text.contains("boils"));
}

#[test]
fn declared_encodings_are_decoded() {
    let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode("<meta charset=\"Shift_JIS\"><p>やかんの説明</p>");
    assert!(decode(&bytes).contains("やかんの説明"));
    let (bytes, _, _) =
        encoding_rs::EUC_KR.encode("<meta http-equiv=content-type content='text/html; charset=euc-kr'>주전자");
    assert!(decode(&bytes).contains("주전자"));
    assert_eq!(
        decode("주전자 <meta charset=euc-kr>".as_bytes()),
        "주전자 <meta charset=euc-kr>"
    );
    assert_eq!(decode(b"caf\xe9"), "café");
}

#[test]
fn deep_nesting_is_no_danger() {
    let found = page(&format!("{}deep{}", "<div>".repeat(5_000), "</div>".repeat(5_000)));
    assert_eq!(found.text, "deep");
}
