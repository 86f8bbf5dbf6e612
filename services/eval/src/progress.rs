//! How far a measurement has come.

/// Is told how far a measurement has come, one part of it after another; `()` does not listen.
pub trait Progress: Sync {
    /// A part begins: what it measures, and of how many questions or pairs.
    fn begin(&self, what: &str, total: u64);

    /// One more question or pair is done.
    fn advance(&self);

    /// The part is done, or broke off.
    fn end(&self);
}

impl Progress for () {
    fn begin(&self, _what: &str, _total: u64) {}

    fn advance(&self) {}

    fn end(&self) {}
}
