//! The two ways to have the same work done.

use clap::ValueEnum;
use emend_chassis::{TracedChannel, Upstream};
use emend_proto::v1::{
    AskRequest, GenerateRequest, GradeDocumentsRequest, GradeGroundednessRequest, GradeUsefulnessRequest, Question,
    Relevance, RetrieveRequest, Support, WalkStatus, generate_response::Event,
    generator_service_client::GeneratorServiceClient, grader_service_client::GraderServiceClient,
    orchestrator_service_client::OrchestratorServiceClient, retriever_service_client::RetrieverServiceClient,
};
use emend_testkit::repeated::Workload;
use tonic::{
    body::Body,
    client::GrpcService,
    transport::{Channel, Endpoint},
};

use crate::{Failure, processes::Processes, scripted::PASSAGES};

/// What is asked, over and over.
const QUESTION: &str = "How do I keep the soil under a hedge moist in a dry summer?";

/// What the bare calls go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bare {
    /// A plain channel of tonic a service.
    Tonic,
    /// What the orchestrator itself has: balanced, traced, bounded.
    Chassis,
}

impl Bare {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Bare::Tonic => "tonic",
            Bare::Chassis => "chassis",
        }
    }
}

/// A connection of its own.
async fn connect(url: String) -> Result<Channel, Failure> {
    Ok(Endpoint::from_shared(url)?.connect().await?)
}

/// The orchestrator does it.
#[derive(Clone)]
pub(crate) struct Walk(OrchestratorServiceClient<Channel>);

impl Walk {
    /// Over a new connection.
    pub(crate) async fn connect(processes: &Processes) -> Result<Walk, Failure> {
        let channel = connect(processes.orchestrator.url()).await?;
        Ok(Walk(OrchestratorServiceClient::new(channel)))
    }
}

impl Workload for Walk {
    async fn once(&mut self) -> Result<(), Failure> {
        let question = Question {
            question: QUESTION.to_owned(),
            graph: "self-rag".to_owned(),
            ..Question::default()
        };
        let request = AskRequest {
            question: Some(question),
        };
        let result = self.0.ask(request).await?.into_inner().result.unwrap_or_default();
        if result.status() != WalkStatus::Answered || result.steps.len() != 4 {
            return Err(format!(
                "a walk ended in {} after {} steps: {}",
                result.status().as_str_name(),
                result.steps.len(),
                result.reason
            )
            .into());
        }
        Ok(())
    }
}

/// The caller does it.
#[derive(Clone)]
pub(crate) struct Calls<C> {
    retriever: RetrieverServiceClient<C>,
    grader: GraderServiceClient<C>,
    generator: GeneratorServiceClient<C>,
}

impl Calls<Channel> {
    /// Over a new plain connection a service.
    pub(crate) async fn over_tonic(processes: &Processes) -> Result<Calls<Channel>, Failure> {
        let [retriever, grader, generator] = processes.urls()?;
        Ok(Calls {
            retriever: RetrieverServiceClient::new(connect(retriever).await?),
            grader: GraderServiceClient::new(connect(grader).await?),
            generator: GeneratorServiceClient::new(connect(generator).await?),
        })
    }
}

impl Calls<TracedChannel> {
    /// Over upstreams as the orchestrator has them.
    pub(crate) fn over_chassis(processes: &Processes) -> Result<Calls<TracedChannel>, Failure> {
        let [retriever, grader, generator] = processes.urls()?;
        Ok(Calls {
            retriever: RetrieverServiceClient::new(Upstream::new(&retriever)?.channel()),
            grader: GraderServiceClient::new(Upstream::new(&grader)?.channel()),
            generator: GeneratorServiceClient::new(Upstream::new(&generator)?.channel()),
        })
    }
}

impl<C> Workload for Calls<C>
where
    C: GrpcService<Body, ResponseBody = Body> + Clone + Send + Sync + 'static,
    C::Error: Into<Failure>,
    C::Future: Send,
{
    async fn once(&mut self) -> Result<(), Failure> {
        let request = RetrieveRequest {
            query: QUESTION.to_owned(),
            top_k: Some(PASSAGES as u32),
            ..RetrieveRequest::default()
        };
        let passages = self.retriever.retrieve(request).await?.into_inner().passages;
        check(passages.len() == PASSAGES, "passages are missing")?;

        let request = GradeDocumentsRequest {
            question: QUESTION.to_owned(),
            passages: passages.clone(),
            ..GradeDocumentsRequest::default()
        };
        let graded = self.grader.grade_documents(request).await?.into_inner();
        let relevant = graded
            .grades
            .iter()
            .all(|grade| grade.relevance() == Relevance::Relevant);
        check(graded.grades.len() == PASSAGES && relevant, "a passage is not relevant")?;

        let request = GenerateRequest {
            question: QUESTION.to_owned(),
            passages: passages.clone(),
            attempt: 1,
            ..GenerateRequest::default()
        };
        let mut messages = self.generator.generate(request).await?.into_inner();
        let mut text = String::new();
        let mut finished = None;
        while let Some(message) = messages.message().await? {
            match message.event {
                Some(Event::TextDelta(delta)) => text.push_str(&delta),
                Some(Event::Finished(end)) => finished = Some(end),
                None => {}
            }
        }
        let finished = finished.unwrap_or_default();
        check(
            !text.is_empty() && finished.answer == text,
            "the answer is not what was streamed",
        )?;

        let groundedness = GradeGroundednessRequest {
            question: QUESTION.to_owned(),
            passages,
            answer: finished.answer.clone(),
            sentences: finished.sentences,
        };
        let usefulness = GradeUsefulnessRequest {
            question: QUESTION.to_owned(),
            answer: finished.answer,
            ..GradeUsefulnessRequest::default()
        };
        let mut other = self.grader.clone();
        let (groundedness, usefulness) = tokio::try_join!(
            self.grader.grade_groundedness(groundedness),
            other.grade_usefulness(usefulness)
        )?;
        let supported = groundedness.get_ref().support() == Support::FullySupported;
        check(supported && usefulness.get_ref().useful(), "the answer did not pass")
    }
}

/// An error unless the bare calls brought what they should.
fn check(good: bool, otherwise: &str) -> Result<(), Failure> {
    if good { Ok(()) } else { Err(otherwise.into()) }
}
