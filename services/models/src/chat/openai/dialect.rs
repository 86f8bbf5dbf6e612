//! What a server turned out not to understand. It is asked once; after that the client speaks as the server does.

use std::sync::atomic::{AtomicBool, Ordering};

/// A part of a request that some servers reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feature {
    /// `response_format` with a JSON schema.
    ResponseFormat,
    /// `logprobs` and `top_logprobs`.
    Logprobs,
    /// `stream_options`, for the usage of a streamed reply.
    StreamOptions,
    /// `temperature` other than the server's own.
    Temperature,
    /// `seed`.
    Seed,
    /// `max_tokens` under its old name; without it, it is `max_completion_tokens`.
    MaxTokens,
}

/// Which features a server still has.
#[derive(Debug, Default)]
pub(super) struct Dialect {
    missing: [AtomicBool; 6],
}

impl Dialect {
    pub(super) fn has(&self, feature: Feature) -> bool {
        !self.missing[feature as usize].load(Ordering::Relaxed)
    }

    pub(super) fn give_up(&self, feature: Feature) {
        if !self.missing[feature as usize].swap(true, Ordering::Relaxed) {
            tracing::warn!(
                ?feature,
                "the chat server rejects a part of the request; going on without it"
            );
        }
    }

    /// The feature that the server's words complain about, if `sent` has it.
    pub(super) fn blamed(words: &str, sent: impl Fn(Feature) -> bool) -> Option<Feature> {
        let words = words.to_lowercase();
        let signs: [(Feature, &[&str]); 6] = [
            (
                Feature::ResponseFormat,
                &["response_format", "json_schema", "structured output", "guided"],
            ),
            (Feature::StreamOptions, &["stream_options"]),
            (Feature::Logprobs, &["logprobs"]),
            (Feature::MaxTokens, &["max_completion_tokens"]),
            (Feature::Temperature, &["temperature"]),
            (Feature::Seed, &["seed"]),
        ];
        signs
            .into_iter()
            .find(|(feature, signs)| sent(*feature) && signs.iter().any(|sign| words.contains(sign)))
            .map(|(feature, _)| feature)
    }
}
