//! The five services: everything goes well at the first try, at once.

use std::pin::Pin;

use emend_proto::v1::{
    self, Citation, DecideRetrievalRequest, DecideRetrievalResponse, DocumentGrade, Evaluation, FinishReason,
    GenerateFinished, GenerateRequest, GenerateResponse, GradeDocumentsRequest, GradeDocumentsResponse,
    GradeGroundednessRequest, GradeGroundednessResponse, GradeUsefulnessRequest, GradeUsefulnessResponse, Origin,
    Passage, RefineKnowledgeRequest, RefineKnowledgeResponse, Relevance, RetrieveRequest, RetrieveResponse,
    RewriteRequest, RewriteResponse, SearchRequest, SearchResponse, Sentence, Span, Support, Usage,
    generate_response::Event,
    generator_service_server::{GeneratorService, GeneratorServiceServer},
    grader_service_server::{GraderService, GraderServiceServer},
    retriever_service_server::{RetrieverService, RetrieverServiceServer},
    rewriter_service_server::{RewriterService, RewriterServiceServer},
    web_search_service_server::{WebSearchService, WebSearchServiceServer},
};
use futures::{Stream, stream};
use tokio::net::TcpListener;
use tonic::{
    Request, Response, Status, Streaming,
    transport::{Server, server::TcpIncoming},
};

use crate::{Failure, processes::Role};

/// Passages that the retriever finds.
pub(crate) const PASSAGES: usize = 4;

/// A sentence of a passage; six of them are one of about 500 bytes.
const SENTENCE: &str = "Fallen leaves and pruned twigs keep the soil under a hedge moist and cool in a dry summer. ";

/// The answer's sentences.
const ANSWER: [&str; 2] = [
    "Leave fallen leaves under the hedge to keep its soil moist.",
    "Pruned twigs do the same.",
];

/// All of them; each process serves one.
#[derive(Clone, Debug)]
struct Scripted;

/// Serves one of them for good.
pub(crate) async fn serve(role: Role, listener: TcpListener) -> Result<(), Failure> {
    let mut server = Server::builder();
    let router = match role {
        Role::Retriever => server.add_service(RetrieverServiceServer::new(Scripted)),
        Role::Grader => server.add_service(GraderServiceServer::new(Scripted)),
        Role::Generator => server.add_service(GeneratorServiceServer::new(Scripted)),
        Role::Rewriter => server.add_service(RewriterServiceServer::new(Scripted)),
        Role::WebSearch => server.add_service(WebSearchServiceServer::new(Scripted)),
        Role::Orchestrator => return Err("the orchestrator is not scripted".into()),
    };
    // Without it, an answer of two packets waits for the acknowledgement of the first.
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    Ok(router.serve_with_incoming(incoming).await?)
}

/// What a call to a model costs.
fn usage() -> Option<Usage> {
    Some(Usage {
        model_calls: 1,
        input_tokens: 700,
        output_tokens: 30,
    })
}

/// The passage in that place.
fn passage(place: usize) -> Passage {
    let text = format!("{place}. {}", SENTENCE.repeat(6).trim_end());
    Passage {
        id: format!("hedges/{place}#0"),
        document_id: format!("hedges/{place}"),
        title: "Keeping hedges".to_owned(),
        source: format!("gardens/hedges-{place}.md"),
        origin: Origin::Local.into(),
        score: 0.9 - place as f64 / 100.0,
        span: Some(Span {
            start: 0,
            end: text.chars().count() as u32,
        }),
        text,
        ..Passage::default()
    }
}

/// The answer's sentences, each with a citation.
fn sentences() -> Vec<Sentence> {
    let mut start = 0;
    let sentences = (1..).zip(ANSWER).map(|(number, text)| {
        let end = start + text.chars().count() as u32;
        let span = Some(Span { start, end });
        start = end + 1;
        Sentence {
            text: text.to_owned(),
            span,
            citations: vec![Citation {
                number,
                passage_id: format!("hedges/{number}#0"),
                span: Some(Span { start: 3, end: 90 }),
                document_span: Some(Span { start: 3, end: 90 }),
            }],
            ..Sentence::default()
        }
    });
    sentences.collect()
}

/// What nobody asks for on the straight way.
fn unasked<T>() -> Result<T, Status> {
    Err(Status::unimplemented("not on the straight way"))
}

/// Messages, one after the other.
type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl RetrieverService for Scripted {
    type IngestStream = Messages<v1::IngestResponse>;

    async fn retrieve(&self, _: Request<RetrieveRequest>) -> Result<Response<RetrieveResponse>, Status> {
        Ok(Response::new(RetrieveResponse {
            passages: (1..=PASSAGES).map(passage).collect(),
        }))
    }

    async fn ingest(&self, _: Request<Streaming<v1::IngestRequest>>) -> Result<Response<Self::IngestStream>, Status> {
        unasked()
    }

    async fn delete_documents(
        &self,
        _: Request<v1::DeleteDocumentsRequest>,
    ) -> Result<Response<v1::DeleteDocumentsResponse>, Status> {
        unasked()
    }

    async fn list_documents(
        &self,
        _: Request<v1::ListDocumentsRequest>,
    ) -> Result<Response<v1::ListDocumentsResponse>, Status> {
        unasked()
    }

    async fn get_document(
        &self,
        _: Request<v1::GetDocumentRequest>,
    ) -> Result<Response<v1::GetDocumentResponse>, Status> {
        unasked()
    }

    async fn list_collections(
        &self,
        _: Request<v1::ListCollectionsRequest>,
    ) -> Result<Response<v1::ListCollectionsResponse>, Status> {
        unasked()
    }

    async fn get_collection(
        &self,
        _: Request<v1::GetCollectionRequest>,
    ) -> Result<Response<v1::GetCollectionResponse>, Status> {
        unasked()
    }

    async fn delete_collection(
        &self,
        _: Request<v1::DeleteCollectionRequest>,
    ) -> Result<Response<v1::DeleteCollectionResponse>, Status> {
        unasked()
    }

    async fn repair_collection(
        &self,
        _: Request<v1::RepairCollectionRequest>,
    ) -> Result<Response<v1::RepairCollectionResponse>, Status> {
        unasked()
    }

    type CopyCollectionStream = Messages<v1::CopyCollectionResponse>;

    async fn copy_collection(
        &self,
        _: Request<v1::CopyCollectionRequest>,
    ) -> Result<Response<Self::CopyCollectionStream>, Status> {
        unasked()
    }

    type ExportCollectionStream = Messages<v1::ExportCollectionResponse>;

    async fn export_collection(
        &self,
        _: Request<v1::ExportCollectionRequest>,
    ) -> Result<Response<Self::ExportCollectionStream>, Status> {
        unasked()
    }

    type ImportCollectionStream = Messages<v1::ImportCollectionResponse>;

    async fn import_collection(
        &self,
        _: Request<Streaming<v1::ImportCollectionRequest>>,
    ) -> Result<Response<Self::ImportCollectionStream>, Status> {
        unasked()
    }
}

#[tonic::async_trait]
impl GraderService for Scripted {
    async fn grade_documents(
        &self,
        request: Request<GradeDocumentsRequest>,
    ) -> Result<Response<GradeDocumentsResponse>, Status> {
        let passages = request.into_inner().passages.into_iter();
        let grades = passages.map(|passage| DocumentGrade {
            passage_id: passage.id,
            relevance: Relevance::Relevant.into(),
            score: Some(0.9),
            error: String::new(),
        });
        Ok(Response::new(GradeDocumentsResponse {
            grades: grades.collect(),
            evaluation: Evaluation::Correct.into(),
            usage: usage(),
        }))
    }

    async fn grade_groundedness(
        &self,
        request: Request<GradeGroundednessRequest>,
    ) -> Result<Response<GradeGroundednessResponse>, Status> {
        let sentences = request.into_inner().sentences.into_iter();
        let graded = sentences.map(|sentence| Sentence {
            support: Support::FullySupported.into(),
            support_score: Some(0.95),
            ..sentence
        });
        Ok(Response::new(GradeGroundednessResponse {
            support: Support::FullySupported.into(),
            score: Some(0.95),
            sentences: graded.collect(),
            usage: usage(),
            fully_supported: Some(0.95),
            partially_supported: Some(0.05),
        }))
    }

    async fn grade_usefulness(
        &self,
        _: Request<GradeUsefulnessRequest>,
    ) -> Result<Response<GradeUsefulnessResponse>, Status> {
        Ok(Response::new(GradeUsefulnessResponse {
            utility: Some(5),
            score: Some(1.0),
            useful: Some(true),
            error: String::new(),
            usage: usage(),
            expected_utility: Some(5.0),
        }))
    }

    async fn decide_retrieval(
        &self,
        _: Request<DecideRetrievalRequest>,
    ) -> Result<Response<DecideRetrievalResponse>, Status> {
        unasked()
    }

    async fn refine_knowledge(
        &self,
        _: Request<RefineKnowledgeRequest>,
    ) -> Result<Response<RefineKnowledgeResponse>, Status> {
        unasked()
    }
}

#[tonic::async_trait]
impl GeneratorService for Scripted {
    type GenerateStream = Messages<GenerateResponse>;

    async fn generate(&self, _: Request<GenerateRequest>) -> Result<Response<Self::GenerateStream>, Status> {
        let answer = ANSWER.join(" ");
        let finished = GenerateFinished {
            answer: answer.clone(),
            sentences: sentences(),
            finish_reason: FinishReason::Stop.into(),
            usage: usage(),
            model: "scripted".to_owned(),
            ..GenerateFinished::default()
        };
        let events = [Event::TextDelta(answer), Event::Finished(finished)];
        let messages = events.map(|event| Ok(GenerateResponse { event: Some(event) }));
        Ok(Response::new(Box::pin(stream::iter(messages))))
    }
}

#[tonic::async_trait]
impl RewriterService for Scripted {
    async fn rewrite(&self, _: Request<RewriteRequest>) -> Result<Response<RewriteResponse>, Status> {
        unasked()
    }
}

#[tonic::async_trait]
impl WebSearchService for Scripted {
    async fn search(&self, _: Request<SearchRequest>) -> Result<Response<SearchResponse>, Status> {
        unasked()
    }
}
