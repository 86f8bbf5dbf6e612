//! What each prompt needs. A prompt that is built from its struct cannot miss an input.

use serde::Serialize;
use serde_json::{Value, json};

use crate::chat::ResponseSchema;
use emend_text::Language;

/// The inputs of one prompt.
pub trait Prompt: Serialize {
    /// The prompt's name, which is its file's.
    const NAME: &'static str;

    /// The JSON schema of the reply; none for prose.
    fn schema() -> Option<ResponseSchema>;
}

/// A passage as a prompt shows it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Evidence<'a> {
    /// Its document's title; may be empty.
    pub title: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// One turn of a chat.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Turn<'a> {
    /// `user` or `assistant`.
    pub role: &'a str,
    /// What was said.
    pub text: &'a str,
}

/// Is a passage relevant to a question? Read the reply with [`crate::verdict::parse`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GradeDocuments<'a> {
    /// The original question.
    pub question: &'a str,
    /// The passage to grade.
    pub passage: Evidence<'a>,
}

/// Which of several passages are relevant to a question? Read the reply with [`crate::verdict::list`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GradeDocumentsBatch<'a> {
    /// The original question.
    pub question: &'a str,
    /// The passages to grade, numbered from 1.
    pub passages: &'a [Evidence<'a>],
}

/// Does evidence support a sentence? Read the reply with [`crate::verdict::support`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GradeGroundedness<'a> {
    /// One sentence of the answer.
    pub sentence: &'a str,
    /// The evidence.
    pub passages: &'a [Evidence<'a>],
}

/// How useful is an answer? Read the reply with [`crate::verdict::utility`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GradeUsefulness<'a> {
    /// The original question.
    pub question: &'a str,
    /// The whole answer.
    pub answer: &'a str,
}

/// Which strips of a passage are relevant to a question? Read the reply with [`crate::verdict::list`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GradeStrips<'a> {
    /// The original question.
    pub question: &'a str,
    /// The title of the passage's document; may be empty.
    pub title: &'a str,
    /// The strips in the order of the text, numbered from 1.
    pub strips: &'a [&'a str],
}

/// Does the next piece of an answer need evidence that is not there? Read the reply with
/// [`crate::verdict::retrieval`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DecideRetrieval<'a> {
    /// The original question.
    pub question: &'a str,
    /// What has been written of the answer; empty at its beginning.
    pub answer_so_far: &'a str,
    /// The evidence that is there; may be none.
    pub passages: &'a [Evidence<'a>],
}

/// Answers a question.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Generate<'a> {
    /// The original question.
    pub question: &'a str,
    /// The evidence, cited by its place from 1; without any, the model answers from its own knowledge.
    pub passages: &'a [Evidence<'a>],
    /// The language to answer in.
    #[serde(serialize_with = "language_name")]
    pub language: Language,
    /// What an earlier answer said without support; may be empty.
    pub unsupported: &'a [&'a str],
    /// The longest answer in sentences; 0 sets no limit.
    pub max_sentences: u32,
    /// What to say when the documents do not answer: [`Language::abstention`].
    pub abstention: &'a str,
    /// What has been written of the answer already, to be continued; empty where the answer begins.
    pub answer_so_far: &'a str,
    /// What to say when nothing is left to add to it.
    pub complete: &'a str,
}

/// Words a question anew for retrieval. Read the reply with [`super::query`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RewriteRetrieval<'a> {
    /// The original question.
    pub question: &'a str,
    /// Queries that did not help, oldest first.
    pub failed_queries: &'a [&'a str],
    /// The language to write in.
    #[serde(serialize_with = "language_name")]
    pub language: Language,
}

/// Turns a question into keywords for the web. Read the reply with [`super::query`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RewriteWebSearch<'a> {
    /// The original question.
    pub question: &'a str,
    /// Queries that did not help, oldest first.
    pub failed_queries: &'a [&'a str],
    /// The language to write in.
    #[serde(serialize_with = "language_name")]
    pub language: Language,
}

/// Makes a follow-up question stand alone. Read the reply with [`super::query`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Condense<'a> {
    /// The last question.
    pub question: &'a str,
    /// The chat before it, oldest first.
    pub history: &'a [Turn<'a>],
    /// The language to write in.
    #[serde(serialize_with = "language_name")]
    pub language: Language,
}

fn language_name<S: serde::Serializer>(language: &Language, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(language.name())
}

/// An object with one property, which is required.
fn object(name: &'static str, property: &str, kind: Value) -> Option<ResponseSchema> {
    let schema = json!({
        "type": "object",
        "properties": { property: kind },
        "required": [property],
        "additionalProperties": false,
    });
    Some(ResponseSchema { name, schema })
}

/// A list of verdicts, each with the number of the `thing` that it is on.
fn verdicts(name: &'static str, thing: &str) -> Option<ResponseSchema> {
    let verdict = json!({
        "type": "object",
        "properties": {
            thing: { "type": "integer" },
            "verdict": { "type": "string", "enum": ["yes", "no"] },
        },
        "required": [thing, "verdict"],
        "additionalProperties": false,
    });
    object(name, "verdicts", json!({ "type": "array", "items": verdict }))
}

impl Prompt for GradeDocuments<'_> {
    const NAME: &'static str = "grade_documents";

    fn schema() -> Option<ResponseSchema> {
        object(
            "GradeDocuments",
            "binary_score",
            json!({ "type": "string", "enum": ["yes", "no"] }),
        )
    }
}

impl Prompt for GradeDocumentsBatch<'_> {
    const NAME: &'static str = "grade_documents_batch";

    fn schema() -> Option<ResponseSchema> {
        verdicts("GradeDocumentsBatch", "passage")
    }
}

impl Prompt for GradeGroundedness<'_> {
    const NAME: &'static str = "grade_groundedness";

    fn schema() -> Option<ResponseSchema> {
        object(
            "GradeGroundedness",
            "support",
            json!({ "type": "string", "enum": ["fully", "partially", "no"] }),
        )
    }
}

impl Prompt for GradeUsefulness<'_> {
    const NAME: &'static str = "grade_usefulness";

    fn schema() -> Option<ResponseSchema> {
        object(
            "GradeUsefulness",
            "utility",
            json!({ "type": "integer", "enum": [1, 2, 3, 4, 5] }),
        )
    }
}

impl Prompt for GradeStrips<'_> {
    const NAME: &'static str = "grade_strips";

    fn schema() -> Option<ResponseSchema> {
        verdicts("RefineKnowledge", "strip")
    }
}

impl Prompt for DecideRetrieval<'_> {
    const NAME: &'static str = "decide_retrieval";

    fn schema() -> Option<ResponseSchema> {
        object(
            "DecideRetrieval",
            "decision",
            json!({ "type": "string", "enum": ["yes", "no", "continue"] }),
        )
    }
}

impl Prompt for Generate<'_> {
    const NAME: &'static str = "generate";

    fn schema() -> Option<ResponseSchema> {
        None
    }
}

impl Prompt for RewriteRetrieval<'_> {
    const NAME: &'static str = "rewrite_retrieval";

    fn schema() -> Option<ResponseSchema> {
        object("Rewrite", "query", json!({ "type": "string" }))
    }
}

impl Prompt for RewriteWebSearch<'_> {
    const NAME: &'static str = "rewrite_web_search";

    fn schema() -> Option<ResponseSchema> {
        object("Rewrite", "query", json!({ "type": "string" }))
    }
}

impl Prompt for Condense<'_> {
    const NAME: &'static str = "condense";

    fn schema() -> Option<ResponseSchema> {
        object("Rewrite", "query", json!({ "type": "string" }))
    }
}

/// Every prompt's name with inputs in which each leaf is a word of its own.
pub(super) fn samples() -> Vec<(&'static str, Value)> {
    let passages = [
        Evidence {
            title: "title-alpha",
            text: "text-alpha",
        },
        Evidence {
            title: "title-beta",
            text: "text-beta",
        },
    ];
    let failed_queries = ["failed-alpha", "failed-beta"];
    let history = [
        Turn {
            role: "role-alpha",
            text: "turn-alpha",
        },
        Turn {
            role: "role-beta",
            text: "turn-beta",
        },
    ];
    let (question, language) = ("question-alpha", Language::Ko);
    vec![
        sample(&GradeDocuments {
            question,
            passage: passages[0],
        }),
        sample(&GradeDocumentsBatch {
            question,
            passages: &passages,
        }),
        sample(&GradeGroundedness {
            sentence: "sentence-alpha",
            passages: &passages,
        }),
        sample(&GradeUsefulness {
            question,
            answer: "answer-alpha",
        }),
        sample(&GradeStrips {
            question,
            title: "title-alpha",
            strips: &["strip-alpha", "strip-beta"],
        }),
        sample(&DecideRetrieval {
            question,
            answer_so_far: "answer-alpha",
            passages: &passages,
        }),
        sample(&Generate {
            question,
            passages: &passages,
            language,
            unsupported: &["unsupported-alpha", "unsupported-beta"],
            max_sentences: 9731,
            abstention: "abstention-alpha",
            answer_so_far: "answer-so-far-alpha",
            complete: "complete-alpha",
        }),
        sample(&RewriteRetrieval {
            question,
            failed_queries: &failed_queries,
            language,
        }),
        sample(&RewriteWebSearch {
            question,
            failed_queries: &failed_queries,
            language,
        }),
        sample(&Condense {
            question,
            history: &history,
            language,
        }),
    ]
}

fn sample<P: Prompt>(input: &P) -> (&'static str, Value) {
    (P::NAME, serde_json::to_value(input).unwrap_or_default())
}
