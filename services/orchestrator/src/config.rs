//! Command line options of the orchestrator.

use std::path::PathBuf;

use clap::{Args, Parser};
use emend_chassis::{ApiKey, ClientTls, ClientTlsOptions, ServeError, ServiceOptions, UpstreamOptions};
use emend_core::Secret;

/// Walks a graph for each question, by calling the retriever, grader, generator, rewriter and web search.
#[derive(Clone, Debug, Parser)]
#[command(name = "emend-orchestrator", version)]
#[command(mut_arg("listen", |arg| arg.default_value("127.0.0.1:50050")))]
#[command(mut_arg("default_timeout", |arg| arg.default_value("60s")))]
#[expect(
    missing_docs,
    reason = "a doc comment on a group of options would become the help text of the whole program"
)]
pub struct Options {
    #[command(flatten)]
    pub service: ServiceOptions,

    #[command(flatten)]
    pub services: ServiceUrls,

    #[command(flatten)]
    pub client_tls: ClientTlsOptions,

    /// File with the API key that is sent to the other services. Without it the key is that of EMEND_SERVICE_API_KEY in
    /// the environment, if there is one
    #[arg(
        long,
        env = "EMEND_SERVICE_API_KEY_FILE",
        value_name = "FILE",
        help_heading = "Services"
    )]
    pub service_api_key_file: Option<PathBuf>,

    /// The key for the other services, where it is given by the program itself.
    #[arg(skip)]
    pub service_api_key: Option<Secret>,

    /// Whether callers may bring graphs of their own, with a question (`graph_yaml`) or to be checked
    #[arg(
        long,
        env = "EMEND_GRAPH_YAML",
        value_name = "BOOL",
        default_value = "true",
        action = clap::ArgAction::Set,
        help_heading = "Graphs"
    )]
    pub graph_yaml: bool,

    /// Graph to walk for a question that names none
    #[arg(
        long,
        env = "EMEND_DEFAULT_GRAPH",
        value_name = "NAME",
        default_value = "self-corrective-rag",
        help_heading = "Graphs"
    )]
    pub default_graph: String,

    /// Folder of graph files (*.yaml); a file replaces the built-in graph of the same name
    #[arg(long, env = "EMEND_GRAPHS_DIR", value_name = "FOLDER", help_heading = "Graphs")]
    pub graphs_dir: Option<PathBuf>,

    /// Folder for what callers say of answers (RecordFeedback): questions, answers and passages, at most 128 MiB. Without it
    /// none is kept
    #[arg(long, env = "EMEND_FEEDBACK_DIR", value_name = "FOLDER", help_heading = "Feedback")]
    pub feedback_dir: Option<PathBuf>,

    /// Record questions, passages and answers in the spans of walks. Off by default, because they may be confidential
    #[arg(
        long,
        env = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
        help_heading = "Telemetry"
    )]
    pub record_content: bool,
}

/// URLs of the other five services. Calls to a name that resolves to several addresses are balanced
/// over all of them.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Services")]
pub struct ServiceUrls {
    /// Address of the retriever
    #[arg(
        long,
        env = "EMEND_RETRIEVER_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:50051"
    )]
    pub retriever_url: String,

    /// Address of the grader
    #[arg(
        long,
        env = "EMEND_GRADER_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:50052"
    )]
    pub grader_url: String,

    /// Address of the generator
    #[arg(
        long,
        env = "EMEND_GENERATOR_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:50053"
    )]
    pub generator_url: String,

    /// Address of the rewriter
    #[arg(
        long,
        env = "EMEND_REWRITER_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:50054"
    )]
    pub rewriter_url: String,

    /// Address of the web search
    #[arg(
        long,
        env = "EMEND_WEB_SEARCH_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:50055"
    )]
    pub web_search_url: String,
}

impl Options {
    /// How the other services are called: with which key, and which certificates.
    pub(crate) fn upstream(&self) -> Result<UpstreamOptions, ServeError> {
        let urls = &self.services;
        let all = [
            &urls.retriever_url,
            &urls.grader_url,
            &urls.generator_url,
            &urls.rewriter_url,
            &urls.web_search_url,
        ];
        let api_key = match &self.service_api_key {
            Some(key) => Some(ApiKey::fixed(key)),
            None => ApiKey::find(self.service_api_key_file.as_deref(), "EMEND_SERVICE_API_KEY").transpose(),
        };
        Ok(UpstreamOptions {
            tls: ClientTls::for_urls(all.map(String::as_str), &self.client_tls)?,
            api_key: api_key.transpose().map_err(ServeError::start)?,
            insecure: self.service.insecure,
            ..UpstreamOptions::default()
        })
    }
}

emend_chassis::service_options!(Options);

#[cfg(test)]
mod tests;
