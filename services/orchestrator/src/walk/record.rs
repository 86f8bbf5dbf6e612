//! The record of a walk: its calls with their replies, by which it can be replayed.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use emend_proto::v1::{
    self, DecideRetrievalRequest, DecideRetrievalResponse, GenerateFinished, GenerateRequest, GradeDocumentsRequest,
    GradeDocumentsResponse, GradeGroundednessRequest, GradeGroundednessResponse, GradeUsefulnessRequest,
    GradeUsefulnessResponse, Passage, RecordedCall, RefineKnowledgeRequest, RefineKnowledgeResponse, RetrieveRequest,
    RetrieveResponse, RewriteRequest, RewriteResponse, SearchRequest, SearchResponse, Sentence, Strip, WalkRecord,
    recorded_call::Reply,
};
use prost::Message as _;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::{outage, services::Failure};

/// The version of the records that this crate writes and reads.
pub const RECORD_VERSION: u32 = 1;
/// Largest record, in bytes as encoded: half of a result, which has to carry the passages too.
const MAX_RECORD_BYTES: usize = 2 << 20;
/// Passages and strips that are asked for where a request does not say, as the contracts have it.
const TOP_K: u32 = 4;
const MAX_STRIPS: u32 = 5;

/// A request whose reply is recorded.
pub(super) trait Recordable {
    /// What is replied.
    type Reply;
    /// The method of its service.
    const METHOD: &'static str;

    /// What the reply depends on, apart from the question, the passages, numbers of results and thresholds.
    fn key(&self) -> String;
    /// The passages that it has.
    fn passages(&self) -> &[Passage] {
        &[]
    }
    /// The most results that it asks for.
    fn most(&self) -> u32 {
        0
    }
    /// What was found; for those calls whose reply is passages.
    fn found(_: &Self::Reply) -> Option<&[Passage]> {
        None
    }
    /// What is kept of the reply beside the passages found.
    fn kept(_: &Self::Reply) -> Option<Reply> {
        None
    }
}

/// A call as it is made.
pub(super) struct Asked {
    pub(super) method: &'static str,
    pub(super) key: String,
    pub(super) passages: Vec<String>,
    pub(super) most: u32,
}

impl Asked {
    pub(super) fn of<R: Recordable>(request: &R) -> Asked {
        Asked {
            method: R::METHOD,
            key: request.key(),
            passages: request.passages().iter().map(name).collect(),
            most: request.most(),
        }
    }
}

/// Keeps the calls of a walk.
pub(super) struct Recorder(Mutex<Recording>);

struct Recording {
    began: Instant,
    record: WalkRecord,
    /// Names of the passages that the record has.
    passages: HashSet<String>,
    bytes: usize,
    step: u32,
}

impl Recorder {
    pub(super) fn new(question: v1::Question) -> Recorder {
        let bytes = question.encoded_len();
        Recorder(Mutex::new(Recording {
            began: Instant::now(),
            record: WalkRecord {
                version: RECORD_VERSION,
                question: Some(question),
                ..WalkRecord::default()
            },
            passages: HashSet::new(),
            bytes,
            step: 0,
        }))
    }

    /// Says which step makes the next calls.
    pub(super) fn step(&self, number: u32) {
        self.recording().step = number;
    }

    /// Keeps a call that began then and has ended.
    pub(super) fn ended<R: Recordable>(&self, asked: Asked, reply: Result<&R::Reply, &Failure>, began: Instant) {
        let mut recording = self.recording();
        let found = reply.ok().and_then(R::found);
        let call = RecordedCall {
            step: recording.step,
            method: asked.method.to_owned(),
            key: asked.key,
            passages: found.map_or(asked.passages, |found| found.iter().map(name).collect()),
            most: asked.most,
            started: began.duration_since(recording.began).try_into().ok(),
            duration: began.elapsed().try_into().ok(),
            reply: match reply {
                Ok(reply) => R::kept(reply),
                Err(failure) => Some(Reply::Failure(outage::message(failure))),
            },
        };
        let new = found.unwrap_or_default().iter().zip(&call.passages);
        let new = new.filter(|(_, name)| !recording.passages.contains(*name));
        let new: Vec<(Passage, String)> = new.map(|(passage, name)| (passage.clone(), name.clone())).collect();
        let bytes = call.encoded_len() + new.iter().map(|(passage, _)| passage.encoded_len()).sum::<usize>();
        if recording.record.cut || recording.bytes + bytes > MAX_RECORD_BYTES {
            recording.record.cut = true;
            return;
        }
        recording.bytes += bytes;
        recording.record.calls.push(call);
        for (passage, name) in new {
            if recording.passages.insert(name) {
                recording.record.passages.push(passage);
            }
        }
    }

    /// What was kept.
    pub(super) fn record(&self) -> WalkRecord {
        self.recording().record.clone()
    }

    fn recording(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a passage in a record. A refined passage is another one.
pub(super) fn name(passage: &Passage) -> String {
    digest([passage.id.as_str(), &passage.text])
}

/// 16 hexadecimal digits that tell lists of texts apart.
fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn texts(sentences: &[Sentence]) -> impl Iterator<Item = &str> {
    sentences.iter().map(|sentence| sentence.text.as_str())
}

impl Recordable for RetrieveRequest {
    type Reply = RetrieveResponse;
    const METHOD: &'static str = "Retrieve";

    fn key(&self) -> String {
        digest([self.query.as_str(), self.mode().as_str_name()])
    }

    fn most(&self) -> u32 {
        self.top_k.unwrap_or(TOP_K)
    }

    fn found(reply: &RetrieveResponse) -> Option<&[Passage]> {
        Some(&reply.passages)
    }
}

impl Recordable for SearchRequest {
    type Reply = SearchResponse;
    const METHOD: &'static str = "Search";

    fn key(&self) -> String {
        digest([self.query.as_str()])
    }

    fn most(&self) -> u32 {
        self.max_results.unwrap_or(TOP_K)
    }

    fn found(reply: &SearchResponse) -> Option<&[Passage]> {
        Some(&reply.passages)
    }
}

impl Recordable for GradeDocumentsRequest {
    type Reply = GradeDocumentsResponse;
    const METHOD: &'static str = "GradeDocuments";

    fn key(&self) -> String {
        digest([])
    }

    fn passages(&self) -> &[Passage] {
        &self.passages
    }

    fn kept(reply: &GradeDocumentsResponse) -> Option<Reply> {
        Some(Reply::Grades(reply.clone()))
    }
}

impl Recordable for RefineKnowledgeRequest {
    type Reply = RefineKnowledgeResponse;
    const METHOD: &'static str = "RefineKnowledge";

    fn key(&self) -> String {
        digest([self.unit().as_str_name(), &format!("{:?}", self.size)])
    }

    fn passages(&self) -> &[Passage] {
        &self.passages
    }

    fn most(&self) -> u32 {
        self.max_strips.unwrap_or(MAX_STRIPS)
    }

    fn kept(reply: &RefineKnowledgeResponse) -> Option<Reply> {
        let mut reply = reply.clone();
        let placed = |strip: &&mut Strip| strip.span.is_some();
        reply
            .strips
            .iter_mut()
            .filter(placed)
            .for_each(|strip| strip.text.clear());
        Some(Reply::Strips(reply))
    }
}

impl Recordable for GradeGroundednessRequest {
    type Reply = GradeGroundednessResponse;
    const METHOD: &'static str = "GradeGroundedness";

    fn key(&self) -> String {
        digest([self.answer.as_str()].into_iter().chain(texts(&self.sentences)))
    }

    fn passages(&self) -> &[Passage] {
        &self.passages
    }

    fn kept(reply: &GradeGroundednessResponse) -> Option<Reply> {
        let mut reply = reply.clone();
        for sentence in &mut reply.sentences {
            sentence.citations.clear();
        }
        Some(Reply::Groundedness(reply))
    }
}

impl Recordable for GradeUsefulnessRequest {
    type Reply = GradeUsefulnessResponse;
    const METHOD: &'static str = "GradeUsefulness";

    fn key(&self) -> String {
        digest([self.answer.as_str()])
    }

    fn passages(&self) -> &[Passage] {
        &self.passages
    }

    fn kept(reply: &GradeUsefulnessResponse) -> Option<Reply> {
        Some(Reply::Usefulness(reply.clone()))
    }
}

impl Recordable for DecideRetrievalRequest {
    type Reply = DecideRetrievalResponse;
    const METHOD: &'static str = "DecideRetrieval";

    fn key(&self) -> String {
        digest([self.answer_so_far.as_str()])
    }

    fn passages(&self) -> &[Passage] {
        &self.passages
    }

    fn kept(reply: &DecideRetrievalResponse) -> Option<Reply> {
        Some(Reply::Decision(reply.clone()))
    }
}

impl Recordable for GenerateRequest {
    type Reply = GenerateFinished;
    const METHOD: &'static str = "Generate";

    fn key(&self) -> String {
        let settings = format!(
            "{} {:?} {:?} {:?}",
            self.attempt, self.temperature, self.max_tokens, self.max_sentences
        );
        let words = [settings.as_str(), &self.answer_so_far];
        digest(words.into_iter().chain(self.unsupported.iter().map(String::as_str)))
    }

    fn passages(&self) -> &[Passage] {
        &self.passages
    }

    fn kept(reply: &GenerateFinished) -> Option<Reply> {
        Some(Reply::Generated(reply.clone()))
    }
}

impl Recordable for RewriteRequest {
    type Reply = RewriteResponse;
    const METHOD: &'static str = "Rewrite";

    fn key(&self) -> String {
        let settings = format!("{} {:?}", self.purpose().as_str_name(), self.max_tokens);
        digest(
            [settings.as_str()]
                .into_iter()
                .chain(self.failed_queries.iter().map(String::as_str)),
        )
    }

    fn passages(&self) -> &[Passage] {
        &self.passages
    }

    fn kept(reply: &RewriteResponse) -> Option<Reply> {
        Some(Reply::Rewritten(reply.clone()))
    }
}
