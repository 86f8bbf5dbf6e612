//! The work as a user of the orchestrator has it done.

use emend_proto::v1::{AskRequest, Question, WalkStatus, orchestrator_service_client::OrchestratorServiceClient};
use emend_testkit::repeated::Workload;
use tonic::transport::{Channel, Endpoint};

use crate::{Failure, QUESTION, services::COLLECTION};

/// Calls of the chat model that a walk makes: four passages, one answer, two grades of it.
const CHAT_CALLS: u32 = 7;

/// A client of the orchestrator.
#[derive(Clone)]
pub(crate) struct Walk(OrchestratorServiceClient<Channel>);

impl Walk {
    /// Over a new connection.
    pub(crate) async fn connect(url: String) -> Result<Walk, Failure> {
        let channel = Endpoint::from_shared(url)?.connect().await?;
        Ok(Walk(OrchestratorServiceClient::new(channel)))
    }
}

impl Workload for Walk {
    async fn once(&mut self) -> Result<(), Failure> {
        let question = Question {
            question: QUESTION.to_owned(),
            graph: "self-rag".to_owned(),
            collection: COLLECTION.to_owned(),
            ..Question::default()
        };
        let request = AskRequest {
            question: Some(question),
        };
        let result = self.0.ask(request).await?.into_inner().result.unwrap_or_default();
        let calls = result.usage.unwrap_or_default().model_calls;
        if result.status() == WalkStatus::Answered && result.steps.len() == 4 && calls == CHAT_CALLS {
            return Ok(());
        }
        let (status, steps, reason) = (result.status().as_str_name(), result.steps.len(), result.reason);
        Err(format!("a walk ended in {status} after {steps} steps and {calls} calls: {reason}").into())
    }
}
