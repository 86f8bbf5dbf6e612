//! MCP: the tools `ask`, `search`, `ingest`, `list_collections` and `explain_walk`, and the passages that answers cite as
//! resources, over streamable HTTP at `/mcp` and over standard input and output.
//!
//! Over HTTP there are no sessions: every request stands by itself, so that any replica can answer it. What a walk did is
//! kept for a while by the process that walked it, under an id that nobody can guess, which `ask` returns.

mod arguments;
mod ask;
mod ingest;
mod search;
mod server;
mod tools;
mod walks;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use emend_chassis::ServeError;
use futures::FutureExt as _;
use http_body_util::Full;
use rmcp::ServiceExt as _;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService, async_rw::AsyncRwTransport};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::problem::Problem;
use crate::request;
use crate::{Gateway, Options, ServiceUrls, Services};
use server::McpServer;

/// Longest line on standard input, in bytes.
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// The span of the HTTP request that a message came in.
#[derive(Clone)]
pub(crate) struct RequestSpan(pub(crate) Span);

/// What answers at `/mcp`.
pub(crate) type HttpService = StreamableHttpService<McpServer, NeverSessionManager>;

/// Makes what answers at `/mcp`.
pub(crate) fn service(services: &Services, options: &Options, shutdown: &CancellationToken) -> HttpService {
    let services = futures::future::ready(Ok(services.clone())).boxed().shared();
    let server = McpServer::new(services, options.service.default_timeout, None);
    // Hosts and origins are checked for all routes alike.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(request::MAX_JSON_BYTES)
        .with_cancellation_token(shutdown.child_token())
        .disable_allowed_hosts();
    StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config)
}

/// `POST /mcp`.
pub(crate) async fn http(State(gateway): State<Arc<Gateway>>, request: Request) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    // Read here, where its size, its values and its memory are bounded.
    let (text, _held) = request::json(&gateway.memory, &parts.headers, body).await?;
    parts.extensions.insert(RequestSpan(Span::current()));
    let request = Request::from_parts(parts, Full::new(text));
    Ok(gateway.mcp.handle(request).await.map(Body::new))
}

/// What a server for one client has besides its streams.
#[derive(Clone, Debug)]
pub struct McpOptions {
    /// Time given to a call.
    pub timeout: Duration,
    /// The collection of a call that names none; empty for `default`.
    pub collection: String,
}

/// Serves MCP over a pair of streams, those of a process as a rule, until the other side closes its own or `shutdown` is
/// cancelled. Calls wait until `urls` says where the services are, and fail with what it says where they are not.
///
/// # Errors
/// [`ServeError`] when the protocol is not begun as it should be.
pub async fn serve_streams<R, W>(
    options: McpOptions,
    urls: impl Future<Output = Result<ServiceUrls, String>> + Send + 'static,
    input: R,
    output: W,
    shutdown: CancellationToken,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let services = async { Services::new(&urls.await?).map_err(|error| error.to_string()) };
    let services = services.boxed().shared();
    let server = McpServer::new(services, options.timeout, Some(options.collection));
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_LINE_BYTES);
    let serving = tokio::select! {
        serving = server.serve_with_ct(transport, shutdown.child_token()) => serving,
        () = shutdown.cancelled() => return Ok(()),
    };
    match serving {
        Ok(serving) => drop(serving.waiting().await),
        // The other side left before it began.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => return Err(ServeError::start(error)),
    }
    Ok(())
}

/// [`serve_streams`] over the standard streams of this process. Nothing else may write to standard output.
///
/// # Errors
/// As [`serve_streams`].
pub async fn serve_stdio(
    options: McpOptions,
    urls: impl Future<Output = Result<ServiceUrls, String>> + Send + 'static,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let (input, output) = rmcp::transport::stdio_pipes();
    serve_streams(options, urls, input, output, shutdown).await
}
