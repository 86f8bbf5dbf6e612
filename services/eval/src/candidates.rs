//! Labelled pairs from what the retriever finds for questions whose answers are known: the passages that a walk meets,
//! with the wrong ones that look most like right ones.

use std::num::NonZeroUsize;

use anyhow::{Context as _, Result};
use emend_evaluator::{PassageText, answer_sections};
use emend_proto::v1::{Passage, RetrieveRequest};
use futures::StreamExt as _;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::{
    data::{AnswerType, Case, QuestionSet},
    progress::Progress,
    retrieval::Searcher,
};

/// A passage that was found for a question, as a line for `emend calibrate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The name of the question.
    pub id: String,
    /// Its language.
    pub lang: String,
    /// What is asked.
    pub question: String,
    /// The title of the passage's document and the headings above the passage, on one line.
    pub title: String,
    /// The text that was found.
    pub passage: String,
    /// Its rank, from 1.
    pub rank: usize,
    /// Whether it holds the answer.
    pub relevant: bool,
    /// What a sentence of it contains that answers; none where the passage does not answer. Not set for a question for
    /// yes or no, which does not say which sentence decides it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<String>>,
    /// Its sections, as the evaluator compares them with the question.
    pub sections: Vec<CandidateSection>,
    /// The title of the document that the question is about.
    pub article: String,
    /// Always: that a passage holds the answer follows from the words in it, no person judged it.
    pub constructed: bool,
}

/// A section of a passage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CandidateSection {
    /// The heading that its sentences are embedded behind, or else the title.
    pub heading: Option<String>,
    /// Its sentences, without headings.
    pub sentences: Vec<CandidateSentence>,
}

/// A sentence of a passage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CandidateSentence {
    /// What it says.
    pub text: String,
    /// Whether it contains something that answers; `false` where that is not known.
    pub right: bool,
}

/// The documents of a set, and how they are searched.
#[derive(Clone, Copy, Debug)]
pub struct Documents<'a, S> {
    /// Searches them.
    pub searcher: &'a S,
    /// The set.
    pub set: &'a QuestionSet,
    /// The collection that they are stored in.
    pub collection: &'a str,
    /// Passages for each question.
    pub top_k: u32,
    /// Searches at once.
    pub concurrent: NonZeroUsize,
}

/// The first passages for each question of a set, in the order of the questions, and for each of `foreign`, which the
/// documents do not answer.
///
/// A passage of another document that contains a right answer is left out: nobody knows whether it answers.
///
/// # Errors
/// A search fails.
pub async fn find(
    documents: Documents<'_, impl Searcher>,
    foreign: &[Case],
    stop: &CancellationToken,
    progress: &impl Progress,
) -> Result<Vec<Candidate>> {
    let cases = &documents.set.cases;
    progress.begin(&documents.set.name, (cases.len() + foreign.len()) as u64);
    let own = cases.iter().map(|case| (case, labelled as Label));
    let foreign = foreign.iter().map(|case| (case, wrong as Label));
    let searches = own.chain(foreign).map(|(case, label)| async move {
        let request = RetrieveRequest {
            query: case.question.clone(),
            collection: documents.collection.to_owned(),
            top_k: Some(documents.top_k),
            ..RetrieveRequest::default()
        };
        let found = documents.searcher.retrieve(request).await;
        let found = found.with_context(|| format!("cannot search for `{}`", case.question))?;
        progress.advance();
        Ok(label(case, &found))
    });
    let under_way = futures::stream::iter(searches)
        .buffered(documents.concurrent.get())
        .take_until(stop.cancelled());
    let found: Vec<Result<Vec<Candidate>>> = under_way.collect().await;
    progress.end();
    let found: Result<Vec<Vec<Candidate>>> = found.into_iter().collect();
    Ok(found?.into_iter().flatten().collect())
}

type Label = fn(&Case, &[Passage]) -> Vec<Candidate>;

/// Passages that do not answer.
fn wrong(case: &Case, found: &[Passage]) -> Vec<Candidate> {
    let unanswered = Case {
        answers: Vec::new(),
        gold_sentences: Vec::new(),
        gold_doc_ids: Vec::new(),
        near_doc_ids: Vec::new(),
        answer_type: AnswerType::None,
        ..case.clone()
    };
    labelled(&unanswered, found)
}

fn labelled(case: &Case, found: &[Passage]) -> Vec<Candidate> {
    let is_about = |passage: &&Passage| {
        let documents = case.gold_doc_ids.iter().chain(&case.near_doc_ids);
        documents.into_iter().any(|id| *id == passage.document_id)
    };
    let article = found.iter().find(is_about).or(found.first());
    let article = article.map_or_else(|| case.question.clone(), |passage| passage.title.clone());
    let asks_yes_or_no = case.answer_type == AnswerType::YesNo;
    let mut candidates = Vec::with_capacity(found.len());
    for (index, passage) in found.iter().enumerate() {
        let is_gold = case.gold_doc_ids.contains(&passage.document_id);
        let contains = |text: &String| !text.is_empty() && passage.text.contains(text.as_str());
        let holds = !asks_yes_or_no && case.evidence().iter().any(contains);
        if holds && !is_gold {
            continue;
        }
        let title = passage.title_line();
        let answers = (!asks_yes_or_no).then(|| if is_gold { case.evidence().to_vec() } else { Vec::new() });
        candidates.push(Candidate {
            id: case.id.clone(),
            lang: case.lang.clone(),
            question: case.question.clone(),
            sections: sections(&title, &passage.text, answers.as_deref().unwrap_or_default()),
            title: title.into_owned(),
            passage: passage.text.clone(),
            rank: index + 1,
            relevant: is_gold && (holds || asks_yes_or_no),
            answers,
            article: article.clone(),
            constructed: true,
        });
    }
    candidates
}

fn sections(title: &str, text: &str, answers: &[String]) -> Vec<CandidateSection> {
    let holds = |own: &str| answers.iter().any(|answer| !answer.is_empty() && own.contains(answer));
    let sections = answer_sections(PassageText {
        title,
        ..PassageText::from(text)
    })
    .into_iter();
    let sections = sections.map(|section| CandidateSection {
        heading: section.heading,
        sentences: section
            .sentences
            .into_iter()
            .map(|(range, sentence)| CandidateSentence {
                text: sentence,
                right: text.get(range).is_some_and(holds),
            })
            .collect(),
    });
    sections.collect()
}

#[cfg(test)]
mod tests;
