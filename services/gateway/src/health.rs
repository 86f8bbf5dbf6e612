//! Whether requests can be answered: `/livez`, `/readyz`, gRPC's health, and `/readyz` of the port of metrics.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use emend_chassis::{Ready, TracedChannel, refusal};
use emend_core::{Deadline, Reason, cut};
use futures::future::BoxFuture;
use futures::stream::Empty;
use http::StatusCode;
use tonic::{Request, Response, Status};
use tonic_health::ServingStatus;
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_client::HealthClient, health_server::Health as HealthApi,
};

use crate::Gateway;
use crate::problem::Problem;

/// How long a service may take to say that it is there.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The process answers.
pub(crate) async fn live() -> &'static str {
    "ok\n"
}

/// Requests can be answered.
pub(crate) async fn ready(State(gateway): State<Arc<Gateway>>) -> Result<&'static str, Problem> {
    gateway.ready().await.map(|()| "ok\n")
}

impl Gateway {
    /// Both services say that they serve, and the gateway does not drain.
    async fn ready(&self) -> Result<(), Problem> {
        if self.draining.is_cancelled() {
            return Err(unready(Reason::ShuttingDown, "the gateway is shutting down"));
        }
        let services = &self.services;
        tokio::try_join!(
            serves("orchestrator", services.orchestrator.clone()),
            serves("retriever", services.retriever.clone()),
        )?;
        Ok(())
    }
}

impl Ready for Gateway {
    fn is_ready(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { self.ready().await.is_ok() })
    }
}

async fn serves(name: &str, channel: TracedChannel) -> Result<(), Problem> {
    let asked = emend_chassis::request(HealthCheckRequest::default(), Deadline::after(PROBE_TIMEOUT));
    let problem = match HealthClient::new(channel).check(asked).await {
        Ok(answer) if answer.get_ref().status == ServingStatus::Serving as i32 => return Ok(()),
        Ok(_) => format!("the {name} does not serve"),
        Err(status) => format!("the {name} does not answer: {}", status.message()),
    };
    Err(unready(Reason::ServiceUnavailable, problem))
}

fn unready(reason: Reason, detail: impl Into<String>) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, reason, detail)
}

/// gRPC's health for the gateway as a whole, so that it is asked as every other service is.
pub(crate) struct Health(pub(crate) Arc<Gateway>);

#[tonic::async_trait]
impl HealthApi for Health {
    type WatchStream = Empty<Result<HealthCheckResponse, Status>>;

    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        let HealthCheckRequest { service } = request.into_inner();
        if !service.is_empty() {
            let message = format!("the gateway has no gRPC service `{}`: ask for all of it", cut(&service));
            return Err(refusal(Reason::PathNotFound, message));
        }
        let status = match self.0.ready().await {
            Ok(()) => ServingStatus::Serving,
            Err(_) => ServingStatus::NotServing,
        };
        Ok(Response::new(HealthCheckResponse { status: status as i32 }))
    }

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(refusal(Reason::MethodUnknown, "the gateway's health is asked by Check"))
    }
}
