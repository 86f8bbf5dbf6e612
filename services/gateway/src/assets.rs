//! Files that are compiled into the gateway and served from `/`.

use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};

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
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";
const TEXT: &str = "text/plain; charset=utf-8";

/// All files below `assets/`; `index.html` is the page at `/`.
const ASSETS: &[Asset] = &[
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
    }
}

/// The file at a path of a URL.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    let path = path.trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    ASSETS.iter().find(|asset| asset.path == path)
}

impl IntoResponse for &'static Asset {
    fn into_response(self) -> Response {
        let mut response = self.bytes.into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        response
    }
}

#[cfg(test)]
mod tests;
