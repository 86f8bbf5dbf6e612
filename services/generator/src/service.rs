//! The gRPC adapter: validate, hand to an actor, map the error.

use std::pin::Pin;

use emend_chassis::ActorHandle;
use emend_proto::v1::generator_service_server::GeneratorService;
use emend_proto::v1::{GenerateRequest, GenerateResponse};
use futures::Stream;
use tonic::{Request, Response, Status};

use crate::validate;
use crate::work::{Generate, Generator};

/// Events buffered for a slow reader. When the buffer is full, the backend waits.
const STREAM_CAPACITY: usize = 16;

/// `emend.v1.GeneratorService` in front of the actors.
pub(crate) struct Service(pub(crate) ActorHandle<Generator>);

#[tonic::async_trait]
impl GeneratorService for Service {
    type GenerateStream = Pin<Box<dyn Stream<Item = Result<GenerateResponse, Status>> + Send>>;

    async fn generate(&self, request: Request<GenerateRequest>) -> Result<Response<Self::GenerateStream>, Status> {
        let caller = self.0.caller(&request);
        let request = request.into_inner();
        validate::generate(&request)?;
        let events = self
            .0
            .stream(caller, STREAM_CAPACITY, |events| Generate { request, events });
        Ok(Response::new(Box::pin(events)))
    }
}
