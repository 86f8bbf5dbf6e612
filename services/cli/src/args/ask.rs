//! Options of `emend ask`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use emend_proto::v1::Budget;

use super::LocalOptions;

/// Longest time for a walk that is given none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// What a call takes besides its walk.
const MARGIN: Duration = Duration::from_secs(5);

/// Options of `emend ask`.
#[derive(Args, Debug)]
pub struct AskOptions {
    /// The question; after `--docs` the last word on the line is the question
    #[arg(required_unless_present = "docs")]
    pub question: Option<String>,
    /// Files or folders to answer from
    #[arg(short, long, value_name = "PATH", num_args = 1.., conflicts_with = "url")]
    pub docs: Vec<PathBuf>,
    /// Ask a running orchestrator, for instance http://127.0.0.1:50050
    #[arg(long, env = "EMEND_URL", value_name = "URL")]
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
    /// Corrections after the first answer, from 0 [default: the graph's]
    #[arg(short = 'r', long, value_name = "N")]
    pub max_retries: Option<u32>,
    /// Any other option of the graph; `emend graph show NAME` lists them. The result has all that were in force
    #[arg(short, long = "option", value_name = "NAME=VALUE", value_parser = super::name_and_value)]
    pub options: Vec<(String, f64)>,
    /// Longest time for the walk; what there is by then is the answer [default: 60s, or what --max-time needs]
    #[arg(short, long, env = "EMEND_TIMEOUT", value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub timeout: Option<Duration>,
    /// Conversation that the question goes on with; the question and its answer are added to it
    ///
    /// A JSON file: [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]. One that does not exist
    /// is begun. The latest 50 messages are sent, and the walk begins by making the question stand on its own.
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub budget: BudgetOptions,
    /// Print JSON: one object when done, or with `=events` every event as a line
    ///
    /// `emend graph show NAME --walk FILE` draws either on the graph.
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "result")]
    pub json: Option<Json>,
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

    /// The question and the paths. `--docs` takes every word up to the next flag, so that `--docs *.md "Why?"` works;
    /// the question is then the last of them.
    ///
    /// # Errors
    /// No question was given, or the last word is a path.
    pub fn question_and_docs(&self) -> Result<(String, Vec<PathBuf>), String> {
        let mut docs = self.docs.clone();
        if let Some(question) = &self.question {
            return Ok((question.clone(), docs));
        }
        match docs
            .pop()
            .map(PathBuf::into_os_string)
            .map(std::ffi::OsString::into_string)
        {
            Some(Ok(last)) if !docs.is_empty() && !std::path::Path::new(&last).exists() => Ok((last, docs)),
            _ => Err("there is no question: give it as the last word, for instance \
                      emend ask --docs ./handbook \"Who approves leave?\""
                .to_owned()),
        }
    }
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
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration.is_zero() {
        return Err("it must be above 0".to_owned());
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command, name_and_value};

    fn parsed(line: &[&str]) -> AskOptions {
        let arguments = Arguments::parse_from([&["emend", "ask"], line].concat());
        let Command::Ask(options) = arguments.command else {
            panic!("not ask")
        };
        *options
    }

    #[test]
    fn an_option_needs_a_name_and_a_number() {
        assert_eq!(name_and_value("max_count=2"), Ok(("max_count".to_owned(), 2.0)));
        assert!(name_and_value("max_count").is_err_and(|e| e.contains("NAME=VALUE")));
        assert!(name_and_value("max_count=two").is_err_and(|e| e.contains("not a number")));
    }

    #[test]
    fn json_alone_means_the_result_and_leaves_the_question_alone() {
        let options = parsed(&["--json", "why?"]);
        assert_eq!(
            (options.json, options.question.as_deref()),
            (Some(Json::Result), Some("why?"))
        );
    }

    fn asked(line: &[&str]) -> Result<(String, Vec<PathBuf>), String> {
        parsed(line).question_and_docs()
    }

    #[test]
    fn the_last_word_after_docs_is_the_question() {
        let expected = Ok(("why?".to_owned(), vec![PathBuf::from("a.md"), PathBuf::from("b.md")]));
        assert_eq!(asked(&["--docs", "a.md", "b.md", "why?"]), expected);
        assert_eq!(asked(&["--docs", "a.md", "b.md", "--", "why?"]), expected);
        assert_eq!(asked(&["why?", "--docs", "a.md", "b.md"]), expected);
        assert_eq!(
            asked(&["--docs", "a.md", "b.md", "--graph", "self-rag", "why?"]),
            expected
        );
        assert_eq!(asked(&["--docs", "a.md", "--docs", "b.md", "--", "why?"]), expected);
    }

    #[test]
    fn a_path_is_no_question() {
        let here = env!("CARGO_MANIFEST_DIR");
        assert!(asked(&["--docs", "why?"]).is_err_and(|error| error.contains("no question")));
        assert!(asked(&["--docs", "a.md", here]).is_err_and(|error| error.contains("no question")));
    }

    #[test]
    fn a_budget_is_what_was_given_and_nothing_else() {
        assert_eq!(parsed(&["why?"]).budget.message(), None);
        let options = parsed(&["--max-web-searches", "0", "--max-time", "1m 30s", "why?"]);
        let budget = options.budget.message().unwrap();
        assert_eq!((budget.web_searches, budget.steps), (Some(0), None));
        assert_eq!(budget.time.unwrap().seconds, 90);
    }

    #[test]
    fn the_deadline_leaves_the_budget_its_time_unless_it_was_given() {
        assert_eq!(parsed(&["why?"]).deadline(), DEFAULT_TIMEOUT);
        assert_eq!(parsed(&["--max-time", "10s", "why?"]).deadline(), DEFAULT_TIMEOUT);
        let long = parsed(&["--max-time", "2m", "why?"]).deadline();
        assert_eq!(long, Duration::from_secs(125));
        let short = parsed(&["--max-time", "2m", "--timeout", "3s", "why?"]).deadline();
        assert_eq!(short, Duration::from_secs(3));
    }

    #[test]
    fn a_budget_that_allows_nothing_is_refused() {
        for wrong in [["--max-steps", "0"], ["--max-time", "0s"], ["--max-time", "soon"]] {
            let line = [&["emend", "ask"], &wrong[..], &["why?"]].concat();
            assert!(Arguments::try_parse_from(line).is_err(), "{wrong:?}");
        }
        let line = [
            "emend",
            "ask",
            "--graph",
            "self-rag",
            "--graph-file",
            "mine.yaml",
            "why?",
        ];
        assert!(Arguments::try_parse_from(line).is_err());
    }
}
