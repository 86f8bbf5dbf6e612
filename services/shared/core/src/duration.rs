//! Times as people write them.

use std::time::Duration;

/// Reads `250ms`, `30s`, `1h 30m`, or a plain number of seconds.
///
/// # Errors
/// A message with examples.
pub fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let read = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string()),
    };
    read.map_err(|error| format!("{error}: write a number and a unit, like 250ms, 30s, 5m or 1h"))
}

#[cfg(test)]
mod tests;
