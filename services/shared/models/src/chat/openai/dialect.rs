//! Feature detection: learns from rejected requests which request fields a server supports, and leaves out the others.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// A request field or value that some servers reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feature {
    /// `response_format` with a JSON schema.
    JsonSchema,
    /// `response_format` with any JSON object, the alternative to [`Feature::JsonSchema`].
    JsonObject,
    /// `logprobs` and `top_logprobs`.
    Logprobs,
    /// `stream_options`, for the usage of a streamed reply.
    StreamOptions,
    /// `temperature` other than the server's default.
    Temperature,
    /// `seed`.
    Seed,
    /// `frequency_penalty`.
    FrequencyPenalty,
    /// The deprecated field `max_tokens`. Without it, the limit is sent as `max_completion_tokens`.
    MaxTokens,
    /// The limit of the JSON schema on the length of the reply, which has no room for reasoning before it. No server
    /// rejects it: [`Dialect::reasons`].
    ReplyLimit,
}

impl Feature {
    const ALL: [Self; 9] = [
        Self::JsonSchema,
        Self::JsonObject,
        Self::Logprobs,
        Self::StreamOptions,
        Self::Temperature,
        Self::Seed,
        Self::FrequencyPenalty,
        Self::MaxTokens,
        Self::ReplyLimit,
    ];

    /// Lower-case substrings of error messages that name the feature.
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
            Self::ReplyLimit => &[],
        }
    }
}

/// Features that a server may reject without naming them, most likely first.
const SUSPECTS: [Feature; 3] = [Feature::JsonSchema, Feature::JsonObject, Feature::Logprobs];
/// After this many requests that were rejected even without all suspects, the search stops: the cause is another.
const FRUITLESS: u32 = 8;

/// Not known yet.
const UNKNOWN: u8 = 0;
/// The server supports it.
const TAKEN: u8 = 1;
/// The server rejects it.
const MISSING: u8 = 2;

/// The features of a server, as far as known.
#[derive(Debug, Default)]
pub(super) struct Dialect {
    known: [AtomicU8; Feature::ALL.len()],
    fruitless: AtomicU32,
}

impl Dialect {
    /// Whether to send the feature: it is supported or has not been tried.
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

    /// Records that a reply did not fit into the limit of its schema: the model writes more than the reply, such as its
    /// reasoning. Later replies get the limit of the request.
    pub(super) fn reasons(&self) {
        if self.known[Feature::ReplyLimit as usize].swap(MISSING, Ordering::Relaxed) != MISSING {
            tracing::info!(
                "the chat model writes more than the JSON of its reply, reasoning for example; --llm-max-tokens limits it \
                 from now on"
            );
        }
    }

    /// Records that the server accepted a request with the features for which `sent` is true, after it had rejected the
    /// same request with the `suspects`.
    pub(super) fn learn(&self, suspects: &[Feature], sent: impl Fn(Feature) -> bool) {
        // The request was still rejected without the earlier suspects, so the last one is the cause. A server without
        // JSON mode does not support JSON schemas either.
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
            // Does not overwrite MISSING, which a concurrent call may have set.
            let _ = known.compare_exchange(UNKNOWN, TAKEN, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// The feature to leave out next after a rejection that names no feature: one that was `sent` and that the server
    /// has not accepted before.
    pub(super) fn suspect(&self, sent: impl Fn(Feature) -> bool) -> Option<Feature> {
        if self.fruitless.load(Ordering::Relaxed) >= FRUITLESS {
            return None;
        }
        SUSPECTS
            .into_iter()
            .find(|feature| sent(*feature) && self.state(*feature) == UNKNOWN)
    }

    /// Records that a request was rejected even without its suspects.
    pub(super) fn acquit(&self) {
        self.fruitless.fetch_add(1, Ordering::Relaxed);
    }

    /// The feature that the server's error message names, if it was `sent`.
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
