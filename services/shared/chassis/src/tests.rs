//! What the tests of this crate share. It implements this crate's traits, so no crate that depends on this one can hold it.

pub(crate) mod certificates;
pub(crate) mod fixture;
