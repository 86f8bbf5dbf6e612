//! The typed inputs of each prompt.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::chat::ResponseSchema;
use emend_text::Language;

/// The inputs of one prompt.
pub trait Prompt: Serialize {
    /// The prompt's name, which is its file stem.
    const NAME: &'static str;

    /// The JSON schema of the reply. `None` for a plain-text reply.
    fn schema(&self) -> Option<ResponseSchema>;
}

/// A passage in a prompt.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Evidence<'a> {
    /// Title of the document and headings above the text, on one line. May be empty.
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

/// Tokens of a reply with one verdict: about 10 as models write it, and room for the spaces and line breaks that a grammar
/// allows and for tokenizers with short tokens.
const VERDICT_TOKENS: u32 = 160;
/// Tokens of each item in a list of verdicts: its number, its verdict, quotes and a line break, about 10 where each digit
/// is a token of its own.
const LISTED_VERDICT_TOKENS: usize = 24;
/// Tokens of a reply with a query, in any language.
const QUERY_TOKENS: u32 = 256;

/// The schema of an object with one required property, whose reply needs at most `max_tokens`.
fn object(name: &'static str, property: &str, kind: Value, max_tokens: u32) -> Option<ResponseSchema> {
    let schema = json!({
        "type": "object",
        "properties": { property: kind },
        "required": [property],
        "additionalProperties": false,
    });
    Some(ResponseSchema {
        name,
        schema,
        max_tokens,
    })
}

/// The schema of an object with one of `values` as its only property.
fn verdict(name: &'static str, property: &str, values: &[&str]) -> Option<ResponseSchema> {
    object(
        name,
        property,
        json!({ "type": "string", "enum": values }),
        VERDICT_TOKENS,
    )
}

fn query() -> Option<ResponseSchema> {
    object("Rewrite", "query", json!({ "type": "string" }), QUERY_TOKENS)
}

/// The schema of the verdicts on `count` numbered items: an object with one property per item. A model that is held to
/// it cannot leave an item out, grade one twice, or go on beyond the last, as it can with an array.
fn verdicts(name: &'static str, count: usize) -> Option<ResponseSchema> {
    // Serialised objects are ordered by key: leading zeros make that the order of the numbers.
    let digits = count.to_string().len();
    let numbers: Vec<String> = (1..=count).map(|number| format!("{number:0digits$}")).collect();
    let properties: Map<String, Value> = numbers
        .iter()
        .map(|number| (number.clone(), json!({ "$ref": "#/$defs/verdict" })))
        .collect();
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": numbers,
        "additionalProperties": false,
        // Defined once: servers limit the number of enum values in a schema.
        "$defs": { "verdict": { "type": "string", "enum": ["yes", "no"] } },
    });
    let max_tokens = u32::try_from(LISTED_VERDICT_TOKENS * count).unwrap_or(u32::MAX);
    Some(ResponseSchema {
        name,
        schema,
        max_tokens: VERDICT_TOKENS.saturating_add(max_tokens),
    })
}

impl Prompt for GradeDocuments<'_> {
    const NAME: &'static str = "grade_documents";

    fn schema(&self) -> Option<ResponseSchema> {
        verdict("GradeDocuments", "binary_score", &["yes", "no"])
    }
}

impl Prompt for GradeDocumentsBatch<'_> {
    const NAME: &'static str = "grade_documents_batch";

    fn schema(&self) -> Option<ResponseSchema> {
        verdicts("GradeDocumentsBatch", self.passages.len())
    }
}

impl Prompt for GradeGroundedness<'_> {
    const NAME: &'static str = "grade_groundedness";

    fn schema(&self) -> Option<ResponseSchema> {
        verdict("GradeGroundedness", "support", &["fully", "partially", "no"])
    }
}

impl Prompt for GradeUsefulness<'_> {
    const NAME: &'static str = "grade_usefulness";

    fn schema(&self) -> Option<ResponseSchema> {
        object(
            "GradeUsefulness",
            "utility",
            json!({ "type": "integer", "enum": [1, 2, 3, 4, 5] }),
            VERDICT_TOKENS,
        )
    }
}

impl Prompt for GradeStrips<'_> {
    const NAME: &'static str = "grade_strips";

    fn schema(&self) -> Option<ResponseSchema> {
        verdicts("RefineKnowledge", self.strips.len())
    }
}

impl Prompt for DecideRetrieval<'_> {
    const NAME: &'static str = "decide_retrieval";

    fn schema(&self) -> Option<ResponseSchema> {
        verdict("DecideRetrieval", "decision", &["yes", "no", "continue"])
    }
}

impl Prompt for Generate<'_> {
    const NAME: &'static str = "generate";

    fn schema(&self) -> Option<ResponseSchema> {
        None
    }
}

impl Prompt for RewriteRetrieval<'_> {
    const NAME: &'static str = "rewrite_retrieval";

    fn schema(&self) -> Option<ResponseSchema> {
        query()
    }
}

impl Prompt for RewriteWebSearch<'_> {
    const NAME: &'static str = "rewrite_web_search";

    fn schema(&self) -> Option<ResponseSchema> {
        query()
    }
}

impl Prompt for Condense<'_> {
    const NAME: &'static str = "condense";

    fn schema(&self) -> Option<ResponseSchema> {
        query()
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
