//! Runs the six services in one process, each on its own port, connected by gRPC, and the gateway in front of them.

pub(crate) mod security;

use std::{
    collections::BTreeMap,
    future::Future,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, bail};
use emend_chassis::{ServeError, TracedChannel, Upstream};
use emend_models::{
    chat::{Chat, ChatOptions},
    embed::Embedder,
};
use etcetera::BaseStrategy as _;
use futures::future::join_all;
use tokio::{
    net::TcpListener,
    task::{JoinError, JoinSet},
};
use tokio_util::sync::CancellationToken;
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use self::security::Security;
use crate::{
    args::{Backend, LocalOptions, RetrieverAddress},
    progress::{self, ModelProgress},
};

/// One of the six services, or the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// Walks the graph of a question.
    Orchestrator,
    /// Stores and retrieves passages.
    Retriever,
    /// Grades passages and answers.
    Grader,
    /// Writes answers.
    Generator,
    /// Rewrites questions.
    Rewriter,
    /// Searches the web.
    WebSearch,
    /// Speaks HTTP in front of the orchestrator and the retriever.
    Gateway,
}

impl Component {
    /// The six that speak gRPC, in the order of their default ports.
    pub const SERVICES: [Self; 6] = [
        Self::Orchestrator,
        Self::Retriever,
        Self::Grader,
        Self::Generator,
        Self::Rewriter,
        Self::WebSearch,
    ];
    /// All, in the order of their default ports: the gateway comes last.
    pub const ALL: [Self; 7] = [
        Self::Orchestrator,
        Self::Retriever,
        Self::Grader,
        Self::Generator,
        Self::Rewriter,
        Self::WebSearch,
        Self::Gateway,
    ];

    /// The name of the service.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Orchestrator => "orchestrator",
            Self::Retriever => "retriever",
            Self::Grader => "grader",
            Self::Generator => "generator",
            Self::Rewriter => "rewriter",
            Self::WebSearch => "web-search",
            Self::Gateway => "gateway",
        }
    }
}

/// Health checks of a service that starts, and the time between two.
const MAX_HEALTH_CHECKS: usize = 50;
const BETWEEN_HEALTH_CHECKS: Duration = Duration::from_millis(100);

/// Which services to run, where they listen, and the URLs of external services.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The address to listen on.
    pub host: IpAddr,
    /// The port of the orchestrator; the other services take the following ports. 0 picks free ports.
    pub base_port: u16,
    /// The services to run.
    pub components: Vec<Component>,
    /// The URLs of external services.
    pub elsewhere: BTreeMap<Component, String>,
    /// Whether others than this process call the services, which are then encrypted and want keys as the environment says.
    pub public: bool,
}

impl Default for Plan {
    /// All six services on free loopback ports.
    fn default() -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.into(),
            base_port: 0,
            components: Component::SERVICES.to_vec(),
            elsewhere: BTreeMap::new(),
            public: false,
        }
    }
}

impl Plan {
    /// Some services on free loopback ports.
    #[must_use]
    pub fn only(components: &[Component]) -> Self {
        Self {
            components: components.to_vec(),
            ..Self::default()
        }
    }

    /// Uses an external service instead of a local one.
    #[must_use]
    pub fn elsewhere(mut self, component: Component, url: impl Into<String>) -> Self {
        self.components.retain(|here| *here != component);
        self.elsewhere.insert(component, url.into());
        self
    }

    pub(crate) fn port_of(&self, component: Component) -> Result<u16> {
        if self.base_port == 0 {
            return Ok(0);
        }
        let offset = Component::ALL
            .iter()
            .position(|known| *known == component)
            .unwrap_or_default();
        u16::try_from(usize::from(self.base_port) + offset).map_err(|_| {
            anyhow!(
                "base port {} is too high: seven consecutive ports are needed",
                self.base_port
            )
        })
    }
}

/// A channel to the retriever at an address, else to one that is started here and has to be stopped.
///
/// # Errors
/// The address or its TLS cannot be used, or a retriever fails to start here.
pub async fn retriever(at: &RetrieverAddress, local: &LocalOptions) -> Result<(Option<Cluster>, TracedChannel)> {
    if let Some(url) = &at.url {
        return Ok((None, at.connect.upstream(url)?.channel()));
    }
    let cluster = Cluster::start(local, Plan::only(&[Component::Retriever])).await?;
    let channel = cluster.channel(Component::Retriever)?;
    Ok((Some(cluster), channel))
}

type Ended = (Component, Result<(), ServeError>);

/// Running services. Dropping it aborts them; [`Cluster::stop`] shuts them down gracefully.
pub struct Cluster {
    urls: BTreeMap<Component, String>,
    security: Security,
    shutdown: CancellationToken,
    running: JoinSet<Ended>,
    kills: BTreeMap<Component, tokio::task::AbortHandle>,
    /// Kept loaded for the services that share it.
    _embedder: Option<Arc<dyn Embedder>>,
    _chats: Vec<Arc<dyn Chat>>,
}

impl Cluster {
    /// Binds the ports, loads the models, starts the services of `plan` and waits until they respond.
    ///
    /// # Errors
    /// A model cannot be loaded, a port is in use, the options conflict, or a service fails to start.
    pub async fn start(local: &LocalOptions, plan: Plan) -> Result<Self> {
        if plan.components.is_empty() {
            bail!("no service to start");
        }
        let local = &local.clone().with_environment().map_err(|error| anyhow!(error))?;
        for (option, chosen) in [("--generator", &local.generator), ("--rewriter", &local.rewriter)] {
            if chosen == &Some(Backend::Cascade) {
                bail!("{option} cascade: only the grader can be a cascade; use embedded, llm or local:MODEL");
            }
        }
        local.chat.check()?;
        let security = Security::of(&plan)?;
        let mut listeners = Vec::new();
        let mut urls = plan.elsewhere.clone();
        for component in &plan.components {
            let address = SocketAddr::new(plan.host, plan.port_of(*component)?);
            let listener = TcpListener::bind(address).await.with_context(|| {
                format!(
                    "{} cannot listen on {address}; give another --base-port, or end the program that uses the port",
                    component.name()
                )
            })?;
            urls.insert(*component, security.url(listener.local_addr()?));
            listeners.push((*component, listener));
        }
        let embeds = [Component::Retriever, Component::Grader, Component::Generator];
        let embedder = if plan.components.iter().any(|component| embeds.contains(component)) {
            Some(progress::embedder(&local.embedder).await?)
        } else {
            None
        };
        let chats = local_chats(local, &plan.components).await?;
        let mut cluster = Self {
            urls,
            security,
            shutdown: CancellationToken::new(),
            running: JoinSet::new(),
            kills: BTreeMap::new(),
            _embedder: embedder,
            _chats: chats,
        };
        for (component, listener) in listeners {
            cluster.launch(component, listener, local)?;
        }
        cluster.ready(&plan.components).await?;
        Ok(cluster)
    }

    /// Waits until every service responds, or one exits.
    async fn ready(&mut self, components: &[Component]) -> Result<()> {
        let mut checks = Vec::new();
        // The gateway has no health of gRPC; it listens, and the others are asked here.
        for component in components.iter().filter(|component| **component != Component::Gateway) {
            checks.push(responds(HealthClient::new(self.channel(*component)?)));
        }
        tokio::select! {
            biased;
            Some(ended) = self.running.join_next() => Err(failure(ended)),
            _ = join_all(checks) => Ok(()),
        }
    }

    fn launch(&mut self, component: Component, listener: TcpListener, local: &LocalOptions) -> Result<()> {
        let shutdown = self.shutdown.clone();
        let chat = chat_of(local, component);
        let handle = match component {
            Component::Retriever => {
                let mut options = self.security.own::<emend_retriever::Options>(component)?;
                options.data_dir = Some(data_dir(local)?);
                options.embedder = local.embedder.clone();
                options.orchestrator_url = self.urls.get(&Component::Orchestrator).cloned();
                self.spawn(component, emend_retriever::serve(options, listener, shutdown))
            }
            Component::Grader => {
                let mut options = self.security.own::<emend_grader::Options>(component)?;
                options.evaluator = local.evaluator.clone();
                options.prompts = local.prompts.clone();
                options.embedder = local.embedder.clone();
                options.backend = match (&chat, &local.grader) {
                    (None, _) => emend_grader::BackendKind::Embedded,
                    (Some(_), Some(Backend::Cascade)) => emend_grader::BackendKind::Cascade,
                    (Some(_), _) => emend_grader::BackendKind::Llm,
                };
                options.chat = chat.unwrap_or_else(|| local.no_chat());
                self.spawn(component, emend_grader::serve(options, listener, shutdown))
            }
            Component::Generator => {
                let mut options = self.security.own::<emend_generator::Options>(component)?;
                options.evaluator = local.evaluator.clone();
                options.prompts = local.prompts.clone();
                options.embedder = local.embedder.clone();
                options.backend = match chat {
                    Some(_) => emend_generator::BackendKind::OpenAi,
                    None => emend_generator::BackendKind::Extractive,
                };
                options.chat = chat.unwrap_or_else(|| local.no_chat());
                self.spawn(component, emend_generator::serve(options, listener, shutdown))
            }
            Component::Rewriter => {
                let mut options = self.security.own::<emend_rewriter::Options>(component)?;
                options.prompts = local.prompts.clone();
                options.backend = match chat {
                    Some(_) => emend_rewriter::BackendKind::Llm,
                    None => emend_rewriter::BackendKind::Keywords,
                };
                options.chat = chat.unwrap_or_else(|| local.no_chat());
                self.spawn(component, emend_rewriter::serve(options, listener, shutdown))
            }
            Component::WebSearch => {
                let mut options = self.security.own::<emend_web_search::Options>(component)?;
                options.web = local.web.clone();
                options.folder.clone_from(&local.web_folder);
                self.spawn(component, emend_web_search::serve(options, listener, shutdown))
            }
            Component::Orchestrator => {
                let mut options = self.security.own::<emend_orchestrator::Options>(component)?;
                options.service_api_key.clone_from(&self.security.key);
                let url = |component: Component| {
                    self.urls
                        .get(&component)
                        .cloned()
                        .with_context(|| format!("{} has no URL", component.name()))
                };
                options.services.retriever_url = url(Component::Retriever)?;
                options.services.grader_url = url(Component::Grader)?;
                options.services.generator_url = url(Component::Generator)?;
                options.services.rewriter_url = url(Component::Rewriter)?;
                options.services.web_search_url = url(Component::WebSearch)?;
                options.graphs_dir.clone_from(&local.graphs_dir);
                options.record_content |= local.chat.llm_record_content;
                self.spawn(component, emend_orchestrator::serve(options, listener, shutdown))
            }
            Component::Gateway => {
                let mut options = self.security.own::<emend_gateway::Options>(component)?;
                options.services.orchestrator_url = self.url(Component::Orchestrator)?.to_owned();
                options.services.retriever_url = self.url(Component::Retriever)?.to_owned();
                self.spawn(component, emend_gateway::serve(options, listener, shutdown))
            }
        };
        self.kills.insert(component, handle);
        Ok(())
    }

    fn spawn(
        &mut self,
        component: Component,
        service: impl Future<Output = Result<(), ServeError>> + Send + 'static,
    ) -> tokio::task::AbortHandle {
        self.running.spawn(async move { (component, service.await) })
    }

    /// The URL of a service.
    ///
    /// # Errors
    /// The plan did not name it.
    pub fn url(&self, component: Component) -> Result<&str> {
        let url = self.urls.get(&component).map(String::as_str);
        url.with_context(|| format!("{} is not part of this cluster", component.name()))
    }

    /// A channel to a service.
    ///
    /// # Errors
    /// The plan did not name it.
    pub fn channel(&self, component: Component) -> Result<TracedChannel> {
        let upstream = Upstream::with_options(self.url(component)?, self.security.upstream.clone())?;
        Ok(upstream.channel())
    }

    /// Aborts one service, as a crash would: its connections break without draining.
    pub fn kill(&mut self, component: Component) {
        if let Some(handle) = self.kills.remove(&component) {
            handle.abort();
        }
    }

    /// Shuts the services down gracefully.
    pub async fn stop(mut self) {
        self.shutdown.cancel();
        while self.running.join_next().await.is_some() {}
    }

    /// Runs until `signal`, then stops like [`Cluster::stop`].
    ///
    /// # Errors
    /// A service exited by itself.
    pub async fn run_until(mut self, signal: impl Future<Output = ()>) -> Result<()> {
        let ended = tokio::select! {
            () = signal => None,
            ended = self.running.join_next() => ended,
        };
        self.stop().await;
        ended.map_or(Ok(()), |ended| Err(failure(ended)))
    }
}

/// Waits until a service responds. Any response will do: it reports its health to its callers. No response means that it is
/// exiting, which its task says better, or that it cannot be reached, which the first call says.
async fn responds(mut health: HealthClient<TracedChannel>) {
    for _ in 0..MAX_HEALTH_CHECKS {
        match health.check(HealthCheckRequest::default()).await {
            Err(status) if status.code() == Code::Unavailable => tokio::time::sleep(BETWEEN_HEALTH_CHECKS).await,
            _ => return,
        }
    }
}

/// Why a service exited.
fn failure(ended: Result<Ended, JoinError>) -> anyhow::Error {
    match ended {
        Ok((component, Err(error))) => anyhow!(error).context(format!("{} failed", component.name())),
        Ok((component, Ok(()))) => anyhow!("{} exited unexpectedly", component.name()),
        Err(error) => anyhow!(error).context("a service task failed"),
    }
}

/// The language model of a component; `None` if it uses none.
pub(crate) fn chat_of(local: &LocalOptions, component: Component) -> Option<ChatOptions> {
    let chosen = match component {
        Component::Grader => &local.grader,
        Component::Generator => &local.generator,
        Component::Rewriter => &local.rewriter,
        Component::Retriever | Component::WebSearch | Component::Orchestrator | Component::Gateway => return None,
    };
    local.chat_of(chosen.as_ref())
}

/// Loads the in-process language models, so that the services share them.
async fn local_chats(local: &LocalOptions, components: &[Component]) -> Result<Vec<Arc<dyn Chat>>> {
    let mut chats = Vec::new();
    for options in components.iter().filter_map(|component| chat_of(local, *component)) {
        if options.llm_local.is_some() {
            let (shown, progress) = ModelProgress::start();
            let loaded = options.load(progress).await;
            shown.finish();
            chats.extend(loaded?);
        }
    }
    Ok(chats)
}

/// The data folder of the collections.
pub(crate) fn data_dir(local: &LocalOptions) -> Result<PathBuf> {
    match &local.data_dir {
        Some(folder) => Ok(folder.clone()),
        None => Ok(user_folder()?.join("collections")),
    }
}

/// The folder of this program in the user's data folder.
pub(crate) fn user_folder() -> Result<PathBuf> {
    let strategy = etcetera::choose_base_strategy().context("no home folder found: set --data-dir")?;
    Ok(strategy.data_dir().join("emend"))
}
