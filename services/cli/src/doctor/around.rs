//! What is reached over the network.

use std::time::Duration;

use emend_chassis::{ServiceOptions, TelemetryOptions, request};
use emend_core::{Deadline, Scope, error_chain, without_secrets};
use emend_web_search::{
    DomainFilter, ProviderKind,
    backend::{self, Search},
};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use url::Url;

use super::Finding;
use crate::{
    args::{DoctorOptions, LocalOptions},
    cluster::{Component, security::environment},
};

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Where requests go through a proxy, no connection of one's own says anything.
const PROXIES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// What an engine is asked: whatever it knows, it knows this.
const SEARCHED: &str = "Wikipedia";

/// The search engines or the folder of pages. An engine is asked nothing, which might cost, unless `search` is how long it
/// may take.
pub(super) async fn web(local: &LocalOptions, search: Option<Duration>) -> Vec<Finding> {
    const CHECK: &str = "web search";
    let mut options = match environment::<emend_web_search::Options>(Component::WebSearch) {
        Ok(options) => options,
        Err(error) => return vec![Finding::failed(CHECK, error)],
    };
    options.web = local.web.clone();
    options.folder.clone_from(&local.web_folder);
    if let Err(error) = backend::load(&options).await {
        return vec![Finding::error(CHECK, error_chain(&error), "")];
    }
    let mut found = Vec::new();
    for provider in options.providers() {
        found.push(match provider {
            ProviderKind::None => continue,
            ProviderKind::Folder => {
                let folder = options.folder.clone().unwrap_or_default();
                Finding::ok(CHECK, format_args!("pages of {}", folder.display()))
            }
            engine if let Some(within) = search => searched(engine, &options, within).await,
            ProviderKind::Tavily => engine("tavily", &options.web.tavily_url).await,
            ProviderKind::Brave => engine("brave", &options.web.brave_url).await,
            ProviderKind::Searxng => engine("searxng", options.web.searxng_url.as_deref().unwrap_or_default()).await,
        });
    }
    if found.is_empty() {
        found.push(Finding::new(
            CHECK,
            super::Level::Ok,
            "none: answers come from the documents alone",
            "--web-folder DIR, --searxng-url URL, EMEND_TAVILY_API_KEY or EMEND_BRAVE_API_KEY adds it",
        ));
    }
    found
}

/// One search by one engine.
async fn searched(engine: ProviderKind, options: &emend_web_search::Options, within: Duration) -> Finding {
    const CHECK: &str = "web search";
    let mut options = options.clone();
    options.web.provider = vec![engine];
    let search = Search {
        query: SEARCHED.to_owned(),
        max_results: 1,
        domains: DomainFilter::default(),
    };
    let scope = Scope {
        deadline: Deadline::after(within),
        cancel: CancellationToken::new(),
    };
    let provider = match backend::load(&options).await {
        Ok(provider) => provider,
        Err(error) => return Finding::error(CHECK, error_chain(&error), ""),
    };
    let name = provider.name();
    match provider.search(search, scope).await {
        Ok(found) if found.passages.is_empty() => Finding::warning(
            CHECK,
            format_args!("{name} found nothing for \"{SEARCHED}\""),
            "search there yourself: its own engines may be down; --web-allow-domains leaves out what is not allowed",
        ),
        Ok(found) => Finding::ok(
            CHECK,
            format_args!("{name} found {} for \"{SEARCHED}\"", found.passages[0].source),
        ),
        Err(error) => Finding::error(CHECK, error_chain(&error), ""),
    }
}

async fn engine(name: &str, url: &str) -> Finding {
    const CHECK: &str = "web search";
    let shown = without_secrets(url);
    if PROXIES
        .iter()
        .any(|proxy| std::env::var_os(proxy).is_some_and(|value| !value.is_empty()))
    {
        return Finding::ok(
            CHECK,
            format_args!("{name} at {shown}, by a proxy; --search tries a search"),
        );
    }
    match reached(url).await {
        Ok(()) => Finding::ok(
            CHECK,
            format_args!("{name} at {shown} can be reached; --search tries a search"),
        ),
        Err(error) => Finding::error(
            CHECK,
            format_args!("{name} at {shown} cannot be reached: {error}"),
            "check its address and the network, or choose another with --web-provider",
        ),
    }
}

/// Where traces, metrics and logs go.
pub(super) async fn telemetry() -> Vec<Finding> {
    const CHECK: &str = "telemetry";
    let options = match TelemetryOptions::from_environment("emend", &ServiceOptions::default()) {
        Ok(options) => options,
        Err(error) => return vec![Finding::failed(CHECK, error)],
    };
    let mut urls: Vec<String> = [options.traces, options.metrics, options.logs]
        .into_iter()
        .flatten()
        .collect();
    urls.sort();
    urls.dedup();
    if urls.is_empty() {
        return vec![Finding::ok(
            CHECK,
            "nothing is exported; OTEL_EXPORTER_OTLP_ENDPOINT says where to",
        )];
    }
    let mut found = Vec::new();
    for url in urls {
        let shown = without_secrets(&url);
        found.push(match reached(&url).await {
            Ok(()) => Finding::ok(CHECK, format_args!("the collector at {shown} can be reached")),
            Err(error) => Finding::warning(
                CHECK,
                format_args!("the collector at {shown} cannot be reached: {error}"),
                "start it, or change OTEL_EXPORTER_OTLP_ENDPOINT (OTLP over gRPC, port 4317); answers come without it",
            ),
        });
    }
    found
}

/// Whether something accepts connections at a URL.
async fn reached(url: &str) -> Result<(), String> {
    let parsed = Url::parse(url).map_err(|error| error.to_string())?;
    let host = parsed
        .host_str()
        .ok_or("there is no host in it")?
        .trim_matches(['[', ']'])
        .to_owned();
    let port = parsed.port_or_known_default().ok_or("there is no port in it")?;
    let connecting = TcpStream::connect((host, port));
    match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
        Ok(connected) => connected.map(drop).map_err(|error| error.to_string()),
        Err(_) => Err(format!("no connection within {} s", CONNECT_TIMEOUT.as_secs())),
    }
}

/// The orchestrator at --url.
pub(super) async fn orchestrator(options: &DoctorOptions) -> Vec<Finding> {
    const CHECK: &str = "orchestrator";
    let Some(url) = &options.url else { return Vec::new() };
    let shown = without_secrets(url);
    let upstream = match options.connect.upstream(url) {
        Ok(upstream) => upstream,
        Err(error) => return vec![Finding::failed(CHECK, error)],
    };
    let mut health = HealthClient::new(upstream.channel());
    let service = "emend.v1.OrchestratorService".to_owned();
    let asked = request(HealthCheckRequest { service }, Deadline::after(options.patience));
    vec![
        match health.check(asked).await.map(|answer| answer.into_inner().status()) {
            Ok(ServingStatus::Serving) => Finding::ok(CHECK, format_args!("{shown} serves")),
            Ok(status) => Finding::error(
                CHECK,
                format_args!("{shown} says {}", status.as_str_name()),
                "look at its log: a service that it needs may be down",
            ),
            Err(status) => Finding::error(
                CHECK,
                format_args!("{shown}: {}", status.message()),
                "give --url the address of the orchestrator that `emend up` prints",
            ),
        },
    ]
}
