//! Worst cases compared with walks: all walks of small graphs, random walks of large ones.

mod bounded;
mod exhaustive;
mod random;
