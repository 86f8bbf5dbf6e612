//! `emend up`: runs the six services until Ctrl-C.

use std::process::ExitCode;

use anyhow::Result;

use crate::{
    args::UpOptions,
    cluster::{Cluster, Component, Plan},
};

/// Runs the services until a stop signal.
///
/// # Errors
/// A service fails to start or exits by itself.
pub async fn run(options: UpOptions) -> Result<ExitCode> {
    let stop = emend_chassis::stop_on_signal()?;
    let plan = Plan {
        host: options.host,
        base_port: options.base_port,
        ..Plan::default()
    };
    let cluster = Cluster::start(&options.local, plan).await?;
    for component in Component::ALL {
        anstream::println!("{:<13} {}", component.name(), cluster.url(component)?);
    }
    anstream::println!();
    anstream::println!("emend ingest --url {} FOLDER", cluster.url(Component::Retriever)?);
    anstream::println!("emend ask --url {} \"QUESTION\"", cluster.url(Component::Orchestrator)?);
    anstream::println!("Press Ctrl-C to stop.");
    cluster.run_until(stop.cancelled_owned()).await?;
    Ok(ExitCode::SUCCESS)
}
