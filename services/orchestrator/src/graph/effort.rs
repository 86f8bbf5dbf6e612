//! What checking a graph may cost.

use emend_core::Scope;

use super::BoundError;

/// States of one search for a worst case. The built-in graphs need 1,500 with their defaults; a state takes half a KiB at
/// most.
pub const MAX_STATES: usize = 100_000;
/// States of everything that one check computes: a worst case, and the dozens that its formulas are made from. The
/// built-in graphs need 61,000.
const MAX_STATES_TOGETHER: usize = 500_000;
/// States between two looks at the clock and at the caller.
const STATES_BETWEEN_LOOKS: usize = 256;

/// What the check of one graph may still cost, and for whom it is done.
#[derive(Clone, Debug)]
pub struct Effort {
    /// States that may still be explored.
    left: usize,
    scope: Option<Scope>,
}

impl Default for Effort {
    /// Nobody waits for it: only the states are bounded.
    fn default() -> Self {
        Effort {
            left: MAX_STATES_TOGETHER,
            scope: None,
        }
    }
}

impl Effort {
    /// Stops when the scope does.
    pub fn within(scope: Scope) -> Effort {
        Effort {
            scope: Some(scope),
            ..Effort::default()
        }
    }

    /// Counts a state that a search has found, which is its `number`-th.
    pub(super) fn spend(&mut self, number: usize) -> Result<(), BoundError> {
        if number > MAX_STATES || self.left == 0 {
            return Err(BoundError::TooManyStates);
        }
        self.left -= 1;
        let looks = self.left.is_multiple_of(STATES_BETWEEN_LOOKS);
        if looks && self.scope.as_ref().is_some_and(Scope::is_stopped) {
            return Err(BoundError::Stopped);
        }
        Ok(())
    }
}

#[cfg(test)]
impl Effort {
    /// States that were explored so far.
    pub(crate) fn spent(&self) -> usize {
        MAX_STATES_TOGETHER - self.left
    }
}
