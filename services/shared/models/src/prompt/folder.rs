//! Reads overriding prompts from a folder.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::PromptError;
use super::builtin::BUILTIN;
use super::language::PromptLanguage;

/// Template sources by language and name. A source without a language applies to all languages.
pub(super) type Sources = HashMap<(Option<PromptLanguage>, &'static str), String>;

/// Reads the prompts of `folder` and of its subfolders, which have the names of languages.
pub(super) fn read(folder: &Path) -> Result<Sources, PromptError> {
    let mut sources = Sources::new();
    for path in entries(folder)? {
        if path.is_dir() {
            let files = templates(&path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let language = PromptLanguage::ALL.into_iter().find(|language| language.code() == name);
            if let (None, Some(file)) = (language, files.first()) {
                return Err(PromptError::Unknown {
                    name: format!("{name}/{}", file.file_name().unwrap_or_default().to_string_lossy()),
                    known: PromptLanguage::ALL
                        .map(|language| format!("{}/…", language.code()))
                        .join(", "),
                });
            }
            add(&mut sources, language, files)?;
        }
    }
    add(&mut sources, None, templates(folder)?)?;
    Ok(sources)
}

fn add(sources: &mut Sources, language: Option<PromptLanguage>, files: Vec<PathBuf>) -> Result<(), PromptError> {
    for path in files {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let Some((name, _)) = BUILTIN.iter().find(|(name, _)| *name == stem) else {
            return Err(PromptError::Unknown {
                name: format!("{stem}.jinja"),
                known: BUILTIN.map(|(name, _)| format!("{name}.jinja")).join(", "),
            });
        };
        let source = std::fs::read_to_string(&path).map_err(|source| PromptError::Read { path, source })?;
        sources.insert((language, name), source);
    }
    Ok(())
}

/// The `.jinja` files of `folder`.
fn templates(folder: &Path) -> Result<Vec<PathBuf>, PromptError> {
    let mut found = entries(folder)?;
    found.retain(|path| path.is_file() && path.extension().is_some_and(|extension| extension == "jinja"));
    Ok(found)
}

/// The entries of `folder`, except hidden ones: a mounted ConfigMap contains copies of its files in hidden folders.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, PromptError> {
    let failed = |source| PromptError::Read {
        path: folder.to_owned(),
        source,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            found.push(entry.path());
        }
    }
    Ok(found)
}
