//! Grades from a cheap backend, and from an expensive one where the first is in doubt.

use std::sync::Arc;

use emend_chassis::metrics;
use emend_core::{Scope, semconv};
use emend_proto::v1::Passage;
use futures::FutureExt;
use futures::future::BoxFuture;
use opentelemetry::KeyValue;
use opentelemetry::metrics::Counter;

use super::{Backend, Grade, Graded, Groundedness, Retrieval, Strips, Thresholds, Usefulness, add};
use emend_models::verdict::Support;

/// A probability within this range is in doubt. Outside of it, at most one in five decisions is
/// wrong.
const DOUBT: std::ops::Range<f64> = 0.2..0.8;

/// The backend `cascade`: asks `first`, and then `second` for grades that are in doubt. If `second`
/// has no grade either, that of `first` stays.
///
/// In doubt are a relevance between the lower and the upper threshold, a sentence that is supported
/// in part, a usefulness or need for retrieval with a probability of 0.2 to 0.8, and whatever
/// `first` could not grade.
pub struct CascadeBackend {
    first: Arc<dyn Backend>,
    second: Arc<dyn Backend>,
    saved: Counter<u64>,
    asked: Counter<u64>,
}

impl CascadeBackend {
    /// Asks `second` only where `first` is in doubt.
    pub fn new(first: Arc<dyn Backend>, second: Arc<dyn Backend>) -> Self {
        let counter = |name| metrics::meter().u64_counter(name).with_unit("{grade}").build();
        Self {
            first,
            second,
            saved: counter(semconv::EMEND_CASCADE_SAVED),
            asked: counter(semconv::EMEND_CASCADE_ASKED),
        }
    }

    /// Counts grades that `second` was and was not asked for.
    fn count(&self, task: &'static str, all: usize, doubtful: usize) {
        let task = [KeyValue::new(semconv::GEN_AI_EVALUATION_NAME, task)];
        self.asked.add(doubtful as u64, &task);
        self.saved.add(all.saturating_sub(doubtful) as u64, &task);
    }

    /// Maps scores of `second` to the scale of `first`, so that the thresholds of both coincide.
    fn rescaled(&self, grades: Vec<Grade<f64>>) -> Vec<Grade<f64>> {
        let (from, to) = (self.second.thresholds(), self.first.thresholds());
        let one = |grade| match grade {
            Grade::Graded(score) => Grade::Graded(rescaled(score, from, to)),
            ungraded @ Grade::Ungraded(_) => ungraded,
        };
        grades.into_iter().map(one).collect()
    }

    fn is_doubtful(&self, grade: &Grade<f64>) -> bool {
        let Thresholds { lower, upper, .. } = self.first.thresholds();
        grade.graded().is_none_or(|score| (lower..upper).contains(score))
    }
}

/// The indexes of the grades that are in doubt.
fn places<T>(grades: &[Grade<T>], doubtful: impl Fn(&Grade<T>) -> bool) -> Vec<usize> {
    let found = grades.iter().enumerate().filter(|(_, grade)| doubtful(grade));
    found.map(|(place, _)| place).collect()
}

/// Replaces grades that are in doubt by those of `second`, where it has any.
fn replace<T>(grades: &mut [Grade<T>], places: Vec<usize>, second: Vec<Grade<T>>) {
    for (place, grade) in places.into_iter().zip(second) {
        let Some(own) = grades.get_mut(place) else { continue };
        // If neither has a grade, the reason of the second is more specific.
        if grade.graded().is_some() || own.graded().is_none() {
            *own = grade;
        }
    }
}

/// Interpolates linearly between thresholds.
fn rescaled(score: f64, from: Thresholds, to: Thresholds) -> f64 {
    let ends = |of: Thresholds| [0.0, of.lower, of.relevance.clamp(of.lower, of.upper), of.upper, 1.0];
    let (from, to) = (ends(from), ends(to));
    // The search starts at the top, so that a score equal to a threshold has reached it and empty
    // intervals are skipped.
    let piece = (0..4).rev().find(|piece| score >= from[*piece]).unwrap_or(0);
    let width = from[piece + 1] - from[piece];
    let share = if width > 0.0 {
        (score - from[piece]) / width
    } else {
        0.0
    };
    (to[piece] + share * (to[piece + 1] - to[piece])).clamp(0.0, 1.0)
}

impl Backend for CascadeBackend {
    fn thresholds(&self) -> Thresholds {
        self.first.thresholds()
    }

    fn relevance<'a>(
        &'a self,
        question: &'a str,
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<f64>>>> {
        async move {
            let mut graded = self.first.relevance(question, passages, scope).await;
            let places = places(&graded.grades, |grade| self.is_doubtful(grade));
            self.count("relevance", passages.len(), places.len());
            if places.is_empty() {
                return graded;
            }
            let doubtful: Vec<Passage> = places
                .iter()
                .filter_map(|place| passages.get(*place).cloned())
                .collect();
            let second = self.second.relevance(question, &doubtful, scope).await;
            replace(&mut graded.grades, places, self.rescaled(second.grades));
            add(&mut graded.usage, &second.usage);
            graded
        }
        .boxed()
    }

    fn groundedness<'a>(
        &'a self,
        question: &'a str,
        sentences: &'a [&'a str],
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<Groundedness>>>> {
        async move {
            let mut graded = self.first.groundedness(question, sentences, passages, scope).await;
            let places = places(&graded.grades, |grade| {
                grade.graded().is_none_or(|grade| grade.level == Support::Partial)
            });
            self.count("groundedness", sentences.len(), places.len());
            if places.is_empty() {
                return graded;
            }
            let doubtful: Vec<&str> = places
                .iter()
                .filter_map(|place| sentences.get(*place).copied())
                .collect();
            let second = self.second.groundedness(question, &doubtful, passages, scope).await;
            replace(&mut graded.grades, places, second.grades);
            add(&mut graded.usage, &second.usage);
            graded
        }
        .boxed()
    }

    fn usefulness<'a>(
        &'a self,
        question: &'a str,
        answer: &'a str,
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Grade<Usefulness>>> {
        async move {
            let first = self.first.usefulness(question, answer, passages, scope).await;
            let doubtful = first.grades.graded().is_none_or(|grade| DOUBT.contains(&grade.score));
            self.count("usefulness", 1, usize::from(doubtful));
            if !doubtful {
                return first;
            }
            let second = self.second.usefulness(question, answer, passages, scope).await;
            either(first, second)
        }
        .boxed()
    }

    fn strips<'a>(
        &'a self,
        question: &'a str,
        passages: &'a [Strips<'a>],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Vec<Grade<f64>>>> {
        async move {
            let mut graded = self.first.strips(question, passages, scope).await;
            let places = places(&graded.grades, |grade| self.is_doubtful(grade));
            self.count("strips", graded.grades.len(), places.len());
            let mut doubtful = Vec::new();
            let mut start = 0;
            for strips in passages {
                let own = start..start + strips.texts.len();
                let here = places.iter().filter(|place| own.contains(place));
                let texts: Vec<&str> = here
                    .filter_map(|place| strips.texts.get(place - start).copied())
                    .collect();
                if !texts.is_empty() {
                    let title = strips.title;
                    doubtful.push(Strips { title, texts });
                }
                start = own.end;
            }
            if doubtful.is_empty() {
                return graded;
            }
            let second = self.second.strips(question, &doubtful, scope).await;
            replace(&mut graded.grades, places, self.rescaled(second.grades));
            add(&mut graded.usage, &second.usage);
            graded
        }
        .boxed()
    }

    fn retrieval<'a>(
        &'a self,
        question: &'a str,
        answer_so_far: &'a str,
        passages: &'a [Passage],
        scope: &'a Scope,
    ) -> BoxFuture<'a, Graded<Grade<Retrieval>>> {
        async move {
            let first = self.first.retrieval(question, answer_so_far, passages, scope).await;
            let doubtful = first.grades.graded().is_none_or(|grade| DOUBT.contains(&grade.yes));
            self.count("retrieval", 1, usize::from(doubtful));
            if !doubtful {
                return first;
            }
            let second = self.second.retrieval(question, answer_so_far, passages, scope).await;
            either(first, second)
        }
        .boxed()
    }
}

/// The second grade if there is one, otherwise the first, with the cost of both.
fn either<T>(first: Graded<Grade<T>>, second: Graded<Grade<T>>) -> Graded<Grade<T>> {
    let mut grades = [first.grades];
    replace(&mut grades, vec![0], vec![second.grades]);
    let ([grades], mut usage) = (grades, first.usage);
    add(&mut usage, &second.usage);
    Graded { grades, usage }
}

#[cfg(test)]
mod tests;
