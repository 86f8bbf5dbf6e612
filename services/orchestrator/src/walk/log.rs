//! One line in the log for a walk that did not go as it should.

use emend_core::ServiceError as _;
use emend_proto::v1::{self, WalkResult};

use super::error::WalkError;

/// Says that a walk ended in an error, failed, or went on without a service: which, why, and how it ended. Neither the
/// question nor what was found is in it. `walk` tells walks apart: the trace id, where there is one; `key`
/// is the name of the caller's key.
pub(super) fn ended(walk: &str, key: Option<&str>, ended: &Result<WalkResult, WalkError>) {
    match ended {
        Err(WalkError::CallerGone) => tracing::debug!(walk, key, "the caller of a walk is gone"),
        Err(WalkError::Refused(failure)) => {
            let (service, code) = (failure.dependency.to_string(), failure.code.name());
            let cause = one_line(&failure.message);
            tracing::warn!(
                walk,
                key,
                service,
                code,
                cause,
                "a walk ended in an error: a service refused the question"
            );
        }
        Err(WalkError::Internal) => {
            tracing::warn!(
                walk,
                key,
                code = WalkError::Internal.code().name(),
                "a walk ended in an error"
            );
        }
        Ok(result) => result_without(walk, key, result),
    }
}

fn result_without(walk: &str, key: Option<&str>, result: &WalkResult) {
    let status = result.status().as_str_name();
    if let Some(v1::Failure {
        service, code, cause, ..
    }) = &result.failure
    {
        let cause = one_line(cause);
        tracing::warn!(
            walk,
            key,
            status,
            service,
            code,
            cause,
            "a walk has no answer because a service failed"
        );
    } else if let [first, others @ ..] = result.degraded_by.as_slice() {
        let services: Vec<&str> = [first]
            .into_iter()
            .chain(others)
            .map(|failure| failure.service.as_str())
            .collect();
        let (service, code, cause) = (services.join(", "), &first.code, one_line(&first.cause));
        tracing::warn!(
            walk,
            key,
            status,
            service,
            code,
            cause,
            "a walk went on without a service"
        );
    }
}

/// The text with its line breaks and other control characters as spaces.
fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}
