//! `emend ingest` of pages of the web, from a site on this machine.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use super::{Place, stderr, stdout};

type Pages = Arc<Mutex<BTreeMap<&'static str, String>>>;

/// A site with these pages, by path; what is not among them is not found. Returns its port.
fn site(pages: &Pages) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let pages = Arc::clone(pages);
    thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&connection).lines().map_while(Result::ok);
            let Some(first) = lines.next() else { continue };
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let path = first.split(' ').nth(1).unwrap_or_default();
            let page = pages.lock().unwrap().get(path).cloned();
            let status = if page.is_some() { "200 OK" } else { "404 Not Found" };
            let body = page.unwrap_or_default().replace("HOST", &format!("127.0.0.1:{port}"));
            let kind = if path.ends_with(".xml") {
                "application/xml"
            } else {
                "text/html"
            };
            let _ = write!(
                &connection,
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    port
}

fn sitemap(paths: &[&str]) -> String {
    let entries = paths
        .iter()
        .map(|path| format!("<url><loc>http://HOST{path}</loc></url>"));
    format!("<urlset>{}</urlset>", entries.collect::<String>())
}

fn html(text: &str) -> String {
    format!("<html><title>{text}</title><body><p>{text} is described on this page.</p></body></html>")
}

#[test]
fn pages_of_a_sitemap_are_ingested_and_removed_with_it() {
    let pages = Pages::default();
    let set = |path: &'static str, body: String| pages.lock().unwrap().insert(path, body);
    set("/robots.txt", "User-agent: *\nDisallow: /private\n".to_owned());
    set(
        "/sitemap.xml",
        sitemap(&["/leave", "/travel", "/private/pay", "/moved"]),
    );
    set("/leave", html("Leave"));
    set("/travel", html("Travel"));
    set("/moved", html("Moving"));
    set("/private/pay", html("Pay"));
    set("/alone", html("Alone"));
    let port = site(&pages);
    let place = Place::new();
    let url = |path: &str| format!("http://127.0.0.1:{port}{path}");
    let allowed = ["--web-allow-networks", "127.0.0.1/32", "--web-ports", &port.to_string()].map(str::to_owned);
    let ingest = |more: &[&str]| {
        let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
        let output = place
            .emend(&[&["ingest", "--json"], &allowed[..], more].concat())
            .output()
            .unwrap();
        let summary = serde_json::from_str::<serde_json::Value>(&stdout(&output));
        assert!(summary.is_ok(), "{}", stderr(&output));
        (output.status.code(), summary.unwrap())
    };
    let map = url("/sitemap.xml");
    let (status, summary) = ingest(&["--sitemap", &map, &url("/alone")]);
    assert_eq!((status, &summary["ingested"]), (Some(1), &4.into()), "{summary}");
    let reason = summary["failed"][url("/private/pay")].as_str().unwrap();
    assert!(
        reason.contains("robots.txt forbids it; --web-ignore-robots"),
        "{reason}"
    );
    let shown = place.emend(&["documents", "show", &url("/leave")]).output().unwrap();
    let shown = stdout(&shown);
    assert!(
        shown.contains("title: Leave") && shown.contains(&format!("belongs to: {map}")),
        "{shown}"
    );

    // One is no longer named, one is gone; the one that was given by itself is not the sitemap's.
    pages.lock().unwrap().remove("/moved");
    set("/sitemap.xml", sitemap(&["/leave", "/moved"]));
    let (status, summary) = ingest(&["--prune", "--sitemap", &map]);
    assert_eq!(
        (status, &summary["removed"], &summary["unchanged"]),
        (Some(0), &2.into(), &1.into()),
        "{summary}"
    );
    assert_eq!(place.listed(), [url("/alone"), url("/leave")]);
    // A site that cannot be asked removes nothing.
    pages.lock().unwrap().remove("/sitemap.xml");
    let output = place
        .emend(
            &[
                &["ingest", "--prune", "--sitemap", &map],
                &allowed.each_ref().map(String::as_str)[..],
            ]
            .concat(),
        )
        .output();
    let output = output.unwrap();
    assert!(
        !output.status.success() && stderr(&output).contains("HTTP 404"),
        "{}",
        stderr(&output)
    );
    assert_eq!(place.listed().len(), 2);
}

#[test]
fn this_machine_is_asked_only_where_that_is_allowed() {
    let pages = Pages::default();
    pages.lock().unwrap().insert("/", html("Secret"));
    let port = site(&pages);
    let place = Place::new();
    let url = format!("http://127.0.0.1:{port}/");
    let ports = ["--web-ports", &port.to_string()].map(str::to_owned);
    let output = place.emend(&["ingest", &ports[0], &ports[1], &url]).output().unwrap();
    let err = stderr(&output);
    assert!(
        output.status.code() == Some(1) && err.contains("not public; --web-allow-networks"),
        "{err}"
    );
    let output = place
        .emend(&["ingest", "--web-allow-networks", "127.0.0.1/32", &url])
        .output()
        .unwrap();
    assert!(
        stderr(&output).contains("port is not allowed; --web-ports"),
        "{}",
        stderr(&output)
    );
    for (arguments, says) in [
        (&["--watch", &url][..], "--watch follows folders"),
        (&["https://"], "`https://` is no address"),
        (&["--sitemap", "ftp://example.com/"], "neither http nor https"),
        (&[], "required"),
    ] {
        let output = place.emend(&[&["ingest"], arguments].concat()).output().unwrap();
        assert!(
            !output.status.success() && stderr(&output).contains(says),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}
