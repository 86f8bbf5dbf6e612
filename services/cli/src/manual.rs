//! `emend completions` and `emend man`: what shells and `man` read, made from the command line itself.

use std::{fs, path::Path, process::ExitCode};

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::{args::Arguments, terminal};

/// Writes the completions of a shell to standard output.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions(shell: Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "emend", &mut script);
    terminal::print(String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a page for each command into a folder, which is made where it is missing.
///
/// # Errors
/// The folder or a page cannot be written.
pub fn pages(folder: &Path) -> Result<ExitCode> {
    let cannot = || format!("cannot write manual pages to {}", folder.display());
    fs::create_dir_all(folder).with_context(cannot)?;
    clap_mangen::generate_to(Arguments::command(), folder).with_context(cannot)?;
    terminal::eprintln(format_args!(
        "wrote the manual to {0}: man {0}/emend.1",
        folder.display()
    ));
    Ok(ExitCode::SUCCESS)
}
