//! The command line, which is also its manual.

mod ask;
mod backend;
mod collection;
mod collections;
mod connect;
mod eval;
mod feedback;
mod filter;
mod grades;
mod graph;
mod ingest;
mod keys;
mod mcp;
mod replay;
mod search;
mod setup;
mod stored;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum as _, ValueHint, builder::Styles};
use clap_complete::Shell;
use emend_chassis::{ClientTlsOptions, LogFormat};
use emend_evaluator::EvaluatorOptions;
use emend_models::{
    chat::{ChatOptions, LocalModel},
    embed::EmbedderOptions,
    prompt::PromptOptions,
};
use emend_web_search::WebOptions;

use crate::settings;

pub use self::{
    ask::{AskOptions, BudgetOptions, Json, Web},
    backend::Backend,
    collection::{CollectionOptions, RetrieverAddress},
    collections::{CollectionsCommand, Place as CollectionsPlace},
    connect::ConnectOptions,
    eval::{EvalPairsOptions, EvalQaOptions, EvalRetrievalOptions, SearchLoadOptions, SetOptions},
    feedback::{ExportOptions, FeedbackCommand, RecordOptions, SaidVerdict},
    grades::{CalibrateOptions, EvalGradesOptions},
    graph::{GraphCommand, GraphFormat},
    ingest::{FieldOptions, IngestOptions, SelectionOptions},
    keys::{AddKeyOptions, KeysCommand, KeysFileOption},
    mcp::McpOptions,
    replay::{ReplayOptions, TraceOptions},
    search::Search,
    setup::{DoctorOptions, InitOptions},
    stored::{DocumentsCommand, StoredOptions},
};

/// Colours of `--help`, shown on a terminal only.
const STYLES: Styles = Styles::styled()
    .header(anstyle::AnsiColor::Green.on_default().bold())
    .usage(anstyle::AnsiColor::Green.on_default().bold())
    .literal(anstyle::AnsiColor::Cyan.on_default().bold())
    .placeholder(anstyle::AnsiColor::Cyan.on_default());

/// Answers questions over your own documents, and corrects itself before it answers.
#[derive(Debug, Parser)]
#[command(name = "emend", version, styles = STYLES, propagate_version = true, arg_required_else_help = true)]
pub struct Arguments {
    /// Say what the services do: once for information, twice for details
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// File of settings, as `emend init` writes it [default: emend/emend.toml in the user's configuration folder]
    #[arg(long, global = true, env = "EMEND_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Arguments {
    /// The form of the log: that of `EMEND_LOG_FORMAT` when it is one, else text.
    #[must_use]
    pub fn log_format(&self) -> LogFormat {
        let format = settings::value("EMEND_LOG_FORMAT").unwrap_or_default();
        LogFormat::from_str(&format, true).unwrap_or_default()
    }

    /// The log filter: `EMEND_LOG` when set, else by `--verbose`. `up` is a server and says more by itself.
    #[must_use]
    pub fn log_filter(&self) -> String {
        if let Some(filter) = settings::value("EMEND_LOG") {
            return filter;
        }
        let base = u8::from(matches!(self.command, Command::Up(_)));
        match self.verbose + base {
            0 => "error".to_owned(),
            1 => "warn,qdrant_edge=error,emend=info".to_owned(),
            _ => "info,emend=debug".to_owned(),
        }
    }

    /// Where the metrics of `emend up` are; the other commands end before anybody could ask for theirs.
    #[must_use]
    pub fn metrics_listen(&self) -> Option<std::net::SocketAddr> {
        match &self.command {
            Command::Up(options) => options.metrics_listen,
            _ => None,
        }
    }
}

/// What `emend` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Answer a question over a folder of files
    ///
    /// Starts the six services in this process, ingests the files (only what has changed), walks a graph and prints
    /// the answer with its citations. Reads text, source code, Markdown, HTML, PDF, Word, PowerPoint, Excel,
    /// OpenDocument, EPUB, e-mail, CSV, JSON, YAML and TOML. Needs no server and no API key. With --url it asks a running service instead.
    ///
    /// The answer goes to standard output, everything else to standard error: each step as it happens, with the query
    /// before and after it, the passages and strips (the pieces that a refinement cuts passages into) that were kept
    /// (+) and dropped (-) with their scores, and why the walk took an edge that has a condition. The answer is shown
    /// while it is written; a sentence that was graded and stands is marked ✓, one that was taken back ✗.
    ///
    /// Without a question, on a terminal, it is a conversation: services start once, a follow-up comes with what was said
    /// before, and /help lists commands.
    ///
    /// Exit status: 0 answered (also unverified and ungrounded answers, which say so), 1 an error, 2 a wrong command line,
    /// 3 abstained: the documents do not answer, 4 failed: there is no answer because a service that the walk needed failed.
    /// With --json, errors are JSON on standard output too: {"error": {"code": …, "reason": …, "message": …, "fields": […]}}.
    #[command(after_help = "Examples:\n  \
        emend ask --docs ./handbook \"How many days of leave do I have?\"\n  \
        emend ask --docs notes.md --graph self-rag --json \"Who approved the budget?\" | jq .answer\n  \
        emend ask --docs ./handbook --graph-file mine.yaml --option max_count=1 \"Who approves leave?\"\n  \
        emend ask --docs ./handbook --history chat.json \"And who approves it?\"\n  \
        emend ask --docs ./handbook --max-model-calls 20 --max-time 10s \"Who approves leave?\"\n  \
        echo \"Who approves leave?\" | emend ask --docs ./handbook -\n  \
        emend ask --docs ./handbook                         # a conversation\n  \
        emend ask --url http://127.0.0.1:50050 --collection handbook \"Who approves leave?\"\n  \
        emend ask --docs . --llm-url http://127.0.0.1:11434/v1 --llm-model llama3.1 \"What is this?\"")]
    Ask(Box<AskOptions>),
    /// Run the six services and the gateway until Ctrl-C
    ///
    /// The gateway, whose address comes first, speaks HTTP: JSON, OpenAI's protocol and MCP.
    ///
    /// Whatever a service reads from the environment when it runs by itself, such as EMEND_MAX_IN_FLIGHT,
    /// EMEND_DEFAULT_TIMEOUT, EMEND_CHUNK_TOKENS or EMEND_GRADE_CACHE_ENTRIES, holds here too, for every service that has
    /// the option; `emend-grader --help` and the others list them. EMEND_LISTEN and the addresses of services,
    /// such as EMEND_GRADER_URL, are of one service alone, and are refused. With EMEND_TLS_CERT and EMEND_TLS_KEY all six
    /// speak TLS, and call each other with EMEND_CA; with EMEND_KEYS_FILE all six want a key, and have one of their own.
    #[command(
        after_help = "Examples:\n  emend up\n  emend up --base-port 6000 --data-dir ./data\n  EMEND_MAX_IN_FLIGHT=200 emend up"
    )]
    Up(Box<UpOptions>),
    /// Serve a folder of files to an editor or an assistant by MCP, over standard input and output
    ///
    /// Starts the six services in this process and ingests the files (only what has changed). The tools are `ask`, `search`,
    /// `ingest`, `list_collections` and `explain_walk`; the passages that an answer cites are resources. Standard output
    /// carries the protocol alone, everything else goes to standard error. Ends with standard input. What `ingest` stores beside
    /// the files is forgotten at the next start, unless -c names a collection.
    ///
    /// `emend up` serves the same over HTTP, at /mcp of the gateway.
    #[command(after_help = "Example, for the configuration of a client:\n  \
        {\"mcpServers\": {\"handbook\": {\"command\": \"emend\", \"args\": [\"mcp\", \"--docs\", \"/home/me/handbook\"]}}}")]
    Mcp(Box<McpOptions>),
    /// Store documents in a collection
    ///
    /// Reads text in any encoding, source code, Markdown, HTML, PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, e-mail
    /// (.eml), CSV, JSON, YAML, TOML, and JSON Lines (`id` or `doc_id`, `title`, `text` a line). Hidden files are left
    /// out, and so is what .gitignore and .ignore name. A document that cannot be read is reported and skipped; one that
    /// has not changed is not embedded again.
    ///
    /// Pages of the web are fetched from public addresses, as robots.txt allows; --web-allow-networks, --web-ports and
    /// --web-ignore-robots say otherwise, as for a web search. Their addresses are their ids.
    ///
    /// A document belongs to the file, the page or the sitemap that it was ingested from. --prune and --watch remove documents that belong to files
    /// in the PATHs that are gone or left out now, and never those that came from elsewhere. What cannot be looked at, and
    /// a file some of whose records cannot be read, keeps its documents.
    ///
    /// Exit status: 0 stored, 1 an error or a document that could not be stored, 2 a wrong command line, 5 with --strict if
    /// anything was skipped or failed, 130 stopped.
    #[command(after_help = "Examples:\n  \
        emend ingest --collection handbook ./handbook\n  \
        emend ingest --collection handbook --watch --exclude 'drafts/' ./handbook\n  \
        emend ingest --collection site --prune --sitemap https://docs.example.com/sitemap.xml\n  \
        emend ingest --id-field key --text-field question --text-field answer faq.csv\n  \
        emend ingest --url http://127.0.0.1:50051 --collection wiki pages.jsonl")]
    Ingest(Box<IngestOptions>),
    /// List the documents of a collection, and read one back
    #[command(subcommand)]
    Documents(DocumentsCommand),
    /// Ask a service whether it serves
    ///
    /// For containers' health checks and scripts. Exit status: 0 it serves, 1 it does not or cannot be reached, 2 a wrong
    /// command line.
    #[command(
        after_help = "Examples:\n  emend health 127.0.0.1:50050\n  emend health grader:50052 --service emend.v1.GraderService"
    )]
    Health(HealthOptions),
    /// List, describe, export, import, repair and remove collections
    ///
    /// Those of a running retriever with --url, else those that a local one has: in --data-dir, or on the Qdrant server
    /// of EMEND_QDRANT_URL where EMEND_STORE is qdrant.
    #[command(
        subcommand,
        after_help = "Examples:\n  \
        emend collections list\n  \
        emend collections export handbook --out handbook.jsonl\n  \
        emend collections import handbook.jsonl --url http://127.0.0.1:50051\n  \
        emend collections delete handbook"
    )]
    Collections(CollectionsCommand),
    /// Show and check graphs, and draw walks on them
    #[command(subcommand)]
    Graph(GraphCommand),
    /// Show a recorded walk as a tree with the time that each step and call took
    ///
    /// A bar stands where in the walk's time a step or a call was. Calls are shown where the walk has a record.
    #[command(after_help = "Examples:\n  \
        emend ask --docs ./handbook --json \"Who approves leave?\" > walk.json\n  \
        emend trace walk.json\n  \
        emend ask --docs ./handbook --json \"Who approves leave?\" | emend trace -")]
    Trace(TraceOptions),
    /// Walk again what a record holds, under other options or thresholds or on another graph, without any call
    ///
    /// Says at which step the path turns, and why: what a threshold would have changed. Where the new path needs a call that
    /// was not made when the walk was recorded, the replay says which and ends there.
    ///
    /// --coefficients and --threshold hold the recorded probabilities against other thresholds; recorded verdicts stand
    /// where neither sets one. A walk on its own graph keeps the options it was recorded with.
    ///
    /// Exit status: 0 replayed to its end, 1 an error, 2 a wrong command line, 6 the record ended first.
    #[command(after_help = "Examples:\n  \
        emend ask --docs ./handbook --json \"Who approves leave?\" > walk.json\n  \
        emend replay walk.json --option max_retries=0\n  \
        emend replay walk.json --threshold relevant=0.6\n  \
        emend replay walk.json --coefficients mine.toml --json | jq .turn\n  \
        emend replay walk.json --graph mine.yaml")]
    Replay(Box<ReplayOptions>),
    /// Make, list and remove the API keys of services
    ///
    /// A file of keys says who may call the services and what each may do. Services that are started with --keys-file (or
    /// EMEND_KEYS_FILE) take no call without one of its keys, and read it again when it changes.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Show and fetch the local models
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Measure graphs on questions whose answers are known, and grades on pairs that are labelled
    #[command(subcommand)]
    Eval(EvalCommand),
    /// Record what you say of answers, and write it as labelled pairs for `emend calibrate`
    #[command(subcommand)]
    Feedback(FeedbackCommand),
    /// Check models, ports, store, language model, web search, telemetry, keys and certificates, and say what to do
    ///
    /// Takes the options of `emend up`, its environment and its configuration file. Starts no service and changes nothing;
    /// a language model gets one short question, and no search engine is asked anything. All checks run at once.
    ///
    /// Exit status: 0 all is well or only warned of, 1 an error, 2 a wrong command line.
    #[command(after_help = "Examples:\n  \
        emend doctor\n  \
        emend doctor --llm-url http://127.0.0.1:11434/v1 --llm-model llama3.1\n  \
        emend doctor --json | jq -r '.checks[] | select(.level == \"error\") | .advice'")]
    Doctor(Box<DoctorOptions>),
    /// Write a configuration file with every setting, its default and what it does
    ///
    /// All of it is commented out. Commands read `emend/emend.toml` in the user's configuration folder, or the file of
    /// --config or EMEND_CONFIG. A flag comes before the environment, the environment before the file.
    #[command(after_help = "Examples:\n  emend init\n  emend init ~/emend.toml && emend --config ~/emend.toml up")]
    Init(InitOptions),
    /// Write the completions of a shell to standard output
    #[command(after_help = "Examples:\n  \
        emend completions bash > ~/.local/share/bash-completion/completions/emend\n  \
        emend completions zsh > ~/.zfunc/_emend            # ~/.zfunc in fpath, before compinit\n  \
        emend completions fish > ~/.config/fish/completions/emend.fish")]
    Completions {
        /// The shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Write the manual pages, one for each command, into a folder
    #[command(after_help = "Example:\n  emend man ~/.local/share/man/man1 && man emend-ask")]
    Man {
        /// Folder of the pages; it is made where it is missing
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
    /// Fit the embedded grader to labelled pairs of your own
    ///
    /// Writes a file with the coefficients and thresholds of the embedded evaluator for --embedder. A model for which
    /// there are too few pairs stays as it is. The figures printed are of questions that a model was not fitted to
    /// (five-fold cross-validation by article, or by question where a pair names none). A running service reads the file again when it changes.
    #[command(after_help = "Examples:\n  \
        emend calibrate --relevance pairs.jsonl --target-precision 0.9\n  \
        emend calibrate --relevance a.jsonl b.jsonl --usefulness u.jsonl --out mine.toml --diagram mine.html\n  \
        EMEND_EVALUATOR_COEFFICIENTS=mine.toml emend ask --docs ./handbook \"Who approves leave?\"")]
    Calibrate(Box<CalibrateOptions>),
}

/// Options of `emend health`.
#[derive(Args, Debug)]
pub struct HealthOptions {
    /// Address of the service, as HOST:PORT or a URL; https:// with TLS
    #[arg(value_name = "ADDRESS")]
    pub address: String,
    /// Name of the service, for example emend.v1.GraderService [default: all of that server]
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
    /// Time it may take to answer
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = emend_core::duration)]
    pub timeout: std::time::Duration,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub tls: ClientTlsOptions,
}

/// Where the local services keep things and which models they use.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Services of this process")]
pub struct LocalOptions {
    /// Folder of the collections [default: the user's data folder]
    #[arg(long, env = "EMEND_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Folder of saved pages that stands in for the web; without it or a search engine a walk has no web search
    #[arg(long, env = "EMEND_WEB_FOLDER", value_name = "DIR")]
    pub web_folder: Option<PathBuf>,
    /// Folder of graphs of your own, beside the built-in ones
    #[arg(long, env = "EMEND_GRAPHS_DIR", value_name = "DIR")]
    pub graphs_dir: Option<PathBuf>,
    /// Who writes the answer: `embedded` (no language model), `llm` (that of --llm-url) or `local:MODEL` (in this
    /// process: `local:smollm2`, or the path of a GGUF file) [default: llm with --llm-url, else embedded]
    #[arg(long, env = "EMEND_GENERATOR", value_name = "BACKEND")]
    pub generator: Option<Backend>,
    /// Who grades: as --generator, or `cascade`: embedded first, the language model for what is in doubt
    #[arg(long, env = "EMEND_GRADER", value_name = "BACKEND")]
    pub grader: Option<Backend>,
    /// Who rewrites questions: as --generator
    #[arg(long, env = "EMEND_REWRITER", value_name = "BACKEND")]
    pub rewriter: Option<Backend>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub embedder: EmbedderOptions,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub evaluator: EvaluatorOptions,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub prompts: PromptOptions,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub chat: ChatOptions,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub web: WebOptions,
}

/// Options of `emend up`.
#[derive(Args, Debug)]
pub struct UpOptions {
    /// Address to listen on
    #[arg(long, env = "EMEND_HOST", value_name = "IP", default_value = "127.0.0.1")]
    pub host: std::net::IpAddr,
    /// Address for Prometheus and for probes by HTTP: /metrics, /livez and /readyz. Without it there are none
    #[arg(long, env = "EMEND_METRICS_LISTEN", value_name = "HOST:PORT")]
    pub metrics_listen: Option<std::net::SocketAddr>,
    /// Port of the orchestrator; the others take the ones after it, the gateway the last of seven. 0 takes free ports
    #[arg(
        short = 'p',
        long,
        env = "EMEND_BASE_PORT",
        value_name = "PORT",
        default_value_t = 50050
    )]
    pub base_port: u16,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub local: LocalOptions,
}

/// `emend models …`.
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List the local models, their licences, and which are on this machine
    List {
        /// A folder with weights, looked at before the cache
        #[arg(long, env = "EMEND_MODEL_DIR", value_name = "DIR")]
        model_dir: Option<PathBuf>,
    },
    /// Fetch a model ahead of its first use
    Fetch {
        #[command(flatten)]
        #[expect(missing_docs, reason = "its fields document themselves in --help")]
        embedder: EmbedderOptions,
        /// Also this chat model: `smollm2`, or the path of a GGUF file, which is read
        #[arg(long, env = "EMEND_LLM_LOCAL", value_name = "MODEL")]
        llm_local: Option<LocalModel>,
    },
}

/// `emend eval …`.
#[derive(Debug, Subcommand)]
pub enum EvalCommand {
    /// Ask every question of a folder and compare the answers with the right ones
    ///
    /// The folder holds NAME.questions.jsonl (`question`, `expect`: local, web, none or absent, and where there is an
    /// answer `answers` and `gold_doc_ids`; `id` and `lang` if you like) with NAME.corpus_local.jsonl or a folder
    /// NAME.documents of files, which is ingested, and optionally NAME.corpus_web.jsonl, which stands in for the web. Over
    /// a folder, `gold_doc_ids` are paths in it. The outcome of a question of kind local or web is correct when the answer
    /// contains a right one, whatever the case, the width and the spaces; that of none or absent when the walk abstains.
    /// Corpora are stored in a temporary folder, or in --data-dir, where the next run finds them.
    ///
    /// Where `question`, `answers` and `gold_doc_ids` are objects by language and the corpora NAME.corpus_LANG.jsonl, each
    /// language is asked of each: the sets are named NAME.ASKED-READ.
    ///
    /// Prints, for all sets, each set and each language, what share of the outcomes was correct by kind, how far that is
    /// from the first graph on the same questions with a 95 % interval, and what a walk costs. A walk that fails is
    /// counted. Ctrl-C prints what was measured so far.
    ///
    /// Exit status: 0 measured, 1 an error or a graph of which no walk ended, 2 a wrong command line, 130 stopped.
    #[command(after_help = "Examples:\n  \
        emend eval qa --data DIR --graphs plain-rag,self-rag,self-corrective-rag --html report.html\n  \
        emend eval qa --data DIR --limit 100 --json | jq '.groups[0].kinds[0].graphs[].correct'\n  \
        emend eval qa --data DIR --out walks.jsonl")]
    Qa(Box<EvalQaOptions>),
    /// Compare dense, sparse and hybrid search
    ///
    /// Takes the folders of `emend eval qa` and searches for every question of kind local. Prints for each set and mode how
    /// often a document of `gold_doc_ids` comes first (hit@1) or among the first five (hit@5, with a 95 % interval), and
    /// the mean reciprocal rank (MRR@10).
    ///
    /// Exit status: 0 measured, 1 an error, 2 a wrong command line, 130 stopped.
    #[command(after_help = "Example:\n  emend eval retrieval --data DIR --modes sparse,hybrid --json")]
    Retrieval(Box<EvalRetrievalOptions>),
    /// Write what the retriever finds as labelled pairs for `emend calibrate`
    ///
    /// Takes the folders of `emend eval qa` and searches for every question. A passage is relevant when it is of a document
    /// of `gold_doc_ids` and contains a right answer; wrong passages are those that a walk would meet. One of another
    /// document that contains a right answer is left out.
    ///
    /// Exit status: 0 written, 1 an error, 2 a wrong command line, 130 stopped.
    #[command(after_help = "Example:\n  \
        emend eval pairs --data DIR --out pairs\n  \
        emend calibrate --relevance pairs/relevance/*.jsonl --answer pairs/answer/*.jsonl")]
    Pairs(Box<EvalPairsOptions>),
    /// Judge labelled pairs with the embedded evaluator and compare
    ///
    /// Prints for each set, language and kind of label: ROC-AUC, best F1, Brier score, expected calibration error, what
    /// that error would be by chance if the probabilities were right, and pairs a second of one core once the texts'
    /// vectors are at hand. Wrong pairs that were made up are also ranked against what people found right: `mixed`.
    Grades(Box<EvalGradesOptions>),
}

fn name_and_value(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is not NAME=VALUE, for instance max_count=2"))?;
    let value = value
        .parse()
        .map_err(|_| format!("the value of `{name}` is `{value}`, which is not a number"))?;
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests;
