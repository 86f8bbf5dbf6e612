//! `grpc-timeout`, the header that carries a caller's deadline.

use std::time::Duration;

use tonic::metadata::MetadataMap;

/// The `grpc-timeout` of a request. A header that cannot be read counts as none, as it does in tonic.
pub(crate) fn timeout_of(metadata: &MetadataMap) -> Option<Duration> {
    parse_timeout(metadata.get("grpc-timeout")?.to_str().ok()?)
}

/// Reads a `grpc-timeout` value: one to eight digits and a unit (H, M, S, m, u, n), as the gRPC protocol over HTTP/2
/// defines it.
pub fn parse_timeout(value: &str) -> Option<Duration> {
    let unit = value.chars().last()?;
    let digits = &value[..value.len() - unit.len_utf8()];
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    match unit {
        'H' => Some(Duration::from_secs(amount * 3600)),
        'M' => Some(Duration::from_secs(amount * 60)),
        'S' => Some(Duration::from_secs(amount)),
        'm' => Some(Duration::from_millis(amount)),
        'u' => Some(Duration::from_micros(amount)),
        'n' => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
