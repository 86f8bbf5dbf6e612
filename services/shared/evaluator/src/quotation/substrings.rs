//! All substrings of a text, as a suffix automaton (Blumer et al. 1985).

use std::collections::BTreeMap;

/// The substrings of a text that is given character by character. Whether it has one takes time by that one's length alone,
/// however often its parts occur.
#[derive(Debug)]
pub(super) struct Substrings {
    states: Vec<State>,
    /// The state of the whole text so far.
    last: usize,
}

/// The substrings that end at the same places.
#[derive(Clone, Debug, Default)]
struct State {
    next: BTreeMap<char, usize>,
    /// The state of the longest suffix of these that ends at more places; none for the empty substring.
    link: Option<usize>,
    /// The length of the longest of these.
    length: usize,
}

impl Default for Substrings {
    fn default() -> Self {
        Self {
            states: vec![State::default()],
            last: 0,
        }
    }
}

impl Substrings {
    /// Whether the text so far contains `part`.
    pub(super) fn has(&self, part: &[char]) -> bool {
        let mut at = Some(0);
        for c in part {
            at = at.and_then(|at: usize| self.next(at, *c));
        }
        at.is_some()
    }

    /// Appends a character.
    pub(super) fn push(&mut self, c: char) {
        let new = self.states.len();
        self.states.push(State {
            length: self.length(self.last) + 1,
            ..State::default()
        });
        let mut at = Some(self.last);
        self.last = new;
        while let Some(state) = at
            && self.next(state, c).is_none()
        {
            self.connect(state, c, new);
            at = self.link(state);
        }
        let link = match at {
            None => 0,
            Some(state) => self.suffix(state, c),
        };
        if let Some(state) = self.states.get_mut(new) {
            state.link = Some(link);
        }
    }

    /// The state of exactly the substring of `state` with `c` behind it, made if it is one with longer ones so far.
    fn suffix(&mut self, state: usize, c: char) -> usize {
        let next = self.next(state, c).unwrap_or_default();
        let length = self.length(state) + 1;
        if self.length(next) == length {
            return next;
        }
        let copy = self.states.len();
        let own = self.states.get(next).cloned().unwrap_or_default();
        self.states.push(State { length, ..own });
        if let Some(longer) = self.states.get_mut(next) {
            longer.link = Some(copy);
        }
        let mut at = Some(state);
        while let Some(state) = at
            && self.next(state, c) == Some(next)
        {
            self.connect(state, c, copy);
            at = self.link(state);
        }
        copy
    }

    fn next(&self, state: usize, c: char) -> Option<usize> {
        self.states.get(state)?.next.get(&c).copied()
    }

    fn link(&self, state: usize) -> Option<usize> {
        self.states.get(state)?.link
    }

    fn length(&self, state: usize) -> usize {
        self.states.get(state).map_or(0, |state| state.length)
    }

    fn connect(&mut self, state: usize, c: char, to: usize) {
        if let Some(state) = self.states.get_mut(state) {
            state.next.insert(c, to);
        }
    }
}

#[cfg(test)]
mod tests;
