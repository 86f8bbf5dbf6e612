//! The actions of the model: what each finds in a script, and the state after it.

use std::collections::HashMap;

use emend_proto::v1::WalkStatus;

use super::script::{Numbers, Script};

/// Numbers of the options that models read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(super) top_k: u32,
    pub(super) wide_top_k: u32,
    pub(super) max_count: u32,
    pub(super) max_retries: u32,
    pub(super) max_rewrites: u32,
    pub(super) web_fallback: u32,
    pub(super) max_depth: u32,
    pub(super) recursion: usize,
}

/// How a walk ended.
pub(crate) type Status = WalkStatus;

/// The end of a walk in the model.
pub(super) struct Ended;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Some,
    None,
    Down,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    All,
    Some,
    None,
    /// Nothing, of passages that were all graded before.
    NothingNew,
    Ungraded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    Correct,
    Ambiguous,
    Incorrect,
    Ungraded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrote {
    Answer,
    Abstained,
    Stalled,
    NothingToWriteFrom,
    Down,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decided {
    Yes,
    No,
    Continue,
    Ungraded,
}

/// How good an answer is, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Quality {
    Unsupported,
    Useless,
    Unknown,
    Good,
}

#[derive(Clone, Debug)]
struct Answer {
    text: String,
    from: Vec<String>,
    supported: Option<bool>,
    quality: Quality,
}

#[derive(Clone, Debug)]
struct Held {
    id: String,
    graded: bool,
    refined: bool,
}

/// The state of a walk in the model.
pub(super) struct World {
    pub(super) path: Vec<&'static str>,
    recursion: Option<usize>,
    top_k: u32,
    held: Vec<Held>,
    /// Passages with a grade, whether they help.
    grades: HashMap<String, bool>,
    answers: Vec<Answer>,
    withdrawn: bool,
    /// What the generator abstained from.
    abstained_from: Vec<Vec<String>>,
    /// Whether the last search of the documents failed.
    retriever_down: bool,
    searched_documents: bool,
    /// Whether the last answer failed to come.
    generator_down: bool,
    /// Whether the step before was decided by a grader or a rewriter that failed.
    helper_down: bool,
    segments: usize,
    segments_supported: Option<bool>,
    status: Status,
    retrieve: Numbers,
    documents: Numbers,
    rewrite: Numbers,
    search: Numbers,
    generate: Numbers,
    groundedness: Numbers,
    usefulness: Numbers,
    decide: Numbers,
    refine: Numbers,
}

impl World {
    pub(super) fn new(script: &Script, limits: Limits, recursion: Option<usize>) -> World {
        World {
            path: Vec::new(),
            recursion,
            top_k: limits.top_k,
            held: Vec::new(),
            grades: HashMap::new(),
            answers: Vec::new(),
            withdrawn: false,
            abstained_from: Vec::new(),
            retriever_down: false,
            searched_documents: false,
            generator_down: false,
            helper_down: false,
            segments: 0,
            segments_supported: None,
            status: WalkStatus::Unspecified,
            retrieve: Numbers::new(&script.retrieve),
            documents: Numbers::new(&script.documents),
            rewrite: Numbers::new(&script.rewrite),
            search: Numbers::new(&script.search),
            generate: Numbers::new(&script.generate),
            groundedness: Numbers::new(&script.groundedness),
            usefulness: Numbers::new(&script.usefulness),
            decide: Numbers::new(&script.decide),
            refine: Numbers::new(&script.refine),
        }
    }

    pub(super) fn end(self) -> (Vec<&'static str>, Status) {
        (self.path, self.status)
    }

    /// A step; the walk ends instead where the recursion limit leaves none.
    pub(super) fn step(&mut self, node: &'static str, at_limit: WalkStatus) -> Result<(), Ended> {
        if self.recursion.is_some_and(|limit| self.path.len() >= limit) {
            return Err(self.finish(at_limit));
        }
        self.path.push(node);
        if node != "finalize_response" {
            self.helper_down = false;
        }
        Ok(())
    }

    /// The end, which is never better than the answers and their grades support.
    pub(super) fn finish(&mut self, wanted: WalkStatus) -> Ended {
        let best = self.answers.iter().max_by_key(|answer| answer.quality);
        let from_nothing = self.answers.iter().any(|answer| answer.from.is_empty());
        let settled = match (wanted, best) {
            (WalkStatus::Abstained, _) | (_, None) => WalkStatus::Abstained,
            (WalkStatus::Answered, Some(best)) if best.quality == Quality::Good => WalkStatus::Answered,
            (WalkStatus::Ungrounded, Some(_)) if from_nothing => WalkStatus::Ungrounded,
            (_, Some(best)) if best.from.is_empty() => WalkStatus::Ungrounded,
            _ => WalkStatus::Unverified,
        };
        let failed = self.retriever_down || self.generator_down || self.helper_down;
        self.status = match settled {
            WalkStatus::Abstained if failed => WalkStatus::Failed,
            WalkStatus::Answered if self.retriever_down && !self.searched_documents => WalkStatus::Unverified,
            settled => settled,
        };
        Ended
    }

    pub(super) fn retrieve(&mut self) -> Found {
        self.retrieve_so_many(self.top_k)
    }

    pub(super) fn retrieve_so_many(&mut self, wanted: u32) -> Found {
        let (number, turn) = self.retrieve.next(6);
        self.retriever_down = number == 0;
        self.searched_documents |= number != 0;
        if number == 0 {
            return Found::Down;
        }
        self.held.clear();
        if number == 1 {
            return Found::None;
        }
        for place in 0..wanted {
            self.hold(match number {
                2 | 3 => format!("local as ever {place}"),
                _ => format!("local {turn} {place}"),
            });
        }
        Found::Some
    }

    fn hold(&mut self, id: String) {
        self.held.push(Held {
            graded: self.grades.contains_key(&id),
            id,
            refined: false,
        });
    }

    /// Grades what has no grade yet and drops what does not help; what gets no grade is kept.
    pub(super) fn grade_documents(&mut self) -> Kept {
        let pending: Vec<String> = self
            .held
            .iter()
            .filter(|held| !held.graded)
            .map(|held| held.id.clone())
            .collect();
        let before = self.held.len();
        let mut graded = true;
        if !pending.is_empty() {
            let (number, _) = self.documents.next(5);
            for held in &mut self.held {
                held.graded = true;
            }
            graded = number > 0;
            self.helper_down = !graded;
            for id in pending.iter().filter(|_| graded) {
                let helps = match number {
                    1 => Some(false),
                    2 => Some(*id == pending[0]),
                    3 => (*id == pending[0]).then_some(true),
                    _ => Some(true),
                };
                if let Some(helps) = helps {
                    self.grades.insert(id.clone(), helps);
                }
            }
        }
        // What could not be graded is kept.
        self.held
            .retain(|held| self.grades.get(&held.id).copied().unwrap_or(true));
        match self.held.len() {
            _ if !graded => Kept::Ungraded,
            0 if before > 0 && pending.is_empty() => Kept::NothingNew,
            0 => Kept::None,
            kept if kept == before && self.held.iter().all(|held| self.grades.get(&held.id) == Some(&true)) => {
                Kept::All
            }
            _ => Kept::Some,
        }
    }

    pub(super) fn evaluate(&mut self) -> Judged {
        if self.held.is_empty() {
            return Judged::Incorrect;
        }
        match self.documents.next(5).0 {
            0 => {
                self.helper_down = true;
                Judged::Ungraded
            }
            1 => {
                self.held.clear();
                Judged::Incorrect
            }
            2 | 3 => Judged::Ambiguous,
            _ => Judged::Correct,
        }
    }

    pub(super) fn rewrite(&mut self) -> Found {
        let number = self.rewrite.next(3).0;
        self.helper_down = number == 0;
        match number {
            0 => Found::Down,
            1 => Found::None,
            _ => Found::Some,
        }
    }

    /// Searches the web for so many pages.
    pub(super) fn search(&mut self, wanted: u32) -> Found {
        let (number, turn) = self.search.next(3);
        match number {
            0 => return Found::Down,
            1 => return Found::None,
            _ => {}
        }
        for place in 0..wanted.max(1) {
            self.hold(format!("web {turn} {place}"));
        }
        Found::Some
    }

    /// As many pages as what is held falls short of `top_k`.
    pub(super) fn fill_up_from_the_web(&mut self) -> Found {
        let held = u32::try_from(self.held.len()).unwrap();
        self.search(self.top_k.saturating_sub(held))
    }

    /// What failed in this step was made up for by the rest of it.
    pub(super) fn made_up_for(&mut self) {
        self.helper_down = false;
    }

    /// Refines what was not refined yet.
    pub(super) fn refine(&mut self) -> Found {
        if self.held.iter().all(|held| held.refined) {
            return if self.held.is_empty() { Found::None } else { Found::Some };
        }
        let number = self.refine.next(3).0;
        self.helper_down = number == 0;
        match number {
            0 => return Found::Down,
            1 => self.held.retain(|held| held.refined),
            _ => self.held.iter_mut().for_each(|held| held.refined = true),
        }
        if self.held.is_empty() { Found::None } else { Found::Some }
    }

    pub(super) fn holds_something(&self) -> bool {
        !self.held.is_empty()
    }

    pub(super) fn generate(&mut self) -> Wrote {
        if self.held.is_empty() {
            return Wrote::NothingToWriteFrom;
        }
        let from: Vec<String> = self.held.iter().map(|held| held.id.clone()).collect();
        let mut sorted = from.clone();
        sorted.sort_unstable();
        if self.abstained_from.contains(&sorted) {
            return Wrote::Stalled;
        }
        let wrote = self.write(from);
        if wrote == Wrote::Abstained {
            self.abstained_from.push(sorted);
        }
        wrote
    }

    pub(super) fn generate_from_nothing(&mut self) -> Wrote {
        self.write(Vec::new())
    }

    fn write(&mut self, from: Vec<String>) -> Wrote {
        let (number, turn) = self.generate.next(5);
        self.generator_down = number == 0;
        let text = match number {
            0 => return Wrote::Down,
            1 => {
                self.withdrawn = true;
                return Wrote::Abstained;
            }
            2 => "the same".to_owned(),
            _ => turn.to_string(),
        };
        let known = |answer: &Answer| !from.is_empty() && answer.from == from && answer.text == text;
        if self.answers.iter().any(known) {
            return Wrote::Stalled;
        }
        self.withdrawn = false;
        self.answers.push(Answer {
            text,
            from,
            supported: None,
            quality: Quality::Unknown,
        });
        Wrote::Answer
    }

    fn quality(supported: Option<bool>, useful: Option<bool>) -> Quality {
        match (supported, useful) {
            (Some(false), _) => Quality::Unsupported,
            (_, Some(false)) => Quality::Useless,
            (Some(true), Some(true)) => Quality::Good,
            _ => Quality::Unknown,
        }
    }

    fn support(number: u8) -> Option<bool> {
        match number {
            0 => None,
            1 => Some(false),
            _ => Some(true),
        }
    }

    fn use_(number: u8) -> Option<bool> {
        (number > 0).then_some(number == 2)
    }

    /// Whether the latest answer is supported; `None` without a grade.
    pub(super) fn is_supported(&mut self) -> Option<bool> {
        let supported = World::support(self.groundedness.next(4).0);
        let latest = self.answers.last_mut().unwrap();
        latest.supported = supported;
        latest.quality = World::quality(supported, None);
        supported
    }

    /// Whether the latest answer is useful; `None` without a grade.
    pub(super) fn is_useful(&mut self) -> Option<bool> {
        let useful = World::use_(self.usefulness.next(3).0);
        let latest = self.answers.last_mut().unwrap();
        latest.quality = World::quality(latest.supported, useful);
        useful
    }

    /// Both grades at once. An answer that was supported and of no use is so when it comes again.
    pub(super) fn grade_answer(&mut self) -> (Option<bool>, Option<bool>) {
        let (latest, earlier) = self.answers.split_last().unwrap();
        let useless = (&latest.text, Some(true), Quality::Useless);
        if earlier
            .iter()
            .any(|one| (&one.text, one.supported, one.quality) == useless)
        {
            let latest = self.answers.last_mut().unwrap();
            (latest.supported, latest.quality) = (Some(true), Quality::Useless);
            return (Some(true), Some(false));
        }
        (self.is_supported(), self.is_useful())
    }

    pub(super) fn decide(&mut self) -> Decided {
        match self.decide.next(4).0 {
            0 => {
                self.helper_down = true;
                Decided::Ungraded
            }
            1 => Decided::No,
            2 if self.held.is_empty() => Decided::Yes,
            2 => Decided::Continue,
            _ => Decided::Yes,
        }
    }

    /// One segment more of the best answer. Whether there was one to add: `None` where there is nothing at all.
    pub(super) fn segment(&mut self) -> bool {
        if self.held.is_empty() {
            return false;
        }
        let depth = self.segments;
        let number = self.generate.at(depth, 5);
        // An empty text is no answer; after one it says that there is nothing to add.
        self.generator_down = number == 0 || (number == 2 && depth == 0);
        match number {
            0 => return false,
            1 => {
                self.withdrawn = depth == 0;
                return false;
            }
            2 => return false,
            _ => {}
        }
        self.withdrawn = false;
        self.segments += 1;
        let supported = World::support(self.groundedness.at(depth, 4));
        self.segments_supported = match (depth, self.segments_supported, supported) {
            (0, _, supported) => supported,
            (_, Some(false), _) | (_, _, Some(false)) => Some(false),
            (_, Some(true), Some(true)) => Some(true),
            _ => None,
        };
        let useful = World::use_(self.usefulness.at(depth, 3));
        // The beam has one answer: its leader.
        self.answers.clear();
        self.answers.push(Answer {
            text: depth.to_string(),
            from: vec![self.held[0].id.clone()],
            supported: self.segments_supported,
            quality: World::quality(self.segments_supported, useful),
        });
        true
    }

    /// Settles on the best answer there is.
    pub(super) fn finalize(&mut self) -> Ended {
        match self.answers.iter().map(|answer| answer.quality).max() {
            Some(Quality::Good) if !self.withdrawn => self.finish(WalkStatus::Answered),
            Some(_) if !self.withdrawn => self.finish(WalkStatus::Unverified),
            _ => self.finish(WalkStatus::Abstained),
        }
    }
}
