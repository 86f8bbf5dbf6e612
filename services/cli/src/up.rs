//! `emend up`: runs the six services and the gateway until Ctrl-C.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::{
    args::UpOptions,
    cluster::{Cluster, Component, Plan},
    render, terminal,
};

/// What a service reads from the environment and all together cannot.
const OF_ONE_SERVICE: [&str; 7] = [
    "EMEND_LISTEN",
    "EMEND_ORCHESTRATOR_URL",
    "EMEND_RETRIEVER_URL",
    "EMEND_GRADER_URL",
    "EMEND_GENERATOR_URL",
    "EMEND_REWRITER_URL",
    "EMEND_WEB_SEARCH_URL",
];

/// Runs the services until a stop signal.
///
/// # Errors
/// The environment has an option of one service alone, or a service fails to start or exits by itself.
pub async fn run(options: UpOptions) -> Result<ExitCode> {
    for variable in OF_ONE_SERVICE {
        if std::env::var_os(variable).is_some_and(|value| !value.is_empty()) {
            bail!(
                "{variable} is set, which is an option of one service, and `emend up` runs all: unset it; \
                 where they listen is --host (EMEND_HOST) and --base-port (EMEND_BASE_PORT)"
            );
        }
    }
    let stop = emend_chassis::stop_on_signal()?;
    let plan = Plan {
        host: options.host,
        base_port: options.base_port,
        components: Component::ALL.to_vec(),
        public: true,
        ..Plan::default()
    };
    let cluster = Cluster::start(&options.local, plan).await?;
    match say_where(&cluster) {
        // They serve all the same.
        Err(error) if render::reader_left(&error) => {}
        said => said?,
    }
    cluster.run_until(stop.cancelled_owned()).await?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the addresses, and what to do with them.
fn say_where(cluster: &Cluster) -> Result<()> {
    // First what people and programs without gRPC begin with.
    for component in std::iter::once(Component::Gateway).chain(Component::SERVICES) {
        terminal::println(format_args!("{:<13} {}", component.name(), cluster.url(component)?))?;
    }
    let gateway = cluster.url(Component::Gateway)?;
    let (retriever, orchestrator) = (
        cluster.url(Component::Retriever)?,
        cluster.url(Component::Orchestrator)?,
    );
    terminal::println(format_args!(
        "\nIn a browser: {gateway}/\nemend ingest --url {retriever} FOLDER\nemend ask --url {orchestrator} \"QUESTION\"\n\
         curl {gateway}/v1/ask --json '{{\"question\": \"QUESTION\"}}'\nPress Ctrl-C to stop."
    ))?;
    Ok(())
}
