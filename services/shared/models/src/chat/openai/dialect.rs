//! What a server understands and what it does not. It is found out once; after that the client speaks as the server does.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// A part of a request that some servers reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feature {
    /// `response_format` with a JSON schema.
    JsonSchema,
    /// `response_format` with any JSON object, in place of [`Feature::JsonSchema`].
    JsonObject,
    /// `logprobs` and `top_logprobs`.
    Logprobs,
    /// `stream_options`, for the usage of a streamed reply.
    StreamOptions,
    /// `temperature` other than the server's own.
    Temperature,
    /// `seed`.
    Seed,
    /// `frequency_penalty`.
    FrequencyPenalty,
    /// `max_tokens` under its old name; without it, it is `max_completion_tokens`.
    MaxTokens,
}

impl Feature {
    const ALL: [Self; 8] = [
        Self::JsonSchema,
        Self::JsonObject,
        Self::Logprobs,
        Self::StreamOptions,
        Self::Temperature,
        Self::Seed,
        Self::FrequencyPenalty,
        Self::MaxTokens,
    ];

    /// Words that name it in an error, in lower case.
    fn signs(self) -> &'static [&'static str] {
        match self {
            Self::JsonSchema => &[
                "response_format",
                "json_schema",
                "structured output",
                "guided",
                "grammar",
            ],
            Self::JsonObject => &["response_format", "json_object", "json mode", "structured output"],
            Self::Logprobs => &["logprobs"],
            Self::StreamOptions => &["stream_options"],
            Self::Temperature => &["temperature"],
            Self::Seed => &["seed"],
            Self::FrequencyPenalty => &["penalty"],
            Self::MaxTokens => &["max_completion_tokens"],
        }
    }
}

/// What a server may reject without saying so, the likeliest first.
const SUSPECTS: [Feature; 3] = [Feature::JsonSchema, Feature::JsonObject, Feature::Logprobs];
/// Requests that are rejected without any suspect as well, after which no more are suspected: the fault is elsewhere.
const FRUITLESS: u32 = 8;

/// Nothing is known yet.
const UNKNOWN: u8 = 0;
/// The server took it.
const TAKEN: u8 = 1;
/// The server rejected it.
const MISSING: u8 = 2;

/// Which features a server has.
#[derive(Debug, Default)]
pub(super) struct Dialect {
    known: [AtomicU8; Feature::ALL.len()],
    fruitless: AtomicU32,
}

impl Dialect {
    /// Whether to send it: it is there, or has not been tried.
    pub(super) fn has(&self, feature: Feature) -> bool {
        self.state(feature) != MISSING
    }

    pub(super) fn give_up(&self, feature: Feature) {
        if self.known[feature as usize].swap(MISSING, Ordering::Relaxed) != MISSING {
            tracing::warn!(
                ?feature,
                "the chat server rejects a part of the request; going on without it"
            );
        }
    }

    /// The server took a request with all that was `sent`, after it had rejected one with the `suspects` too.
    pub(super) fn learn(&self, suspects: &[Feature], sent: impl Fn(Feature) -> bool) {
        // Leaving out the ones before it did not help: the last one is at fault. A server without JSON has no schemas.
        match suspects.last() {
            Some(Feature::JsonObject) => {
                self.give_up(Feature::JsonSchema);
                self.give_up(Feature::JsonObject);
            }
            Some(feature) => self.give_up(*feature),
            None => {}
        }
        for feature in Feature::ALL.into_iter().filter(|feature| sent(*feature)) {
            let known = &self.known[feature as usize];
            // One that another call has just found missing stays so.
            let _ = known.compare_exchange(UNKNOWN, TAKEN, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// What to leave out next of a request that was rejected without a reason: something that was `sent` and that the
    /// server has not taken before.
    pub(super) fn suspect(&self, sent: impl Fn(Feature) -> bool) -> Option<Feature> {
        if self.fruitless.load(Ordering::Relaxed) >= FRUITLESS {
            return None;
        }
        SUSPECTS
            .into_iter()
            .find(|feature| sent(*feature) && self.state(*feature) == UNKNOWN)
    }

    /// A request was rejected without its suspects as well.
    pub(super) fn acquit(&self) {
        self.fruitless.fetch_add(1, Ordering::Relaxed);
    }

    /// The feature that the server's words complain about, if it was `sent`.
    pub(super) fn blamed(words: &str, sent: impl Fn(Feature) -> bool) -> Option<Feature> {
        let words = words.to_lowercase();
        let named = |feature: &Feature| feature.signs().iter().any(|sign| words.contains(sign));
        Feature::ALL
            .into_iter()
            .find(|feature| sent(*feature) && named(feature))
    }

    fn state(&self, feature: Feature) -> u8 {
        self.known[feature as usize].load(Ordering::Relaxed)
    }
}
