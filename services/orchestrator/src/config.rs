//! Command line options of the orchestrator.

use std::path::PathBuf;

use clap::{Args, Parser};
use emend_chassis::ServiceOptions;

/// Walks a graph for each question, by calling the retriever, grader, generator, rewriter and web search.
#[derive(Clone, Debug, Parser)]
#[command(name = "emend-orchestrator", version)]
#[command(mut_arg("listen", |arg| arg.default_value("127.0.0.1:50050")))]
#[command(mut_arg("default_timeout", |arg| arg.default_value("60s")))]
pub struct Options {
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would become the help text of the whole program"
    )]
    pub service: ServiceOptions,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would become the help text of the whole program"
    )]
    pub services: ServiceUrls,

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

impl AsRef<ServiceOptions> for Options {
    fn as_ref(&self) -> &ServiceOptions {
        &self.service
    }
}

impl Default for Options {
    fn default() -> Self {
        emend_chassis::config::defaults::<Options>()
    }
}

#[cfg(test)]
mod tests;
