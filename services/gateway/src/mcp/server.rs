//! The server of the protocol: its tools and its resources.

use std::time::Duration;

use emend_core::{Deadline, cut};
use emend_proto::v1::ListCollectionsRequest;
use futures::future::{BoxFuture, Shared};
use http::HeaderMap;
use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use tracing::{Instrument as _, Span};

use super::walks::{self, Walks};
use super::{RequestSpan, arguments, ask, ingest, search, tools};
use crate::Services;
use crate::problem::Problem;
use crate::request;

const INSTRUCTIONS: &str = "Answers questions over collections of documents. Call `ask` for an answer with citations, `search` for \
    passages. An answer that says that the documents do not answer is to be taken at its word. `explain_walk` says how an \
    answer came about.";
/// Most resources that are listed.
const MAX_LISTED: usize = 100;

/// One server, for one client or for all requests of HTTP. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct McpServer {
    services: Ready,
    timeout: Duration,
    pub(super) walks: Walks,
    /// The collection of a call that names none, where there is one client alone.
    own: Option<String>,
}

/// The services, once they are there, or why they are not.
pub(super) type Ready = Shared<BoxFuture<'static, Result<Services, String>>>;

/// A call of a tool.
pub(super) struct Call {
    pub(super) services: Services,
    pub(super) arguments: JsonObject,
    /// The headers of the client, its key among them.
    pub(super) headers: HeaderMap,
    pub(super) deadline: Deadline,
    pub(super) context: RequestContext<RoleServer>,
}

impl Call {
    /// A gRPC request for the client.
    pub(super) fn request<T>(&self, message: T) -> tonic::Request<T> {
        request::call(&self.headers, message, self.deadline)
    }
}

/// What a tool says; an error is for the model to read.
pub(super) type Told = Result<CallToolResult, String>;

impl McpServer {
    pub(super) fn new(services: Ready, timeout: Duration, own: Option<String>) -> Self {
        Self {
            services,
            timeout,
            walks: Walks::new(),
            own,
        }
    }

    /// The services, or what a model is told while there are none.
    async fn services(&self, deadline: Deadline) -> Result<Services, String> {
        let late = "the documents are still being stored: try again in a while";
        deadline.run(self.services.clone()).await.map_err(|_| late.to_owned())?
    }

    async fn call(&self, name: &str, call: Call) -> Told {
        match name {
            "ask" => ask::ask(&self.walks, call).await,
            "search" => search::search(call).await,
            "ingest" => ingest::ingest(call).await,
            "list_collections" => list_collections(call).await,
            _ => self.explain(&call.arguments),
        }
    }

    fn explain(&self, given: &JsonObject) -> Told {
        arguments::known(given, &tools::EXPLAIN_WALK)?;
        let id = arguments::text(given, "walk")?;
        let walk = id.parse().ok().and_then(|id| self.walks.get(id));
        let walk = walk.ok_or_else(|| {
            format!(
                "there is no walk `{}` here: give the `walk` of an answer of `ask`; the latest are kept, until the process ends",
                cut(&id)
            )
        })?;
        Ok(CallToolResult::success(vec![ContentBlock::text(walk.account.clone())]))
    }
}

async fn list_collections(call: Call) -> Told {
    arguments::known(&call.arguments, &[])?;
    let asked = call.request(ListCollectionsRequest {});
    let listed = call.services.retriever().list_collections(asked).await;
    let collections = listed.map_err(said)?.into_inner().collections;
    let mut text = String::new();
    for collection in &collections {
        text.push_str(&format!(
            "{}: {} documents, {} passages\n",
            collection.name, collection.documents, collection.passages
        ));
    }
    if collections.is_empty() {
        "There is no collection yet: `ingest` makes one.".clone_into(&mut text);
    }
    let list: Vec<_> = collections
        .iter()
        .map(|collection| {
            serde_json::json!({
                "name": collection.name,
                "documents": collection.documents,
                "passages": collection.passages,
            })
        })
        .collect();
    Ok(structured(text, serde_json::json!({"collections": list})))
}

/// Text for the model, and the same for programs.
pub(super) fn structured(text: String, value: serde_json::Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(value);
    result
}

/// What a service refuses or why it fails, for the model to read.
pub(super) fn said(status: tonic::Status) -> String {
    let problem = Problem::from(status).within("question");
    let mut text = format!("{}: {}", problem.reason, problem.detail);
    for error in &problem.errors {
        text.push_str(&format!("\n{}: {}", error.field, error.description));
    }
    if let Some(seconds) = problem.retry_after {
        text.push_str(&format!("\ntry again in {seconds} s"));
    }
    text
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("emend", env!("CARGO_PKG_VERSION")).with_title("Emend"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let parts = context.extensions.remove::<http::request::Parts>();
        let span = parts.as_ref().and_then(|parts| parts.extensions.get::<RequestSpan>());
        let span = span.map_or_else(Span::current, |span| span.0.clone());
        let headers = parts.map(|parts| parts.headers).unwrap_or_default();
        let deadline = match request::deadline(&headers, self.timeout) {
            Ok(deadline) => deadline,
            Err(problem) => return Err(ErrorData::invalid_params(problem.detail.clone(), None)),
        };
        let known: Vec<String> = tools::all().into_iter().map(|tool| tool.name.into_owned()).collect();
        if !known.iter().any(|name| *name == request.name) {
            return Err(ErrorData::invalid_params(
                format!("unknown tool `{}`: known are {}", cut(&request.name), known.join(", ")),
                None,
            ));
        }
        let mut arguments = request.arguments.unwrap_or_default();
        if let Some(collection) = &self.own
            && tools::has_collection(&request.name)
            && !collection.is_empty()
        {
            arguments
                .entry("collection")
                .or_insert_with(|| collection.as_str().into());
        }
        let cancelled = context.ct.clone();
        let called = async {
            let call = Call {
                services: self.services(deadline).await?,
                arguments,
                headers,
                deadline,
                context,
            };
            self.call(&request.name, call).await
        };
        let told = tokio::select! {
            told = called.instrument(span) => told,
            // Nobody waits for the answer; dropping the call stops it.
            () = cancelled.cancelled() => Err("the call was cancelled".to_owned()),
        };
        Ok(match told {
            Ok(result) => result.into(),
            Err(message) => CallToolResult::error(vec![ContentBlock::text(message)]).into(),
        })
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        // Over HTTP nobody is to see what others asked.
        let walks = if self.own.is_some() {
            self.walks.latest()
        } else {
            Vec::new()
        };
        let resources = walks.iter().flat_map(|(id, walk)| {
            let cited = walk.cited.iter();
            cited.map(|(number, passage)| resource(&walks::uri(*id, *number), passage))
        });
        Ok(ListResourcesResult::with_all_items(
            resources.take(MAX_LISTED).collect(),
        ))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new("emend://walks/{walk}/passages/{number}", "cited-passage")
            .with_title("A passage that an answer cites")
            .with_description("`walk` is what `ask` returned, `number` that of the citation")
            .with_mime_type("text/plain");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let found = walks::parse(&request.uri).and_then(|(id, number)| {
            let walk = self.walks.get(id)?;
            let (_, passage) = walk.cited.iter().find(|(known, _)| *known == number)?;
            Some(passage.text.clone())
        });
        match found {
            Some(text) => {
                let contents = ResourceContents::text(text, request.uri).with_mime_type("text/plain");
                Ok(ReadResourceResult::new(vec![contents]).into())
            }
            None => Err(ErrorData::resource_not_found(
                format!(
                    "there is no resource `{}` here: `ask` returns those of its answer, and the latest are kept",
                    cut(&request.uri)
                ),
                None,
            )),
        }
    }
}

/// A passage as a resource.
pub(super) fn resource(uri: &str, passage: &emend_proto::v1::Passage) -> Resource {
    let name = if passage.source.is_empty() {
        &passage.document_id
    } else {
        &passage.source
    };
    let mut resource = Resource::new(uri, name)
        .with_mime_type("text/plain")
        .with_size(passage.text.len() as u64);
    if !passage.title.is_empty() {
        resource = resource.with_title(&passage.title);
    }
    resource
}
