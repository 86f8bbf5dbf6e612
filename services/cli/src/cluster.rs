//! The six services in one process, each on a port of its own, with real gRPC connections between them.

use std::{
    collections::BTreeMap,
    future::Future,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use anyhow::{Context as _, Result, anyhow, bail};
use emend_chassis::{ServeError, TracedChannel, Upstream, config::defaults};
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
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::{
    args::{Backend, LocalOptions},
    progress::{self, ModelProgress},
};

/// One of the six services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// Walks the graphs.
    Orchestrator,
    /// Keeps and finds passages.
    Retriever,
    /// Grades passages and answers.
    Grader,
    /// Writes answers.
    Generator,
    /// Rewrites questions.
    Rewriter,
    /// Searches the web.
    WebSearch,
}

impl Component {
    /// All six, in the order of their default ports.
    pub const ALL: [Self; 6] = [
        Self::Orchestrator,
        Self::Retriever,
        Self::Grader,
        Self::Generator,
        Self::Rewriter,
        Self::WebSearch,
    ];

    /// As users know it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Orchestrator => "orchestrator",
            Self::Retriever => "retriever",
            Self::Grader => "grader",
            Self::Generator => "generator",
            Self::Rewriter => "rewriter",
            Self::WebSearch => "web-search",
        }
    }
}

/// What runs here, where it listens, and what runs elsewhere.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Address to listen on.
    pub host: IpAddr,
    /// Port of the orchestrator, the others take the ones after it; 0 takes free ports.
    pub base_port: u16,
    /// What runs here.
    pub components: Vec<Component>,
    /// What runs elsewhere, by its URL.
    pub elsewhere: BTreeMap<Component, String>,
}

impl Default for Plan {
    /// All six on free loopback ports.
    fn default() -> Self {
        Self {
            host: Ipv4Addr::LOCALHOST.into(),
            base_port: 0,
            components: Component::ALL.to_vec(),
            elsewhere: BTreeMap::new(),
        }
    }
}

impl Plan {
    /// One service on a free loopback port.
    #[must_use]
    pub fn only(component: Component) -> Self {
        Self {
            components: vec![component],
            ..Self::default()
        }
    }

    /// With one service somewhere else.
    #[must_use]
    pub fn elsewhere(mut self, component: Component, url: impl Into<String>) -> Self {
        self.components.retain(|here| *here != component);
        self.elsewhere.insert(component, url.into());
        self
    }

    fn port_of(&self, component: Component) -> Result<u16> {
        if self.base_port == 0 {
            return Ok(0);
        }
        let offset = Component::ALL
            .iter()
            .position(|known| *known == component)
            .unwrap_or_default();
        u16::try_from(usize::from(self.base_port) + offset)
            .map_err(|_| anyhow!("the base port {} leaves no room for six ports", self.base_port))
    }
}

type Ended = (Component, Result<(), ServeError>);

/// Running services. Dropping it ends them at once; [`Cluster::stop`] lets them finish.
pub struct Cluster {
    urls: BTreeMap<Component, String>,
    shutdown: CancellationToken,
    running: JoinSet<Ended>,
    kills: BTreeMap<Component, tokio::task::AbortHandle>,
    /// Loaded once, before the services that share it start.
    _embedder: Option<Arc<dyn Embedder>>,
    _chats: Vec<Arc<dyn Chat>>,
}

impl Cluster {
    /// Loads the models, binds every port, starts the services of `plan` and waits until they serve.
    ///
    /// # Errors
    /// A model cannot be had, a port is taken, the options contradict each other, or a service does not start.
    pub async fn start(local: &LocalOptions, plan: Plan) -> Result<Self> {
        if plan.components.is_empty() {
            bail!("no service to start");
        }
        for (option, chosen) in [("--generator", &local.generator), ("--rewriter", &local.rewriter)] {
            if chosen == &Some(Backend::Cascade) {
                bail!("{option} cascade: only the grader can be a cascade; use embedded, llm or local:MODEL");
            }
        }
        local.chat.check()?;
        let embeds = [Component::Retriever, Component::Grader, Component::Generator];
        let embedder = if plan.components.iter().any(|component| embeds.contains(component)) {
            Some(progress::embedder(&local.embedder).await?)
        } else {
            None
        };
        let chats = local_chats(local, &plan.components).await?;
        let mut listeners = Vec::new();
        let mut urls = plan.elsewhere.clone();
        for component in &plan.components {
            let address = SocketAddr::new(plan.host, plan.port_of(*component)?);
            let listener = TcpListener::bind(address)
                .await
                .with_context(|| format!("the {} cannot listen on {address}", component.name()))?;
            urls.insert(*component, format!("http://{}", listener.local_addr()?));
            listeners.push((*component, listener));
        }
        let mut cluster = Self {
            urls,
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

    /// Waits until every service answers, or one has ended.
    async fn ready(&mut self, components: &[Component]) -> Result<()> {
        let mut checks = Vec::new();
        for component in components {
            let mut health = HealthClient::new(self.channel(*component)?);
            checks.push(async move { health.check(HealthCheckRequest::default()).await });
        }
        tokio::select! {
            biased;
            Some(ended) = self.running.join_next() => Err(failure(ended)),
            // Whatever they answer, they answer: what a service thinks of its health it says to those who call it.
            _ = join_all(checks) => Ok(()),
        }
    }

    fn launch(&mut self, component: Component, listener: TcpListener, local: &LocalOptions) -> Result<()> {
        let shutdown = self.shutdown.clone();
        let chat = chat_of(local, component);
        let handle = match component {
            Component::Retriever => {
                let mut options = defaults::<emend_retriever::Options>();
                options.data_dir = Some(data_dir(local)?);
                options.embedder = local.embedder.clone();
                self.spawn(component, emend_retriever::serve(options, listener, shutdown))
            }
            Component::Grader => {
                let mut options = defaults::<emend_grader::Options>();
                options.evaluator = local.evaluator.clone();
                options.prompts = local.prompts.clone();
                options.embedder = local.embedder.clone();
                if let Some(chat) = chat {
                    options.chat = chat;
                    options.backend = match local.grader {
                        Some(Backend::Cascade) => emend_grader::BackendKind::Cascade,
                        _ => emend_grader::BackendKind::Llm,
                    };
                }
                self.spawn(component, emend_grader::serve(options, listener, shutdown))
            }
            Component::Generator => {
                let mut options = defaults::<emend_generator::Options>();
                options.evaluator = local.evaluator.clone();
                options.prompts = local.prompts.clone();
                options.embedder = local.embedder.clone();
                if let Some(chat) = chat {
                    options.chat = chat;
                    options.backend = emend_generator::BackendKind::OpenAi;
                }
                self.spawn(component, emend_generator::serve(options, listener, shutdown))
            }
            Component::Rewriter => {
                let mut options = defaults::<emend_rewriter::Options>();
                options.prompts = local.prompts.clone();
                if let Some(chat) = chat {
                    options.chat = chat;
                    options.backend = emend_rewriter::BackendKind::Llm;
                }
                self.spawn(component, emend_rewriter::serve(options, listener, shutdown))
            }
            Component::WebSearch => {
                let mut options = defaults::<emend_web_search::Options>();
                if let Some(folder) = &local.web_folder {
                    options.provider = Some(emend_web_search::ProviderKind::Folder);
                    options.folder = Some(folder.clone());
                }
                self.spawn(component, emend_web_search::serve(options, listener, shutdown))
            }
            Component::Orchestrator => {
                let mut options = defaults::<emend_orchestrator::Options>();
                let url = |component: Component| {
                    self.urls
                        .get(&component)
                        .cloned()
                        .with_context(|| format!("the {} has no URL", component.name()))
                };
                options.services.retriever_url = url(Component::Retriever)?;
                options.services.grader_url = url(Component::Grader)?;
                options.services.generator_url = url(Component::Generator)?;
                options.services.rewriter_url = url(Component::Rewriter)?;
                options.services.web_search_url = url(Component::WebSearch)?;
                options.graphs_dir.clone_from(&local.graphs_dir);
                self.spawn(component, emend_orchestrator::serve(options, listener, shutdown))
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

    /// Where a service is.
    ///
    /// # Errors
    /// The plan did not name it.
    pub fn url(&self, component: Component) -> Result<&str> {
        let url = self.urls.get(&component).map(String::as_str);
        url.with_context(|| format!("the {} does not run here", component.name()))
    }

    /// A connection to a service.
    ///
    /// # Errors
    /// The plan did not name it.
    pub fn channel(&self, component: Component) -> Result<TracedChannel> {
        Ok(Upstream::new(self.url(component)?)?.channel())
    }

    /// Ends one service at once, as a crash would: its connections break, nothing drains.
    pub fn kill(&mut self, component: Component) {
        if let Some(handle) = self.kills.remove(&component) {
            handle.abort();
        }
    }

    /// Lets every service finish what it has begun, and ends them.
    pub async fn stop(mut self) {
        self.shutdown.cancel();
        while self.running.join_next().await.is_some() {}
    }

    /// Runs until `signal`, then as [`Cluster::stop`].
    ///
    /// # Errors
    /// A service ended by itself.
    pub async fn run_until(mut self, signal: impl Future<Output = ()>) -> Result<()> {
        let ended = tokio::select! {
            () = signal => None,
            ended = self.running.join_next() => ended,
        };
        self.stop().await;
        ended.map_or(Ok(()), |ended| Err(failure(ended)))
    }
}

/// Why a service has ended by itself.
fn failure(ended: Result<Ended, JoinError>) -> anyhow::Error {
    match ended {
        Ok((component, Err(error))) => anyhow!(error).context(format!("the {} ended", component.name())),
        Ok((component, Ok(()))) => anyhow!("the {} ended by itself", component.name()),
        Err(error) => anyhow!(error).context("a service ended"),
    }
}

/// The language model of a component; none where it does without.
fn chat_of(local: &LocalOptions, component: Component) -> Option<ChatOptions> {
    let chosen = match component {
        Component::Grader => &local.grader,
        Component::Generator => &local.generator,
        Component::Rewriter => &local.rewriter,
        Component::Retriever | Component::WebSearch | Component::Orchestrator => return None,
    };
    local.chat_of(chosen.as_ref())
}

/// Loads the language models that run in this process, so that the services that share one find it.
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

/// Where collections are kept.
fn data_dir(local: &LocalOptions) -> Result<PathBuf> {
    match &local.data_dir {
        Some(folder) => Ok(folder.clone()),
        None => {
            let strategy = etcetera::choose_base_strategy().context("there is no home folder: give --data-dir")?;
            Ok(strategy.data_dir().join("emend").join("collections"))
        }
    }
}
