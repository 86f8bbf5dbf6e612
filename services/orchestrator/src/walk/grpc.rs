//! The five services over gRPC.

use std::future::Future;

use emend_chassis::{
    Attempt, TracedChannel, Upstream, UpstreamError, UpstreamOptions, code_of_grpc, failed_model_calls, reason_of,
    resource_of, retrying, status,
};
use emend_core::{Code, Deadline, FieldViolation, Reason};
use emend_proto::v1::{
    DecideRetrievalRequest, DecideRetrievalResponse, GenerateRequest, GenerateResponse, GradeDocumentsRequest,
    GradeDocumentsResponse, GradeGroundednessRequest, GradeGroundednessResponse, GradeUsefulnessRequest,
    GradeUsefulnessResponse, RefineKnowledgeRequest, RefineKnowledgeResponse, RetrieveRequest, RetrieveResponse,
    RewriteRequest, RewriteResponse, SearchRequest, SearchResponse, Usage, generate_response::Event,
    generator_service_client::GeneratorServiceClient, grader_service_client::GraderServiceClient,
    retriever_service_client::RetrieverServiceClient, rewriter_service_client::RewriterServiceClient,
    web_search_service_client::WebSearchServiceClient,
};
use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream, stream::BoxStream};
use tonic::{Response, Status, Streaming};
use tonic_types::StatusExt as _;

use super::{
    outage::MAX_CAUSE_BYTES,
    services::{Answer, Dependency, Failure, Services},
};
use crate::config::ServiceUrls;

/// Most violations that are passed on; whoever corrects these learns of the others then.
const MAX_VIOLATIONS: usize = 10;

/// Largest reply of a service: a hundred passages of 64 KiB, and their metadata.
const MAX_REPLY_BYTES: usize = 32 * 1024 * 1024;

/// Clients of the five services, balanced over their replicas. Calls are retried on another replica
/// where that is safe, within the deadline of the hop.
#[derive(Clone, Debug)]
pub struct GrpcServices {
    retriever: RetrieverServiceClient<TracedChannel>,
    grader: GraderServiceClient<TracedChannel>,
    generator: GeneratorServiceClient<TracedChannel>,
    rewriter: RewriterServiceClient<TracedChannel>,
    web_search: WebSearchServiceClient<TracedChannel>,
}

impl GrpcServices {
    /// Creates clients for these URLs. They connect at the first call. Must be called inside a
    /// tokio runtime.
    ///
    /// # Errors
    /// [`UpstreamError`] if a URL is malformed or does not go with the options.
    pub fn new(urls: &ServiceUrls, options: &UpstreamOptions) -> Result<GrpcServices, UpstreamError> {
        let channel = |url: &str| Upstream::with_options(url, options.clone()).map(|upstream| upstream.channel());
        Ok(GrpcServices {
            retriever: RetrieverServiceClient::new(channel(&urls.retriever_url)?)
                .max_decoding_message_size(MAX_REPLY_BYTES),
            grader: GraderServiceClient::new(channel(&urls.grader_url)?).max_decoding_message_size(MAX_REPLY_BYTES),
            generator: GeneratorServiceClient::new(channel(&urls.generator_url)?)
                .max_decoding_message_size(MAX_REPLY_BYTES),
            rewriter: RewriterServiceClient::new(channel(&urls.rewriter_url)?)
                .max_decoding_message_size(MAX_REPLY_BYTES),
            web_search: WebSearchServiceClient::new(channel(&urls.web_search_url)?)
                .max_decoding_message_size(MAX_REPLY_BYTES),
        })
    }
}

/// Makes a call, and makes it again where it did not reach a working service.
///
/// A model that failed behind a service is none of those: the service knows whether trying again helps, and has tried. To
/// ask it again would multiply its tries by ours.
async fn asking<T, F, Fut>(deadline: Deadline, mut call: F) -> Result<T, Status>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<T, Status>>,
{
    let attempt = |attempt| {
        let answer = call(attempt);
        async move {
            match answer.await {
                Err(status) if failed_model_calls(&status).is_some() => Ok(Err(status)),
                answer => answer.map(Ok),
            }
        }
    };
    retrying(deadline, attempt).await.flatten()
}

/// Makes a unary call.
async fn unary<T, F, Fut>(dependency: Dependency, deadline: Deadline, call: F) -> Result<T, Failure>
where
    F: FnMut(Attempt) -> Fut,
    Fut: Future<Output = Result<Response<T>, Status>>,
{
    asking(deadline, call)
        .await
        .map(Response::into_inner)
        .map_err(|status| failure(dependency, &status))
}

fn failure(dependency: Dependency, status: &Status) -> Failure {
    let violations = status
        .get_details_bad_request()
        .map(|bad| bad.field_violations)
        .unwrap_or_default();
    let mut message = status.message().to_owned();
    message.truncate(message.floor_char_boundary(MAX_CAUSE_BYTES));
    let (code, reason) = match code_of_grpc(status.code()) {
        // Whoever asks can do nothing about the key of this service.
        Code::Unauthenticated | Code::PermissionDenied => (Code::Internal, Reason::Fault),
        code => (code, reason_of(status)),
    };
    Failure {
        dependency,
        code,
        reason,
        resource: resource_of(status),
        message: match status.code() {
            tonic::Code::DeadlineExceeded => "no answer within its share of the time that was left".to_owned(),
            tonic::Code::Unauthenticated | tonic::Code::PermissionDenied => {
                format!("it does not take the key of the orchestrator (--service-api-key-file): {message}")
            }
            _ => message,
        },
        usage: Usage {
            model_calls: failed_model_calls(status).unwrap_or_default(),
            ..Usage::default()
        },
        violations: violations
            .into_iter()
            .take(MAX_VIOLATIONS)
            .map(|violation| FieldViolation {
                field: violation.field,
                description: violation.description,
            })
            .collect(),
    }
}

impl Services for GrpcServices {
    fn retrieve(&self, request: RetrieveRequest, deadline: Deadline) -> Answer<'_, RetrieveResponse> {
        unary(Dependency::Retriever, deadline, move |attempt| {
            let (mut client, request) = (self.retriever.clone(), attempt.request(request.clone()));
            async move { client.retrieve(request).await }
        })
        .boxed()
    }

    fn grade_documents(
        &self,
        request: GradeDocumentsRequest,
        deadline: Deadline,
    ) -> Answer<'_, GradeDocumentsResponse> {
        unary(Dependency::Grader, deadline, move |attempt| {
            let (mut client, request) = (self.grader.clone(), attempt.request(request.clone()));
            async move { client.grade_documents(request).await }
        })
        .boxed()
    }

    fn grade_groundedness(
        &self,
        request: GradeGroundednessRequest,
        deadline: Deadline,
    ) -> Answer<'_, GradeGroundednessResponse> {
        unary(Dependency::Grader, deadline, move |attempt| {
            let (mut client, request) = (self.grader.clone(), attempt.request(request.clone()));
            async move { client.grade_groundedness(request).await }
        })
        .boxed()
    }

    fn grade_usefulness(
        &self,
        request: GradeUsefulnessRequest,
        deadline: Deadline,
    ) -> Answer<'_, GradeUsefulnessResponse> {
        unary(Dependency::Grader, deadline, move |attempt| {
            let (mut client, request) = (self.grader.clone(), attempt.request(request.clone()));
            async move { client.grade_usefulness(request).await }
        })
        .boxed()
    }

    fn decide_retrieval(
        &self,
        request: DecideRetrievalRequest,
        deadline: Deadline,
    ) -> Answer<'_, DecideRetrievalResponse> {
        unary(Dependency::Grader, deadline, move |attempt| {
            let (mut client, request) = (self.grader.clone(), attempt.request(request.clone()));
            async move { client.decide_retrieval(request).await }
        })
        .boxed()
    }

    fn refine_knowledge(
        &self,
        request: RefineKnowledgeRequest,
        deadline: Deadline,
    ) -> Answer<'_, RefineKnowledgeResponse> {
        unary(Dependency::Grader, deadline, move |attempt| {
            let (mut client, request) = (self.grader.clone(), attempt.request(request.clone()));
            async move { client.refine_knowledge(request).await }
        })
        .boxed()
    }

    fn generate(&self, request: GenerateRequest, deadline: Deadline) -> BoxStream<'_, Result<Event, Failure>> {
        // Until the first message nothing has been passed on, so the call can be retried;
        // afterwards it cannot.
        let opening = asking(deadline, move |attempt| {
            let (mut client, request) = (self.generator.clone(), attempt.request(request.clone()));
            async move {
                let mut messages = client.generate(request).await?.into_inner();
                let first = messages.message().await?;
                Ok((first, messages))
            }
        });
        async move {
            match opening.await {
                Ok((first, messages)) => stream::iter(first.map(Ok))
                    .chain(until(deadline, messages))
                    .filter_map(|message| async { message.map(|message| message.event).transpose() })
                    .map(|event| event.map_err(|status| failure(Dependency::Generator, &status)))
                    .boxed(),
                Err(status) => stream::iter([Err(failure(Dependency::Generator, &status))]).boxed(),
            }
        }
        .flatten_stream()
        .boxed()
    }

    fn rewrite(&self, request: RewriteRequest, deadline: Deadline) -> Answer<'_, RewriteResponse> {
        unary(Dependency::Rewriter, deadline, move |attempt| {
            let (mut client, request) = (self.rewriter.clone(), attempt.request(request.clone()));
            async move { client.rewrite(request).await }
        })
        .boxed()
    }

    fn search(&self, request: SearchRequest, deadline: Deadline) -> Answer<'_, SearchResponse> {
        unary(Dependency::WebSearch, deadline, move |attempt| {
            let (mut client, request) = (self.web_search.clone(), attempt.request(request.clone()));
            async move { client.search(request).await }
        })
        .boxed()
    }
}

/// The rest of a stream; the deadline ends it with an error.
fn until(
    deadline: Deadline,
    messages: Streaming<GenerateResponse>,
) -> impl futures::Stream<Item = Result<GenerateResponse, Status>> + Send {
    stream::unfold(Some(messages), move |messages| -> BoxFuture<'static, _> {
        async move {
            let mut messages = messages?;
            match deadline.run(messages.message()).await {
                Ok(Ok(Some(message))) => Some((Ok(message), Some(messages))),
                Ok(Ok(None)) => None,
                Ok(Err(status)) => Some((Err(status), None)),
                Err(expired) => Some((Err(status(&expired)), None)),
            }
        }
        .boxed()
    })
}
