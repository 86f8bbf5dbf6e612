//! `/livez` and `/readyz`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use emend_chassis::TracedChannel;
use emend_core::Deadline;
use http::StatusCode;
use tonic_health::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::Gateway;
use crate::problem::Problem;

/// How long a service may take to say that it is there.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The process answers.
pub(crate) async fn live() -> &'static str {
    "ok\n"
}

/// Requests can be answered: both services say that they serve, and the gateway does not drain.
pub(crate) async fn ready(State(gateway): State<Arc<Gateway>>) -> Result<&'static str, Problem> {
    if gateway.draining.is_cancelled() {
        return Err(unready("the gateway is shutting down".to_owned()));
    }
    let services = &gateway.services;
    tokio::try_join!(
        serves("orchestrator", services.orchestrator.clone()),
        serves("retriever", services.retriever.clone()),
    )?;
    Ok("ok\n")
}

async fn serves(name: &str, channel: TracedChannel) -> Result<(), Problem> {
    let asked = emend_chassis::request(HealthCheckRequest::default(), Deadline::after(PROBE_TIMEOUT));
    match HealthClient::new(channel).check(asked).await {
        Ok(answer) if answer.get_ref().status == ServingStatus::Serving as i32 => Ok(()),
        Ok(_) => Err(unready(format!("the {name} does not serve"))),
        Err(status) => Err(unready(format!("the {name} does not answer: {}", status.message()))),
    }
}

fn unready(detail: String) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", detail)
}
