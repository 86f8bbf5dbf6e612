//! `emend init`: writes a configuration file to begin with.

use std::{
    fs,
    io::{ErrorKind, Write as _},
    process::ExitCode,
};

use anyhow::{Context as _, Result, bail};
use emend_core::printable_line;

use crate::{args::InitOptions, settings, terminal};

/// Writes the file.
///
/// # Errors
/// There is one, or it cannot be written.
pub fn run(options: &InitOptions) -> Result<ExitCode> {
    let (file, read_by) = match (&options.file, settings::default_file()) {
        (Some(file), _) => (file.clone(), None),
        (None, Some(file)) => (file, Some("every command reads it")),
        (None, None) => bail!("there is no home folder: name the file to write, `emend init FILE`"),
    };
    let name = printable_line(&file.display().to_string());
    let cannot = || format!("cannot write {name}");
    if let (Some(_), Some(folder)) = (read_by, file.parent()) {
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    let mut open = fs::OpenOptions::new();
    open.write(true)
        .truncate(true)
        .create(options.force)
        .create_new(!options.force);
    let mut new = match open.open(&file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{name} is there already: --force replaces it, and another FILE is written beside it");
        }
        opened => opened.with_context(cannot)?,
    };
    new.write_all(settings::template().as_bytes()).with_context(cannot)?;
    let found = read_by.map_or_else(
        || format!("give it as --config {name}, or set EMEND_CONFIG"),
        str::to_owned,
    );
    terminal::eprintln(format_args!(
        "wrote {name}: {found}\nnext: remove the # before what you want to change, then `emend doctor` checks it"
    ));
    Ok(ExitCode::SUCCESS)
}
