//! The calls of a record, found by what their replies depend on.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use emend_proto::v1::{DocumentGrade, RecordedCall, Strip, recorded_call::Reply};

use super::super::record::Asked;

/// The calls of a record. No lookup reads more of them than it needs, however many there are.
#[derive(Debug, Default)]
pub(super) struct Calls {
    all: Vec<RecordedCall>,
    /// By method and key.
    kinds: HashMap<(String, String), Kind>,
    /// Strips as places in the reply of a call, by the place of that call and the id of their passage.
    strips: HashMap<(usize, String), Vec<usize>>,
    /// Calls that lookups have read, which tests hold against the number of steps.
    looked_at: AtomicUsize,
}

/// Calls that differ only in their passages and in how many results they ask for, as places in the record.
#[derive(Debug, Default)]
struct Kind {
    places: Vec<usize>,
    by_passages: HashMap<Vec<String>, Vec<usize>>,
    /// The last grade of each passage: the call, and the place in its reply.
    grades: HashMap<String, (usize, usize)>,
    /// The first call with strips of each passage.
    strips: HashMap<String, usize>,
}

impl Calls {
    /// Calls in the order in which they were made.
    pub(super) fn new(all: Vec<RecordedCall>) -> Self {
        let mut kinds: HashMap<(String, String), Kind> = HashMap::new();
        let mut strips: HashMap<(usize, String), Vec<usize>> = HashMap::new();
        for (place, call) in all.iter().enumerate() {
            let kind = kinds.entry((call.method.clone(), call.key.clone())).or_default();
            kind.places.push(place);
            kind.by_passages.entry(call.passages.clone()).or_default().push(place);
            match &call.reply {
                Some(Reply::Grades(reply)) => {
                    let graded = call.passages.iter().take(reply.grades.len()).enumerate();
                    kind.grades.extend(graded.map(|(at, name)| (name.clone(), (place, at))));
                }
                Some(Reply::Strips(reply)) => {
                    for name in &call.passages {
                        kind.strips.entry(name.clone()).or_insert(place);
                    }
                    for (at, strip) in reply.strips.iter().enumerate() {
                        let of_passage = strips.entry((place, strip.passage_id.clone())).or_default();
                        of_passage.push(at);
                    }
                }
                _ => {}
            }
        }
        Self {
            all,
            kinds,
            strips,
            looked_at: AtomicUsize::new(0),
        }
    }

    /// The places of the calls of this kind, whatever passages they have.
    pub(super) fn alike(&self, asked: &Asked) -> &[usize] {
        self.kind(asked).map_or(&[], |kind| &kind.places)
    }

    /// The places of those with the same passages.
    pub(super) fn same(&self, asked: &Asked) -> &[usize] {
        let same = self.kind(asked).and_then(|kind| kind.by_passages.get(&asked.passages));
        same.map_or(&[], Vec::as_slice)
    }

    /// The call at this place.
    pub(super) fn at(&self, place: usize) -> Option<&RecordedCall> {
        self.looked_at.fetch_add(1, Ordering::Relaxed);
        self.all.get(place)
    }

    /// The grade of a passage by a call of this kind; of several the last.
    pub(super) fn grade(&self, asked: &Asked, passage: &str) -> Option<&DocumentGrade> {
        let (place, at) = self.kind(asked)?.grades.get(passage)?;
        match &self.at(*place)?.reply {
            Some(Reply::Grades(reply)) => reply.grades.get(*at),
            _ => None,
        }
    }

    /// The strips of a passage, which has this name and id, from the first call of this kind that has it.
    pub(super) fn strips(&self, asked: &Asked, passage: &str, id: &str) -> Option<Vec<&Strip>> {
        let place = *self.kind(asked)?.strips.get(passage)?;
        let Some(Reply::Strips(reply)) = &self.at(place)?.reply else {
            return None;
        };
        let own = self.strips.get(&(place, id.to_owned()));
        let own = own.into_iter().flatten().filter_map(|at| reply.strips.get(*at));
        Some(own.collect())
    }

    /// How many calls were read by lookups so far.
    #[cfg(test)]
    pub(super) fn looked_at(&self) -> usize {
        self.looked_at.load(Ordering::Relaxed)
    }

    fn kind(&self, asked: &Asked) -> Option<&Kind> {
        self.kinds.get(&(asked.method.to_owned(), asked.key.clone()))
    }
}
