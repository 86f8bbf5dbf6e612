//! Files that are compiled into the gateway and served from `/`.

use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};

/// What a page of ours may do: load and call what is here, and nothing from elsewhere.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; base-uri 'none'; \
                      form-action 'self'; frame-ancestors 'none'";

/// One file.
pub(crate) struct Asset {
    /// Its path below `/`, without the slash at the beginning.
    pub(crate) path: &'static str,
    /// Its media type.
    pub(crate) content_type: &'static str,
    /// What is in it.
    pub(crate) bytes: &'static [u8],
}

/// All files; `index.html` is the page at `/`. Each is an `include_bytes!` of a file below `assets/`.
const ASSETS: &[Asset] = &[];

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
