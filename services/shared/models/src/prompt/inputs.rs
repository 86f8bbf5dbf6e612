//! The typed inputs of each prompt.

use serde::Serialize;
use serde_json::{Value, json};

use crate::chat::ResponseSchema;
use emend_text::Language;

/// The inputs of one prompt.
pub trait Prompt: Serialize {
    /// The prompt's name, which is its file stem.
    const NAME: &'static str;

    /// The JSON schema of the reply. `None` for a plain-text reply.
    fn schema() -> Option<ResponseSchema>;
}

/// A passage in a prompt.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Evidence<'a> {
    /// Title of the document. May be empty.
    pub title: &'a str,
    /// Text of the passage.
    pub text: &'a str,
}

/// One turn of a conversation.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Turn<'a> {
    /// `user` or `assistant`.
    pub role: &'a str,
    /// Text of the turn.
    pub text: &'a str,
}

/// Grades whether a passage is relevant to a question. Parse the reply with [`crate::verdict::parse`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GradeDocuments<'a> {
    /// The original question.
    pub question: &'a str,
    /// The passage to grade.
    pub passage: Evidence<'a>,
}

/// Grades which of several passages are relevant to a question. Parse the reply with [`crate::verdict::list`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GradeDocumentsBatch<'a> {
    /// The original question.
    pub question: &'a str,
    /// The passages to grade, numbered from 1.
    pub passages: &'a [Evidence<'a>],
}

/// Grades whether the evidence supports a sentence. Parse the reply with [`crate::verdict::support`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GradeGroundedness<'a> {
    /// One sentence of the answer.
    pub sentence: &'a str,
    /// The evidence.
    pub passages: &'a [Evidence<'a>],
}

/// Grades how useful an answer is. Parse the reply with [`crate::verdict::utility`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GradeUsefulness<'a> {
    /// The original question.
    pub question: &'a str,
    /// The whole answer.
    pub answer: &'a str,
}

/// Grades which strips of a passage are relevant to a question. Parse the reply with [`crate::verdict::list`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct GradeStrips<'a> {
    /// The original question.
    pub question: &'a str,
    /// Title of the passage's document. May be empty.
    pub title: &'a str,
    /// The strips, in text order, numbered from 1.
    pub strips: &'a [&'a str],
}

/// Decides whether the next segment of an answer needs further evidence. Parse the reply with
/// [`crate::verdict::retrieval`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DecideRetrieval<'a> {
    /// The original question.
    pub question: &'a str,
    /// The answer so far. Empty at the start.
    pub answer_so_far: &'a str,
    /// The evidence so far. May be empty.
    pub passages: &'a [Evidence<'a>],
}

/// Generates an answer to a question.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Generate<'a> {
    /// The original question.
    pub question: &'a str,
    /// The evidence, cited by number from 1. Without evidence, the model answers from its own knowledge.
    pub passages: &'a [Evidence<'a>],
    /// The language to answer in.
    #[serde(serialize_with = "language_name")]
    pub language: Language,
    /// Unsupported sentences of an earlier answer. May be empty.
    pub unsupported: &'a [&'a str],
    /// Maximum number of sentences. 0 for no limit.
    pub max_sentences: u32,
    /// The reply to give if the documents do not answer the question: [`Language::abstention`].
    pub abstention: &'a str,
    /// The answer so far, to be continued. Empty at the start.
    pub answer_so_far: &'a str,
    /// The reply to give if the answer is complete.
    pub complete: &'a str,
}

/// Rewrites a question as a retrieval query. Parse the reply with [`super::query`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RewriteRetrieval<'a> {
    /// The original question.
    pub question: &'a str,
    /// Earlier queries without useful results, oldest first.
    pub failed_queries: &'a [&'a str],
    /// The language to write in.
    #[serde(serialize_with = "language_name")]
    pub language: Language,
}

/// Rewrites a question as keywords for web search. Parse the reply with [`super::query`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct RewriteWebSearch<'a> {
    /// The original question.
    pub question: &'a str,
    /// Earlier queries without useful results, oldest first.
    pub failed_queries: &'a [&'a str],
    /// The language to write in.
    #[serde(serialize_with = "language_name")]
    pub language: Language,
}

/// Rewrites a follow-up question as a standalone question. Parse the reply with [`super::query`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Condense<'a> {
    /// The last question.
    pub question: &'a str,
    /// The conversation before it, oldest turn first.
    pub history: &'a [Turn<'a>],
    /// The language to write in.
    #[serde(serialize_with = "language_name")]
    pub language: Language,
}

fn language_name<S: serde::Serializer>(language: &Language, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(language.name())
}

/// The schema of an object with one required property.
fn object(name: &'static str, property: &str, kind: Value) -> Option<ResponseSchema> {
    let schema = json!({
        "type": "object",
        "properties": { property: kind },
        "required": [property],
        "additionalProperties": false,
    });
    Some(ResponseSchema { name, schema })
}

/// The schema of a list of verdicts, each with the number of the `thing` (passage or strip) that it grades.
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

/// The name of every prompt with sample inputs, in which every leaf is a unique word.
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
