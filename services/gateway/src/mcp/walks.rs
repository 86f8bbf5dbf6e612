//! What the latest walks did, for who asks about them afterwards.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emend_proto::v1::{Passage, WalkEvent, WalkResult, walk_event::Event};
use uuid::Uuid;

/// Most walks that are kept.
const MAX_WALKS: usize = 256;
/// Most bytes of all walks that are kept.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Longest account of a walk, in bytes.
const MAX_ACCOUNT_BYTES: usize = 64 * 1024;

/// One walk.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    /// What happened, a line for each thing.
    pub(super) account: String,
    /// The passages that the answer cites, by their numbers.
    pub(super) cited: Vec<(u32, Passage)>,
}

impl Walk {
    /// Adds what an event says.
    pub(super) fn add(&mut self, event: &WalkEvent) {
        let line = match &event.event {
            Some(Event::StepFinished(finished)) => {
                let step = finished.step.clone().unwrap_or_default();
                let mut line = format!("{}. {} → {}: {}", step.number, step.node, step.outcome, step.summary);
                if !step.query.is_empty() {
                    let _ = write!(line, "; the query is now “{}”", step.query);
                }
                if !step.error.is_empty() {
                    let _ = write!(line, "; error: {}", step.error);
                }
                for passage in &step.passages {
                    let (Some(found), kept) = (&passage.passage, passage.kept) else {
                        continue;
                    };
                    if found.source.is_empty() {
                        continue;
                    }
                    let mark = if kept { '+' } else { '-' };
                    let score = passage.score.map(|score| format!(" {score:.2}")).unwrap_or_default();
                    let _ = write!(line, "\n   {mark}{score} {} {}", found.source, found.title);
                }
                line
            }
            Some(Event::EdgeTaken(edge)) => format!("   → {}: {}", edge.to, edge.reason),
            Some(Event::SentenceRetracted(retracted)) => {
                let sentence = retracted.sentence.as_ref().map(|sentence| sentence.text.as_str());
                format!("   retracted: {}", sentence.unwrap_or_default())
            }
            Some(Event::Finished(result)) => end(result),
            _ => return,
        };
        if self.account.len() + line.len() < MAX_ACCOUNT_BYTES {
            self.account.push_str(&line);
            self.account.push('\n');
        }
        if let Some(Event::Finished(result)) = &event.event {
            self.cited = cited(result);
        }
    }

    fn bytes(&self) -> usize {
        let passages = self
            .cited
            .iter()
            .map(|(_, passage)| passage.text.len() + passage.source.len());
        self.account.len() + passages.sum::<usize>()
    }
}

/// How a walk ended.
fn end(result: &WalkResult) -> String {
    let status = result.status().as_str_name().trim_start_matches("WALK_STATUS_");
    let mut line = format!("The walk through {} ended {status}", result.graph);
    if !result.reason.is_empty() {
        let _ = write!(line, ": {}", result.reason);
    }
    if let Some(usage) = &result.usage {
        let _ = write!(
            line,
            " ({} model calls, {} tokens read, {} written)",
            usage.model_calls, usage.input_tokens, usage.output_tokens
        );
    }
    if !result.trace_id.is_empty() {
        let _ = write!(line, "; trace {}", result.trace_id);
    }
    line
}

fn cited(result: &WalkResult) -> Vec<(u32, Passage)> {
    let mut numbers: Vec<u32> = result
        .sentences
        .iter()
        .flat_map(|sentence| &sentence.citations)
        .map(|citation| citation.number)
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
        .into_iter()
        .filter_map(|number| {
            let document = result.documents.get((number as usize).checked_sub(1)?)?;
            Some((number, document.passage.clone()?))
        })
        .collect()
}

/// The latest walks. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Walks(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    /// The oldest first.
    walks: VecDeque<(Uuid, Arc<Walk>)>,
    bytes: usize,
}

impl Walks {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Keeps a walk under an id that nobody can guess; the oldest make room.
    pub(super) fn keep(&self, walk: Walk) -> Uuid {
        let id = Uuid::new_v4();
        let mut kept = self.kept();
        kept.bytes += walk.bytes();
        kept.walks.push_back((id, Arc::new(walk)));
        while kept.walks.len() > MAX_WALKS || (kept.bytes > MAX_BYTES && kept.walks.len() > 1) {
            let Some((_, oldest)) = kept.walks.pop_front() else {
                break;
            };
            kept.bytes -= oldest.bytes();
        }
        id
    }

    pub(super) fn get(&self, id: Uuid) -> Option<Arc<Walk>> {
        let kept = self.kept();
        let (_, walk) = kept.walks.iter().find(|(known, _)| *known == id)?;
        Some(Arc::clone(walk))
    }

    /// All walks, the latest first.
    pub(super) fn latest(&self) -> Vec<(Uuid, Arc<Walk>)> {
        self.kept().walks.iter().rev().cloned().collect()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The URI of a passage that a walk's answer cites.
pub(super) fn uri(walk: Uuid, number: u32) -> String {
    format!("emend://walks/{walk}/passages/{number}")
}

/// The walk and the number of a URI.
pub(super) fn parse(uri: &str) -> Option<(Uuid, u32)> {
    let (walk, number) = uri.strip_prefix("emend://walks/")?.split_once("/passages/")?;
    Some((walk.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests;
