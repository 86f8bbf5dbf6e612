//! The gRPC adapter: validate, hand to the actor, map the error.

use std::pin::Pin;
use std::time::Duration;

use emend_chassis::{ActorHandle, Caller};
use emend_proto::v1::generator_service_server::GeneratorService;
use emend_proto::v1::{GenerateRequest, GenerateResponse};
use futures::Stream;
use tonic::{Request, Response, Status};

use crate::actor::GeneratorActor;
use crate::messages::Generate;
use crate::validate;

/// Events that wait for a slow reader before the backend has to.
const STREAM_CAPACITY: usize = 16;

/// `emend.v1.GeneratorService` in front of the actor.
pub(crate) struct Service {
    actor: ActorHandle<GeneratorActor>,
    default_timeout: Duration,
}

impl Service {
    pub(crate) fn new(actor: ActorHandle<GeneratorActor>, default_timeout: Duration) -> Self {
        Self { actor, default_timeout }
    }
}

#[tonic::async_trait]
impl GeneratorService for Service {
    type GenerateStream = Pin<Box<dyn Stream<Item = Result<GenerateResponse, Status>> + Send>>;

    async fn generate(&self, request: Request<GenerateRequest>) -> Result<Response<Self::GenerateStream>, Status> {
        let caller = Caller::of(&request, self.default_timeout);
        let request = request.into_inner();
        validate::generate(&request)?;
        let events = self
            .actor
            .stream(caller, STREAM_CAPACITY, |events| Generate { request, events });
        Ok(Response::new(Box::pin(events)))
    }
}
