//! What a node can do, and how each action can end: both closed sets.
//!
//! An action returns its own outcome type, so an action that ends in a word its graph has no edge for cannot be
//! written; [`Outcome`] is the same thing with the action's type erased, for tables that are indexed by it.

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
    /// Searches the collection with the walk's query; what it finds replaces the passages held.
    Retrieve "retrieve" -> RetrieveOutcome {
        /// At least one passage was found.
        Passages "passages",
        /// The collection holds nothing near the query.
        NoPassages "no_passages",
        /// The retriever did not answer.
        Unavailable "unavailable",
    }
    /// Grades every passage not graded yet against the original question and drops what does not help.
    GradeDocuments "grade_documents" -> GradeDocumentsOutcome {
        /// No passage was dropped, and there is at least one.
        AllRelevant "all_relevant",
        /// At least one passage was kept and at least one dropped.
        SomeRelevant "some_relevant",
        /// No passage is left.
        NoneRelevant "none_relevant",
        /// Not one grade could be had.
        Unavailable "unavailable",
    }
    /// Makes a query from the original question and the queries that failed.
    Rewrite "rewrite" -> RewriteOutcome {
        /// There is a query that was not searched before.
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
    /// Writes an answer from the model alone.
    GenerateWithoutDocuments "generate_without_documents" -> GenerateWithoutDocumentsOutcome {
        /// There is an answer, resting on no evidence.
        Generated "generated",
        /// The generator does not answer without evidence.
        Abstained "abstained",
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
        /// A grade that the verdict needs could not be had.
        Unavailable "unavailable",
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

    /// Every way it can end, in the order of declaration.
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
    /// The action that ends so.
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
mod tests {
    use super::*;

    #[test]
    fn a_typed_outcome_and_its_listing_are_the_same() {
        assert_eq!(
            Outcome::from(GradeGenerationOutcome::NotUseful),
            Action::GradeGeneration.outcomes().nth(2).unwrap()
        );
        assert_eq!(Outcome::from(GradeGenerationOutcome::NotUseful).name(), "not_useful");
    }

    #[test]
    fn names_are_unique_and_found_again() {
        for &action in Action::ALL {
            assert_eq!(Action::named(action.name()), Some(action));
            let mut names: Vec<_> = action.outcomes().map(Outcome::name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), action.outcomes().len(), "{action}");
        }
        assert_eq!(Action::named("retreive"), None);
    }
}
