//! A walk as `emend ask --json` printed it.

use std::{fs, io::Read as _, path::Path};

use anyhow::{Context as _, Result, bail};
use emend_proto::v1::WalkResult;
use serde_json::Value;

use crate::json;

/// The walk that a file holds; `-` is standard input.
///
/// # Errors
/// It cannot be read, or holds no walk.
pub(super) fn read(file: &Path) -> Result<WalkResult> {
    let (name, text) = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("cannot read standard input")?;
        ("standard input".to_owned(), text)
    } else {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
        (name, text)
    };
    walk(&text).with_context(|| {
        format!("{name} holds no walk; expected what `emend ask --json` or `emend ask --json=events` prints")
    })
}

/// The last result in some JSON: a result, an event that carries one, or a response that does.
fn walk(text: &str) -> Result<WalkResult> {
    let mut found = None;
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let mut value = value?;
        let result = ["finished", "result"]
            .into_iter()
            .find_map(|key| value.get_mut(key).map(Value::take))
            .or_else(|| value.get("steps").is_some().then_some(value));
        found = result.or(found);
    }
    match found {
        Some(value) => json::message("WalkResult", value),
        None => bail!("there is no object with the steps of a walk in it"),
    }
}

#[cfg(test)]
mod tests;
