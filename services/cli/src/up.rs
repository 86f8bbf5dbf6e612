//! `emend up`: runs the six services until Ctrl-C.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::{
    args::UpOptions,
    cluster::{Cluster, Component, Plan},
    terminal,
};

/// What a service reads from the environment and six together cannot.
const OF_ONE_SERVICE: [&str; 7] = [
    "EMEND_LISTEN",
    "EMEND_CONFIG",
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
                "{variable} is set, which is an option of one service, and `emend up` runs six: unset it; \
                 where they listen is --host (EMEND_HOST) and --base-port (EMEND_BASE_PORT)"
            );
        }
    }
    let stop = emend_chassis::stop_on_signal()?;
    let plan = Plan {
        host: options.host,
        base_port: options.base_port,
        ..Plan::default()
    };
    let cluster = Cluster::start(&options.local, plan).await?;
    for component in Component::ALL {
        terminal::println(format_args!("{:<13} {}", component.name(), cluster.url(component)?))?;
    }
    let (retriever, orchestrator) = (
        cluster.url(Component::Retriever)?,
        cluster.url(Component::Orchestrator)?,
    );
    terminal::println(format_args!(
        "\nemend ingest --url {retriever} FOLDER\nemend ask --url {orchestrator} \"QUESTION\"\nPress Ctrl-C to stop."
    ))?;
    cluster.run_until(stop.cancelled_owned()).await?;
    Ok(ExitCode::SUCCESS)
}
