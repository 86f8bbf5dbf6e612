//! Collections as streams of documents: copies, exports and imports.

mod copy;
mod export;
mod import;
mod parts;

pub(crate) use copy::{COPIES, Copy, copy};
pub(crate) use export::{Export, export};
pub(crate) use import::{IMPORTS, import};
