//! The actions that a node can run and the outcomes of each action. Both are closed sets.
//!
//! Each action returns its own outcome type, so it can end only in outcomes that every graph has to
//! map. [`Outcome`] erases that type, for tables indexed by outcome.

use std::fmt;

/// Declares the actions and, for each, the type of its outcomes.
macro_rules! actions {
    ($(
        $(#[$about:meta])*
        $action:ident $name:literal -> $outcomes:ident {
            $( $(#[$when:meta])* $outcome:ident $outcome_name:literal, )+
        }
    )+) => {
        /// What a node does when it is visited.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action { $( $(#[$about])* $action, )+ }

        impl Action {
            /// Every action, in the order of this file.
            pub const ALL: &'static [Action] = &[ $( Action::$action, )+ ];

            /// The name graph files use.
            pub fn name(self) -> &'static str {
                match self { $( Action::$action => $name, )+ }
            }

            fn outcome_names(self) -> &'static [&'static str] {
                match self { $( Action::$action => &[ $( $outcome_name, )+ ], )+ }
            }
        }

        $(
            #[doc = concat!("How `", $name, "` can end.")]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum $outcomes { $( $(#[$when])* $outcome, )+ }

            impl From<$outcomes> for Outcome {
                fn from(outcome: $outcomes) -> Outcome {
                    Outcome { action: Action::$action, index: outcome as usize }
                }
            }
        )+
    };
}

actions! {
    /// Decides whether the next segment of the answer needs retrieval.
    DecideRetrieval "decide_retrieval" -> DecideRetrievalOutcome {
        /// It needs new evidence.
        Retrieve "retrieve",
        /// The passages held are enough.
        Continue "continue",
        /// It needs no evidence.
        NoRetrieval "no_retrieval",
        /// The grader made no decision.
        Unavailable "unavailable",
    }
    /// Searches the collection with the walk's query; the results replace the passages held.
    Retrieve "retrieve" -> RetrieveOutcome {
        /// At least one passage was found.
        Passages "passages",
        /// No passage was found.
        NoPassages "no_passages",
        /// The retriever did not answer.
        Unavailable "unavailable",
    }
    /// Grades every passage without a grade against the original question, and drops passages that
    /// do not help.
    GradeDocuments "grade_documents" -> GradeDocumentsOutcome {
        /// Every passage was graded and found relevant, and there is at least one.
        AllRelevant "all_relevant",
        /// At least one passage was kept, but not all were found relevant: some were dropped, or kept without a grade.
        SomeRelevant "some_relevant",
        /// No passage is left.
        NoneRelevant "none_relevant",
        /// No passage is left, and all of them had been graded before: the query found nothing new,
        /// and another query would not either.
        Stalled "stalled",
        /// No passage could be graded.
        Unavailable "unavailable",
    }
    /// Evaluates all passages held together, as Corrective RAG does. One good passage makes the
    /// evaluation correct. If no passage could help, it is incorrect, and all passages are dropped.
    EvaluateDocuments "evaluate_documents" -> EvaluateDocumentsOutcome {
        /// At least one passage scores at or above the upper threshold.
        Correct "correct",
        /// Neither correct nor incorrect.
        Ambiguous "ambiguous",
        /// Every passage scores below the lower threshold, or there is none.
        Incorrect "incorrect",
        /// No passage could be graded.
        Unavailable "unavailable",
    }
    /// Cuts the passages held that were not refined yet into strips and keeps the best, in the order of the text.
    Refine "refine" -> RefineOutcome {
        /// At least one passage is left.
        Refined "refined",
        /// No passage is left.
        NothingKept "nothing_kept",
        /// The grader did not answer; the passages stay as they are.
        Unavailable "unavailable",
    }
    /// Refines the passages held. At the same time, turns the question into keywords and searches
    /// the web with them. The web results are added unrefined.
    RefineAndSearch "refine_and_search" -> RefineAndSearchOutcome {
        /// The web search found passages not held before.
        Results "results",
        /// The web search brought nothing new, but at least one passage is held.
        Refined "refined",
        /// No passage is held.
        NothingKept "nothing_kept",
        /// Neither the grader nor a web search answered; the passages stay as they are.
        Unavailable "unavailable",
    }
    /// Makes a query from the original question and the queries that failed.
    Rewrite "rewrite" -> RewriteOutcome {
        /// The rewriter returned a query that was not searched before.
        Rewritten "rewritten",
        /// The rewriter has no other query to offer.
        Exhausted "exhausted",
        /// The rewriter did not answer.
        Unavailable "unavailable",
    }
    /// Searches the web with the walk's query and appends what it finds to the passages kept.
    WebSearch "web_search" -> WebSearchOutcome {
        /// At least one passage was found that was not held before.
        Results "results",
        /// Nothing new was found.
        NoResults "no_results",
        /// No provider is configured, or none answered.
        Unavailable "unavailable",
    }
    /// Writes an answer to the original question from the passages kept.
    Generate "generate" -> GenerateOutcome {
        /// There is an answer.
        Generated "generated",
        /// The generator says that the passages do not answer the question.
        Abstained "abstained",
        /// The same answer from the same passages as before: trying again would change nothing.
        Stalled "stalled",
        /// No passage is kept; the generator was not called.
        NoDocuments "no_documents",
        /// The generator did not answer.
        Unavailable "unavailable",
    }
    /// Writes an answer without evidence, from the model alone.
    GenerateWithoutDocuments "generate_without_documents" -> GenerateWithoutDocumentsOutcome {
        /// There is an answer, based on no evidence.
        Generated "generated",
        /// The generator does not answer without evidence.
        Abstained "abstained",
        /// The generator did not answer.
        Unavailable "unavailable",
    }
    /// Writes the next segment of the answer: one candidate for each hypothesis of the beam and
    /// each passage held. Grades all candidates and keeps the best hypotheses.
    GenerateSegment "generate_segment" -> GenerateSegmentOutcome {
        /// At least one hypothesis has grown, and at least one is not complete.
        Extended "extended",
        /// No hypothesis has anything to add.
        Complete "complete",
        /// The generator says that no passage answers the question.
        Abstained "abstained",
        /// No passage is held; the generator was not called.
        NoDocuments "no_documents",
        /// The generator did not answer.
        Unavailable "unavailable",
    }
    /// Grades the latest answer: against the evidence and against the original question, at the same time.
    GradeGeneration "grade_generation" -> GradeGenerationOutcome {
        /// Supported by the evidence and useful.
        Useful "useful",
        /// Not supported by the evidence.
        NotSupported "not_supported",
        /// It does not address the question.
        NotUseful "not_useful",
        /// A grade that the verdict needs is missing.
        Unavailable "unavailable",
    }
    /// Grades the latest answer against the evidence alone.
    GradeGroundedness "grade_groundedness" -> GradeGroundednessOutcome {
        /// The evidence supports it.
        Supported "supported",
        /// It does not.
        NotSupported "not_supported",
        /// The answer could not be graded.
        Unavailable "unavailable",
    }
    /// Grades the latest answer against the original question alone.
    GradeUsefulness "grade_usefulness" -> GradeUsefulnessOutcome {
        /// It addresses the question.
        Useful "useful",
        /// It does not.
        NotUseful "not_useful",
        /// The answer could not be graded.
        Unavailable "unavailable",
    }
    /// Does nothing: a place where edges meet.
    Pass "pass" -> PassOutcome {
        /// Always.
        Done "done",
    }
    /// Settles on the best answer so far.
    FinalizeResponse "finalize_response" -> FinalizeResponseOutcome {
        /// The answer was graded and passed.
        Verified "verified",
        /// There is an answer that was not graded or did not pass.
        Unverified "unverified",
        /// There is no answer, or the generator withdrew it.
        NoAnswer "no_answer",
    }
}

impl Action {
    /// The action of that name.
    pub fn named(name: &str) -> Option<Action> {
        Action::ALL.iter().copied().find(|action| action.name() == name)
    }

    /// Its outcomes in the order of declaration.
    pub fn outcomes(self) -> impl ExactSizeIterator<Item = Outcome> {
        (0..self.outcome_names().len()).map(move |index| Outcome { action: self, index })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How one visit of a node ended. Made from an action's own outcome type, or listed by [`Action::outcomes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    action: Action,
    index: usize,
}

impl Outcome {
    /// The action that has this outcome.
    pub fn action(self) -> Action {
        self.action
    }

    /// Its place among the action's outcomes, from 0.
    pub fn index(self) -> usize {
        self.index
    }

    /// The name graph files use.
    pub fn name(self) -> &'static str {
        self.action.outcome_names()[self.index]
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
