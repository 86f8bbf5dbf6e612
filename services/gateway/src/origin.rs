//! Which pages in a browser may use the gateway.
//!
//! A browser sends requests for any page that it shows, also to a server on the same machine, and a page can give its own
//! name an address of that machine (DNS rebinding). So a request is refused when it is for a host name that is not ours,
//! and when it comes from a page of another origin that nobody named.

use std::net::IpAddr;
use std::str::FromStr;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use emend_core::{Reason, cut};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HOST, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use url::Url;

use crate::config::BrowserOptions;
use crate::problem::Problem;

/// Headers that pages of a named origin may send.
const ALLOWED_HEADERS: &str = "accept, authorization, content-type, grpc-timeout, mcp-protocol-version, mcp-session-id, \
                               mcp-method, mcp-name, last-event-id, traceparent, tracestate, x-grpc-web, x-request-timeout, x-user-agent";
/// Headers that they may read.
const EXPOSED_HEADERS: &str = "grpc-message, grpc-status, grpc-status-details-bin, mcp-session-id, retry-after";
const ALLOWED_METHODS: &str = "GET, POST, DELETE";
/// How long a browser may remember what it may do, in seconds.
const MAX_AGE: &str = "600";

/// The origin of a page: scheme, host and port, as browsers write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{}` is not the origin of a page: write it like https://app.example.com or http://localhost:3000",
                cut(text)
            )
        };
        let url = Url::parse(text).map_err(|_| wrong())?;
        let origin = url.origin().ascii_serialization();
        if !matches!(url.scheme(), "http" | "https") || text.trim_end_matches('/') != origin {
            return Err(wrong());
        }
        Ok(Self(origin))
    }
}

/// The name of a host, without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(String);

impl FromStr for HostName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match url::Host::parse(text) {
            Ok(host) => Ok(Self(host.to_string())),
            Err(_) => Err(format!(
                "`{}` is not the name of a host: write it like emend.example.com",
                cut(text)
            )),
        }
    }
}

/// What is checked of every request.
#[derive(Clone, Debug)]
pub(crate) struct OriginPolicy {
    origins: Vec<Origin>,
    /// The host names that requests may be for; `None` takes every name.
    hosts: Option<Vec<HostName>>,
}

impl OriginPolicy {
    /// The policy of a gateway that listens on an address.
    pub(crate) fn new(options: &BrowserOptions, listens_on: IpAddr) -> Self {
        let checked = listens_on.is_loopback() || !options.allowed_hosts.is_empty();
        Self {
            origins: options.cors_origins.clone(),
            hosts: checked.then(|| options.allowed_hosts.clone()),
        }
    }

    /// Refuses a request of a page that may not make it, and answers the question whether a page may.
    pub(crate) fn check(&self, request: &Request<Body>) -> Result<(), Box<Response>> {
        let authority = authority(request.headers(), request.uri());
        if !self.is_ours(authority.as_deref()) {
            let host = authority.unwrap_or_default();
            return Err(refused(Problem::new(
                StatusCode::MISDIRECTED_REQUEST,
                Reason::OriginNotAllowed,
                format!(
                    "this gateway does not answer for the host `{}`: name it with --allowed-host",
                    cut(&host)
                ),
            )));
        }
        let Some(origin) = request.headers().get(ORIGIN) else {
            return Ok(());
        };
        let named = self.named(origin);
        let own = || {
            let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
            origin.map(|(_, host)| host) == authority.as_deref()
        };
        if named.is_none() && !own() {
            return Err(refused(Problem::new(
                StatusCode::FORBIDDEN,
                Reason::OriginNotAllowed,
                format!(
                    "pages of `{}` may not call this gateway: name the origin with --cors-origin",
                    cut(&String::from_utf8_lossy(origin.as_bytes()))
                ),
            )));
        }
        let asks = request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if asks && named.is_some() {
            let mut allowed = StatusCode::NO_CONTENT.into_response();
            let headers = allowed.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(ALLOWED_METHODS));
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS));
            headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
            return Err(Box::new(allowed));
        }
        Ok(())
    }

    /// Tells a browser that the page of a named origin may read the response.
    pub(crate) fn allow(&self, origin: Option<&HeaderValue>, response: &mut HeaderMap) {
        if self.origins.is_empty() {
            return;
        }
        response.append(VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = origin.filter(|origin| self.named(origin).is_some()) {
            response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            response.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
        }
    }

    fn named(&self, origin: &HeaderValue) -> Option<&Origin> {
        self.origins
            .iter()
            .find(|named| named.0.as_bytes() == origin.as_bytes())
    }

    fn is_ours(&self, authority: Option<&str>) -> bool {
        let Some(hosts) = &self.hosts else {
            return true;
        };
        let host = authority.and_then(|authority| authority.parse::<http::uri::Authority>().ok());
        let Some(host) = host.as_ref().map(|authority| authority.host().to_ascii_lowercase()) else {
            return false;
        };
        let plain = host.trim_start_matches('[').trim_end_matches(']');
        plain == "localhost"
            || plain.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            || hosts.iter().any(|name| name.0 == host)
    }
}

/// The host and port that a request is for: HTTP/2 has them in the URI, HTTP/1.1 in a header.
fn authority(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let of_uri = uri.authority().map(|authority| authority.as_str().to_owned());
    of_uri.or_else(|| Some(headers.get(HOST)?.to_str().ok()?.to_owned()))
}

fn refused(problem: Problem) -> Box<Response> {
    Box::new(problem.into_response())
}

#[cfg(test)]
mod tests;
