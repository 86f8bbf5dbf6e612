//! Files that are compiled into the gateway and served from `/`.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::sync::OnceLock;

use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderValue, StatusCode};

/// What a page of ours may do: load and call what is here, and nothing from elsewhere.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// One file.
pub(crate) struct Asset {
    /// Its path below `/`, without the slash at the beginning.
    pub(crate) path: &'static str,
    /// Its media type.
    pub(crate) content_type: &'static str,
    /// What is in it.
    pub(crate) bytes: &'static [u8],
    /// The same as it is sent, once it was asked for.
    packed: OnceLock<Packed>,
}

struct Packed {
    gzip: Vec<u8>,
    /// Changes with the bytes.
    tag: String,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const TEXT: &str = "text/plain; charset=utf-8";

/// All files below `assets/`; `index.html` is the page at `/`.
static ASSETS: [Asset; 21] = [
    asset("icon.svg", SVG, include_bytes!("../assets/icon.svg")),
    asset("index.html", HTML, include_bytes!("../assets/index.html")),
    asset(
        "js/answer-view.js",
        SCRIPT,
        include_bytes!("../assets/js/answer-view.js"),
    ),
    asset("js/api.js", SCRIPT, include_bytes!("../assets/js/api.js")),
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
    asset("js/walk-view.js", SCRIPT, include_bytes!("../assets/js/walk-view.js")),
    asset("js/walk.js", SCRIPT, include_bytes!("../assets/js/walk.js")),
    asset("style.css", CSS, include_bytes!("../assets/style.css")),
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
        packed: OnceLock::new(),
    }
}

/// The file at a path of a URL.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    let path = path.trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    ASSETS.iter().find(|asset| asset.path == path)
}

impl Asset {
    fn packed(&self) -> &Packed {
        self.packed.get_or_init(|| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            let written = encoder.write_all(self.bytes).and_then(|()| encoder.finish());
            let mut hasher = DefaultHasher::new();
            self.bytes.hash(&mut hasher);
            Packed {
                // Writing to memory does not fail.
                gzip: written.unwrap_or_default(),
                tag: format!("W/\"{:016x}\"", hasher.finish()),
            }
        })
    }

    /// The response to a request with these headers: packed for who takes that, and nothing for who has it already.
    pub(crate) fn respond(&'static self, request: &HeaderMap) -> Response {
        let Packed { gzip, tag } = self.packed();
        let known = request.get(IF_NONE_MATCH).and_then(|known| known.to_str().ok());
        let mut response = if known.is_some_and(|known| known.contains(tag.as_str())) {
            StatusCode::NOT_MODIFIED.into_response()
        } else if takes_gzip(request) {
            ([(CONTENT_ENCODING, "gzip")], gzip.as_slice()).into_response()
        } else {
            self.bytes.into_response()
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        if let Ok(tag) = HeaderValue::from_str(tag) {
            headers.insert(ETAG, tag);
        }
        response
    }
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
