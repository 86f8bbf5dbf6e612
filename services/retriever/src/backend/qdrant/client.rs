//! Calls to a Qdrant server: a time limit and an API key on each, again where the server did not answer.
//!
//! Every call here may be made twice: see the protocol in the module above.

use std::error::Error;
use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::time::Duration;

use emend_core::{Backoff, Secret, without_secrets};
use qdrant_client::qdrant::collections_client::CollectionsClient;
use qdrant_client::qdrant::points_client::PointsClient;
use qdrant_client::qdrant::qdrant_client::QdrantClient;
use qdrant_client::qdrant::{HealthCheckReply, HealthCheckRequest, ListAliasesRequest};
use tokio::sync::OnceCell;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Response, Status, TimeoutExpired};

use super::settings::{MAX_CALL_TIMEOUT, QdrantSettings};
use crate::backend::StoreError;

/// The oldest version with conditional upserts and their modes. An older one would overwrite unconditionally.
const OLDEST: (u32, u32) = (1, 17);

/// Tries of a call that the server did not answer.
const TRIES: u32 = 4;

const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));

/// Largest answer: a page of sections, or the candidates of a search.
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// The operations that a probe makes.
const VERSION: &str = "say its version";
const ALIASES: &str = "list the aliases";

/// Most characters of what a server says that are passed on.
const MAX_REASON: usize = 400;

/// A channel to the server, which is made when it is used first and again when it breaks.
pub(super) type Connection = InterceptedService<Channel, Key>;

/// Adds the API key.
#[derive(Clone)]
pub(super) struct Key(Option<MetadataValue<Ascii>>);

impl Interceptor for Key {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(key) = &self.0 {
            request.metadata_mut().insert("api-key", key.clone());
        }
        Ok(request)
    }
}

/// Settings that no client can be made of.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is none.
    #[error("--qdrant-url {url} is no address: give one such as http://qdrant:6334 or https://qdrant:6334")]
    Url {
        /// The address, without secrets.
        url: String,
    },
    /// The key holds what a header cannot.
    #[error("the API key of Qdrant has characters that no header can hold: give one of visible ASCII characters")]
    Key,
    /// The certificates cannot be used.
    #[error("TLS with Qdrant at {url} cannot be set up: check --qdrant-ca-file")]
    Tls {
        /// The address, without secrets.
        url: String,
        /// The cause.
        #[source]
        source: tonic::transport::Error,
    },
}

pub(super) struct Client {
    channel: Channel,
    key: Key,
    pub(super) url: String,
    timeout: Duration,
    /// Set once the server's version is known to be new enough.
    checked: OnceCell<()>,
}

impl Client {
    /// A client of a server. Connects to nothing yet. Must be called within a tokio runtime.
    pub(super) fn new(settings: &QdrantSettings) -> Result<Self, ClientError> {
        let url = without_secrets(&settings.url);
        let timeout = settings.timeout.clamp(Duration::from_millis(1), MAX_CALL_TIMEOUT);
        let scheme = settings.url.split_once("://").map(|(scheme, _)| scheme);
        let endpoint = match (Endpoint::from_shared(settings.url.clone()), scheme) {
            (Ok(endpoint), Some("http" | "https")) if endpoint.uri().host().is_some() => endpoint,
            _ => return Err(ClientError::Url { url }),
        };
        let mut endpoint = endpoint
            .connect_timeout(timeout.min(Duration::from_secs(5)))
            .keep_alive_while_idle(true)
            .http2_keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(10));
        if scheme == Some("https") {
            let mut tls = ClientTlsConfig::new().with_enabled_roots();
            if let Some(pem) = &settings.certificates {
                tls = tls.ca_certificate(Certificate::from_pem(pem));
            }
            endpoint = endpoint.tls_config(tls).map_err(|source| ClientError::Tls {
                url: url.clone(),
                source,
            })?;
        }
        let key = settings.api_key.as_ref().map(header).transpose()?;
        Ok(Self {
            channel: endpoint.connect_lazy(),
            key: Key(key),
            url,
            timeout,
            checked: OnceCell::new(),
        })
    }

    fn connection(&self) -> Connection {
        InterceptedService::new(self.channel.clone(), self.key.clone())
    }

    pub(super) fn points(&self) -> PointsClient<Connection> {
        PointsClient::new(self.connection()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    pub(super) fn collections(&self) -> CollectionsClient<Connection> {
        CollectionsClient::new(self.connection()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// Checks once that the server is there and new enough.
    pub(super) async fn check(&self) -> Result<(), StoreError> {
        let check = async || {
            let reply = self
                .retried(VERSION, HealthCheckRequest {}, |request| self.version(request))
                .await;
            self.is_new_enough(reply)
        };
        self.checked.get_or_try_init(check).await.copied()
    }

    /// Asks the server for its version, and for what every operation asks first: the version is told to everybody, with
    /// whatever key. Each once, without another try.
    pub(super) async fn probe(&self) -> Result<(), StoreError> {
        let reply = self.attempt(VERSION, HealthCheckRequest {}, |request| self.version(request));
        self.is_new_enough(reply.await)?;
        let list = |request| {
            let mut client = self.collections();
            async move { client.list_aliases(request).await }
        };
        let listed = self.attempt(ALIASES, ListAliasesRequest {}, list).await;
        listed.map(drop).map_err(|status| self.error(ALIASES, &status))
    }

    async fn version(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckReply>, Status> {
        QdrantClient::new(self.connection()).health_check(request).await
    }

    fn is_new_enough(&self, reply: Result<HealthCheckReply, Status>) -> Result<(), StoreError> {
        let HealthCheckReply { version, .. } = reply.map_err(|status| self.error(VERSION, &status))?;
        if new_enough(&version) {
            return Ok(());
        }
        Err(StoreError::Outdated {
            url: self.url.clone(),
            version: version.chars().take(64).collect(),
            needed: format!("{}.{}.0", OLDEST.0, OLDEST.1),
        })
    }

    /// Makes a call, again with a wait where the server did not answer.
    ///
    /// # Errors
    /// [`StoreError::UnknownCollection`] without the known names where the server knows no such collection.
    pub(super) async fn call<T: Clone, R, F>(
        &self,
        operation: &'static str,
        collection: &str,
        request: T,
        send: impl Fn(Request<T>) -> F,
    ) -> Result<R, StoreError>
    where
        F: Future<Output = Result<Response<R>, Status>>,
    {
        self.check().await?;
        let status = match self.retried(operation, request, send).await {
            Ok(reply) => return Ok(reply),
            Err(status) => status,
        };
        if status.code() == Code::NotFound {
            return Err(StoreError::UnknownCollection {
                name: collection.to_owned(),
                known: Vec::new(),
            });
        }
        Err(self.error(operation, &status))
    }

    /// Attempts a call, a few times where the server did not answer.
    async fn retried<T: Clone, R, F>(
        &self,
        operation: &'static str,
        request: T,
        send: impl Fn(Request<T>) -> F,
    ) -> Result<R, Status>
    where
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let mut tries = 1;
        loop {
            let status = match self.attempt(operation, request.clone(), &send).await {
                Err(status) if tries < TRIES && is_transient(&status) => status,
                done => return done,
            };
            tracing::debug!(operation, tries, code = ?status.code(), "Qdrant did not answer, trying again");
            tokio::time::sleep(BACKOFF.jittered(tries, Duration::ZERO)).await;
            tries += 1;
        }
    }

    async fn attempt<T, R, F>(
        &self,
        operation: &'static str,
        request: T,
        send: impl FnOnce(Request<T>) -> F,
    ) -> Result<R, Status>
    where
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let mut request = Request::new(request);
        request.set_timeout(self.timeout);
        match tokio::time::timeout(self.timeout, send(request)).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            // The connection and the server keep the limit too, and may be first to say that it is over.
            Ok(Err(status)) if !is_out_of_time(&status) => Err(status),
            _ => Err(Status::deadline_exceeded(format!(
                "no answer within {:?} when asked to {operation}",
                self.timeout
            ))),
        }
    }

    fn error(&self, operation: &'static str, status: &Status) -> StoreError {
        let url = self.url.clone();
        let reason = reason(status, &self.key);
        if fails_in_tls(status) {
            return StoreError::Untrusted { url, reason };
        }
        match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => StoreError::Refused { url, reason },
            Code::ResourceExhausted => StoreError::Busy { url, reason },
            _ if is_transient(status) || matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled) => {
                StoreError::Unreachable { url, reason }
            }
            _ => StoreError::Server { url, operation, reason },
        }
    }
}

/// Whether the time of a call is over. Only for that is a call given up here.
fn is_out_of_time(status: &Status) -> bool {
    matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled)
        || causes(status).any(|cause| cause.is::<TimeoutExpired>())
}

/// Whether the server may answer when it is asked again: it was not there, or went away.
fn is_transient(status: &Status) -> bool {
    let gone = matches!(status.code(), Code::Unavailable | Code::Aborted)
        // What the server itself says has no cause here.
        || (matches!(status.code(), Code::Unknown | Code::Internal) && status.source().is_some());
    gone && !fails_in_tls(status)
}

/// Whether there is no connection because TLS with the server failed, which another try does not change.
fn fails_in_tls(status: &Status) -> bool {
    causes(status).any(|cause| {
        // An error of TLS comes within one of I/O, which does not name it as its source.
        let within = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause.is::<rustls::Error>() || within.is_some_and(|within| within.is::<rustls::Error>())
    })
}

/// What a status came from, outermost first.
fn causes(status: &Status) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(status.source(), |cause| (*cause).source())
}

/// What a status says, with the cause of a broken connection, shortened, and without the key should it be said.
fn reason(status: &Status, key: &Key) -> String {
    let mut said = match status.message() {
        "" => format!("{:?}", status.code()),
        message => message.to_owned(),
    };
    for cause in causes(status).map(ToString::to_string) {
        if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    if let Some(key) = key.0.as_ref().and_then(|key| key.to_str().ok())
        && !key.is_empty()
    {
        said = said.replace(key, "***");
    }
    said.chars().take(MAX_REASON).collect()
}

fn header(key: &Secret) -> Result<MetadataValue<Ascii>, ClientError> {
    let mut value: MetadataValue<Ascii> = key.reveal().parse().map_err(|_| ClientError::Key)?;
    value.set_sensitive(true);
    Ok(value)
}

fn new_enough(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split(['.', '-']);
    let mut number = || numbers.next()?.parse::<u32>().ok();
    match (number(), number()) {
        (Some(major), Some(minor)) => (major, minor) >= OLDEST,
        _ => false,
    }
}

impl Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
