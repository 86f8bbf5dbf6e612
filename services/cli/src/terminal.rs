//! The one way to standard output and standard error.
//!
//! What is shown holds text of documents, models and services. So nothing that a terminal obeys leaves here but lines, tabs
//! and the colours of this program, wherever the text came from and whether or not somebody thought of it before. Text of
//! others goes through [`emend_core::printable`] where it is put together, so that it cannot bring colours either.

use std::{
    fmt::Display,
    io::{self, Write},
};

use emend_core::{is_obeyed, printable};
use serde::Serialize;

/// Parameters of the colours that this program writes: none, bold, dim, underlined, and the eight colours.
const COLOURS: [&str; 12] = ["", "0", "1", "2", "4", "31", "32", "33", "34", "35", "36", "37"];

/// Writes to standard output.
///
/// # Errors
/// It cannot be written; the reader may have left.
pub fn print(text: impl Display) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(shown(&text.to_string()).as_bytes())?;
    out.flush()
}

/// Writes a line to standard output.
///
/// # Errors
/// It cannot be written; the reader may have left.
pub fn println(line: impl Display) -> io::Result<()> {
    print(format_args!("{line}\n"))
}

/// Writes to standard error. A closed terminal must not abort what is going on.
pub fn eprint(text: impl Display) {
    let mut out = anstream::stderr().lock();
    let written = out.write_all(shown(&text.to_string()).as_bytes());
    drop(written.and_then(|()| out.flush()));
}

/// Writes a line to standard error.
pub fn eprintln(line: impl Display) {
    eprint(format_args!("{line}\n"));
}

/// Writes a value as JSON on one line, or on as many as it takes to be read.
///
/// # Errors
/// The value cannot be written as JSON, or standard output cannot be written.
pub fn print_json(value: &impl Serialize, pretty: bool) -> anyhow::Result<()> {
    let json = if pretty {
        serde_json::to_string_pretty(value)?
    } else {
        serde_json::to_string(value)?
    };
    Ok(println(escaped(&json))?)
}

/// JSON with what a terminal obeys as escapes, which JSON leaves open beyond ASCII: the values stay exactly the same.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if is_obeyed(c) && c != '\n' {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}

/// The text with its control characters made visible, except colours of this program.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut parts = text.split("\u{1b}[");
    shown.push_str(&printable(parts.next().unwrap_or_default()));
    for part in parts {
        let colour = part.split_once('m').filter(|(numbers, _)| is_colour(numbers));
        let rest = match colour {
            Some((numbers, rest)) => {
                shown.push_str("\u{1b}[");
                shown.push_str(numbers);
                shown.push('m');
                rest
            }
            None => {
                shown.push_str(&printable("\u{1b}["));
                part
            }
        };
        shown.push_str(&printable(rest));
    }
    shown
}

fn is_colour(parameters: &str) -> bool {
    parameters.split(';').all(|number| COLOURS.contains(&number))
}

#[cfg(test)]
mod tests;
