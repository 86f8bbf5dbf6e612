//! Options of `emend ask`.

use std::{
    io::IsTerminal as _,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, ValueEnum, builder::TypedValueParser as _};
use emend_proto::v1::{Budget, FieldCondition};

use super::{ConnectOptions, LocalOptions, Search};

/// Longest time for a walk that is given none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// What a call takes besides its walk.
const MARGIN: Duration = Duration::from_secs(5);

/// Options of `emend ask`.
#[derive(Args, Debug)]
pub struct AskOptions {
    /// The question, or `-` to read it from standard input; after `--docs` the last word on the line is the question.
    /// On a terminal, without a question: a conversation
    pub question: Option<String>,
    /// Files or folders to answer from
    #[arg(
        short,
        long,
        value_name = "PATH",
        num_args = 1..,
        conflicts_with = "url",
        value_parser = clap::builder::OsStringValueParser::new().map(PathBuf::from)
    )]
    pub docs: Vec<PathBuf>,
    /// Ask a running orchestrator, for instance http://127.0.0.1:50050
    #[arg(long, env = "EMEND_URL", hide_env_values = true, value_name = "URL")]
    pub url: Option<String>,
    /// Collection to answer from [default: one for these --docs, else `default`]
    #[arg(short, long, env = "EMEND_COLLECTION", value_name = "NAME")]
    pub collection: Option<String>,
    /// Graph to walk; `emend graph list` shows them
    #[arg(
        short,
        long,
        env = "EMEND_GRAPH",
        value_name = "NAME",
        default_value = "self-corrective-rag"
    )]
    pub graph: String,
    /// Graph file of your own to walk, here or at --url; `emend graph show NAME --format yaml` is a start for one
    ///
    /// It is checked before anything else happens: what is wrong with it is shown as FILE:LINE.
    #[arg(long, value_name = "FILE", conflicts_with = "graph")]
    pub graph_file: Option<PathBuf>,
    /// Passages to retrieve, 1–100 [default: the graph's]
    #[arg(short = 'k', long, value_name = "N")]
    pub top_k: Option<u32>,
    /// How the documents are searched [default: as the graph says, which is hybrid for the built-in ones]
    #[arg(long, env = "EMEND_SEARCH", value_name = "MODE", value_enum)]
    pub search: Option<Search>,
    /// Search exactly, comparing every embedding without the HNSW graph: nothing near is missed, and it takes longer
    #[arg(long)]
    pub exact: bool,
    /// Whether the web may be searched: with `off` the walk goes on as if no web search were configured
    #[arg(long, value_name = "WHETHER", value_enum, default_value_t)]
    pub web: Web,
    /// Answer only from documents whose metadata meets this; may be given several times, all of them hold then
    ///
    /// lang=en, 'lang in en,ko', 'year>=2024' (or >, <, <=), has:author, lacks:author. A range compares numbers, or times
    /// such as 2024-05-01 and 2024-05-01T09:30:00+02:00, with values of the same kind; a day is its first instant, in UTC.
    /// Metadata is what `emend ingest` takes from records (--metadata-field), and what documents are ingested with.
    #[arg(long = "filter", value_name = "CONDITION", value_parser = super::filter::condition)]
    pub filters: Vec<FieldCondition>,
    /// Corrections after the first answer, from 0 [default: the graph's]
    #[arg(short = 'r', long, value_name = "N")]
    pub max_retries: Option<u32>,
    /// Any other option of the graph; `emend graph show NAME` lists them. The result has all that were in force
    #[arg(short, long = "option", value_name = "NAME=VALUE", value_parser = super::name_and_value)]
    pub options: Vec<(String, f64)>,
    /// Longest time for the walk; what there is by then is the answer [default: 60s, or what --max-time needs]
    #[arg(short, long, env = "EMEND_TIMEOUT", value_name = "DURATION", value_parser = emend_core::duration)]
    pub timeout: Option<Duration>,
    /// Conversation that the question goes on with; the question and its answer are added to it
    ///
    /// A JSON file: [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]. One that does not exist
    /// is begun. The latest 50 messages are sent, and the walk begins by making the question stand on its own.
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Print JSON: one object when done, or with `=events` every event as a line
    ///
    /// `emend graph show NAME --walk FILE` draws either on the graph.
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "result")]
    pub json: Option<Json>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub connect: ConnectOptions,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub budget: BudgetOptions,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub local: LocalOptions,
}

/// What a walk may cost. One that runs out of something ends with the best answer so far, and says of what.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Budget")]
pub struct BudgetOptions {
    /// Most steps, from 1 [default: the graph's recursion limit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_steps: Option<u32>,
    /// Most model calls; grading a passage is one, whoever grades, and so is asking a model that stands in for another
    #[arg(long, value_name = "N")]
    pub max_model_calls: Option<u32>,
    /// Most tokens read and written; the walk ends after the step that reaches it
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// Most web searches; 0 forbids them
    #[arg(long, value_name = "N")]
    pub max_web_searches: Option<u32>,
    /// Longest time for the walk, for instance 30s
    #[arg(long, value_name = "DURATION", value_parser = positive_duration)]
    pub max_time: Option<Duration>,
}

impl BudgetOptions {
    /// As a question carries it; `None` when nothing is limited.
    #[must_use]
    pub fn message(self) -> Option<Budget> {
        (self != Self::default()).then(|| Budget {
            steps: self.max_steps,
            model_calls: self.max_model_calls,
            tokens: self.max_tokens,
            web_searches: self.max_web_searches,
            time: self.max_time.and_then(|time| time.try_into().ok()),
        })
    }
}

impl AskOptions {
    /// The longest that the call may take: as given, else long enough for the budget's time.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        let for_budget = self.budget.max_time.unwrap_or_default().saturating_add(MARGIN);
        self.timeout.unwrap_or_else(|| DEFAULT_TIMEOUT.max(for_budget))
    }

    /// The question, `None` for a conversation, and the paths. `--docs` takes every word up to the next flag, so that
    /// `--docs *.md "Why?"` works; the question is then the last of them.
    ///
    /// # Errors
    /// No question was given, or the last word is a path, and nobody is at a terminal; or one of the paths is empty.
    pub fn question_and_docs(&self) -> Result<(Option<String>, Vec<PathBuf>), String> {
        let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let (question, docs) = self.split();
        if docs.iter().any(|path| path.as_os_str().is_empty()) {
            return Err("--docs has an empty path: give files or folders".to_owned());
        }
        if question.is_none() && self.json.is_some() {
            return Err("--json needs a question: give it as the last word".to_owned());
        }
        if question.is_none() && !is_terminal {
            return Err("there is no question: give it as the last word, for instance \
                        emend ask --docs ./handbook \"Who approves leave?\"; on a terminal, without one, it is a \
                        conversation"
                .to_owned());
        }
        Ok((question, docs))
    }

    fn split(&self) -> (Option<String>, Vec<PathBuf>) {
        let mut docs = self.docs.clone();
        if self.question.is_some() {
            return (self.question.clone(), docs);
        }
        let is_question = |path: &PathBuf| path.to_str().is_some_and(|text| !Path::new(text).exists());
        if docs.len() > 1
            && docs.last().is_some_and(is_question)
            && let Some(Ok(last)) = docs.pop().map(|path| path.into_os_string().into_string())
        {
            return (Some(last), docs);
        }
        (None, docs)
    }
}

/// Whether the web may be searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Web {
    /// As the graph says
    #[default]
    On,
    /// Nothing is searched on the web and nothing leaves for it
    Off,
}

/// What `--json` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Json {
    /// The result as one object
    Result,
    /// Every event as a line, the result last
    Events,
}

fn positive_duration(text: &str) -> Result<Duration, String> {
    let duration = emend_core::duration(text)?;
    if duration.is_zero() {
        return Err("it must be above 0".to_owned());
    }
    Ok(duration)
}

#[cfg(test)]
mod tests;
