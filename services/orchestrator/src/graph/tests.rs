//! Graphs against what is found by walking them: every way of small ones, random ways of large ones.

mod exhaustive;
mod random;
