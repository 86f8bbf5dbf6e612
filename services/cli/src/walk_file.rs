//! A walk in a file: what `emend ask --json` and `--json=events` print, and what the page saves.

use std::{
    io::{self, Read},
    path::Path,
};

use anyhow::{Context as _, Result, bail};
use emend_core::open_regular;
use emend_orchestrator::walk::RECORD_VERSION;
use emend_proto::v1::WalkResult;
use serde_json::{Value, error::Category};

use crate::json;

/// Largest file of a walk, in bytes: its events and its result, both of the largest size, in JSON.
const MAX_BYTES: u64 = 64 << 20;
/// The version of the files that the page saves.
const PAGE_FORMAT: u64 = 1;
/// What a file of a walk is made by.
const EXPECTED: &str = "give what `emend ask --json` or `--json=events` prints, or what the page saves";

/// The walk that a file holds; `-` is standard input.
///
/// # Errors
/// It cannot be read, has more than 64 MiB, breaks off, or holds no walk or one of an unknown version.
pub fn read(file: &Path) -> Result<WalkResult> {
    let is_input = file == Path::new("-");
    let name = if is_input {
        "standard input".to_owned()
    } else {
        file.display().to_string()
    };
    let cannot = || format!("cannot read {name}");
    let reader: Box<dyn Read> = if is_input {
        Box::new(io::stdin().lock())
    } else {
        Box::new(open_regular(file).with_context(cannot)?)
    };
    let mut text = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut text).with_context(cannot)?;
    if text.len() as u64 > MAX_BYTES {
        bail!("{name} has more than {} MiB; {EXPECTED}", MAX_BYTES >> 20);
    }
    walk(&text).with_context(|| format!("{name} holds no walk; {EXPECTED}"))
}

/// The last result in some JSON: a result, an event or a response that carries one, or a list of events.
fn walk(text: &[u8]) -> Result<WalkResult> {
    let mut found = None;
    for value in serde_json::Deserializer::from_slice(text).into_iter::<Value>() {
        let mut value = value.map_err(|error| match error.classify() {
            Category::Eof => anyhow::anyhow!("it breaks off in line {}: was it written to its end?", error.line()),
            _ => anyhow::anyhow!("it is not JSON: {error}"),
        })?;
        if let Some(format) = value.get("format").filter(|format| **format != PAGE_FORMAT) {
            bail!("it has format {format}, and this release reads {PAGE_FORMAT}");
        }
        if let Some(last) = value.get_mut("events").and_then(Value::as_array_mut).and_then(Vec::pop) {
            value = last;
        }
        let result = ["finished", "result"]
            .into_iter()
            .find_map(|key| value.get_mut(key).map(Value::take))
            .or_else(|| value.get("steps").is_some().then_some(value));
        found = result.or(found);
    }
    let Some(value) = found else {
        bail!("there is no object with the steps of a walk in it");
    };
    let walk: WalkResult = json::message("WalkResult", value)?;
    if let Some(record) = walk.record.as_ref().filter(|record| record.version != RECORD_VERSION) {
        bail!(
            "its record has version {}, and this release reads {RECORD_VERSION}: use the release that wrote it",
            record.version
        );
    }
    Ok(walk)
}

#[cfg(test)]
mod tests;
