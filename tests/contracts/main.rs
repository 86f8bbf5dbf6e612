//! What the contracts and the documents say about themselves is so.

mod bounds;
mod comments;
