//! Files that are compiled into the gateway and served from `/`.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::sync::OnceLock;

use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use sha2::{Digest as _, Sha256};

/// What a page of ours may do: load and call what is here, and nothing from elsewhere.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const PAGE: &str = "index.html";
/// What the page has where its style belongs, and the style, which is sent in the page: a browser paints without asking
/// for anything else.
const STYLE_LINK: &str = r#"<link rel="stylesheet" href="style.css">"#;
const STYLE: &str = include_str!("../assets/style.css");

/// One file.
pub(crate) struct Asset {
    /// Its path below `/`, without the slash at the beginning.
    pub(crate) path: &'static str,
    /// Its media type.
    pub(crate) content_type: &'static str,
    /// What is in it.
    pub(crate) bytes: &'static [u8],
    /// How it is sent, once it was asked for.
    sent: OnceLock<Sent>,
}

struct Sent {
    plain: Bytes,
    gzip: Bytes,
    /// Changes with the bytes.
    tag: HeaderValue,
    policy: HeaderValue,
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const TEXT: &str = "text/plain; charset=utf-8";

/// All files below `assets/` but the style; `index.html` is the page at `/`.
static ASSETS: [Asset; 22] = [
    asset("icon.svg", SVG, include_bytes!("../assets/icon.svg")),
    asset(PAGE, HTML, include_bytes!("../assets/index.html")),
    asset(
        "js/answer-view.js",
        SCRIPT,
        include_bytes!("../assets/js/answer-view.js"),
    ),
    asset("js/api.js", SCRIPT, include_bytes!("../assets/js/api.js")),
    asset(
        "js/document-view.js",
        SCRIPT,
        include_bytes!("../assets/js/document-view.js"),
    ),
    asset("js/documents.js", SCRIPT, include_bytes!("../assets/js/documents.js")),
    asset("js/dom.js", SCRIPT, include_bytes!("../assets/js/dom.js")),
    asset("js/format.js", SCRIPT, include_bytes!("../assets/js/format.js")),
    asset("js/graph-view.js", SCRIPT, include_bytes!("../assets/js/graph-view.js")),
    asset("js/history.js", SCRIPT, include_bytes!("../assets/js/history.js")),
    asset("js/main.js", SCRIPT, include_bytes!("../assets/js/main.js")),
    asset("js/options.js", SCRIPT, include_bytes!("../assets/js/options.js")),
    asset(
        "js/passages-view.js",
        SCRIPT,
        include_bytes!("../assets/js/passages-view.js"),
    ),
    asset("js/place.js", SCRIPT, include_bytes!("../assets/js/place.js")),
    asset("js/replay.js", SCRIPT, include_bytes!("../assets/js/replay.js")),
    asset("js/steps-view.js", SCRIPT, include_bytes!("../assets/js/steps-view.js")),
    asset("js/theme.js", SCRIPT, include_bytes!("../assets/js/theme.js")),
    asset("js/trace.js", SCRIPT, include_bytes!("../assets/js/trace.js")),
    asset("js/walk-view.js", SCRIPT, include_bytes!("../assets/js/walk-view.js")),
    asset("js/walk.js", SCRIPT, include_bytes!("../assets/js/walk.js")),
    asset(
        "vendor/dagre-3.1.3.LICENSE",
        TEXT,
        include_bytes!("../assets/vendor/dagre-3.1.3.LICENSE"),
    ),
    asset(
        "vendor/dagre-3.1.3.js",
        SCRIPT,
        include_bytes!("../assets/vendor/dagre-3.1.3.js"),
    ),
];

const fn asset(path: &'static str, content_type: &'static str, bytes: &'static [u8]) -> Asset {
    Asset {
        path,
        content_type,
        bytes,
        sent: OnceLock::new(),
    }
}

/// The file at a path of a URL.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    let path = path.trim_start_matches('/');
    let path = if path.is_empty() { PAGE } else { path };
    ASSETS.iter().find(|asset| asset.path == path)
}

impl Asset {
    fn sent(&self) -> &Sent {
        self.sent.get_or_init(|| {
            let (plain, policy) = if self.path == PAGE {
                styled(self.bytes)
            } else {
                (Cow::from(self.bytes), POLICY.to_owned())
            };
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            let written = encoder.write_all(&plain).and_then(|()| encoder.finish());
            let mut hasher = DefaultHasher::new();
            plain.hash(&mut hasher);
            Sent {
                // Writing to memory does not fail.
                gzip: written.unwrap_or_default().into(),
                tag: header(format!("W/\"{:016x}\"", hasher.finish())),
                policy: header(policy),
                plain: match plain {
                    Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                    Cow::Owned(bytes) => bytes.into(),
                },
            }
        })
    }

    /// The response to a request with these headers: packed for who takes that, and nothing for who has it already.
    pub(crate) fn respond(&'static self, request: &HeaderMap) -> Response {
        let Sent {
            plain,
            gzip,
            tag,
            policy,
        } = self.sent();
        let known = request.get(IF_NONE_MATCH).map(HeaderValue::as_bytes);
        let mut response = if known.is_some_and(|known| known.windows(tag.len()).any(|part| part == tag.as_bytes())) {
            StatusCode::NOT_MODIFIED.into_response()
        } else if takes_gzip(request) {
            ([(CONTENT_ENCODING, "gzip")], gzip.clone()).into_response()
        } else {
            plain.clone().into_response()
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        headers.insert(ETAG, tag.clone());
        response
    }
}

/// The page with its style in it, and what it may do: it has that style besides.
fn styled(page: &'static [u8]) -> (Cow<'static, [u8]>, String) {
    let page = String::from_utf8_lossy(page).replacen(STYLE_LINK, &format!("<style>{STYLE}</style>"), 1);
    let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    (
        page.into_bytes().into(),
        format!("{POLICY}; style-src 'self' 'sha256-{hash}'"),
    )
}

/// A header of characters that headers may have.
fn header(value: String) -> HeaderValue {
    HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static(""))
}

fn takes_gzip(request: &HeaderMap) -> bool {
    let named = request.get_all(ACCEPT_ENCODING).iter();
    let mut named = named
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    named.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").map(str::parse::<f32>);
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(weight, Some(Ok(0.0)))
    })
}

#[cfg(test)]
mod tests;
