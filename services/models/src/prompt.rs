//! Prompts: files with a version, rendered from typed inputs.
//!
//! What documents, answers and conversations say is data. It stands between lines with a mark that occurs in none of
//! them, so that no text can close its own fence.

mod inputs;
mod reply;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::chat::{ChatRequest, Message, ResponseSchema};
pub use inputs::{
    Condense, DecideRetrieval, Evidence, Generate, GradeDocuments, GradeGroundedness, GradeStrips, GradeUsefulness,
    Prompt, RewriteRetrieval, RewriteWebSearch, Turn,
};
pub use reply::query;

/// Where prompts come from.
#[derive(Args, Clone, Debug, Default)]
pub struct PromptOptions {
    /// A folder with prompts that replace the built-in ones, by file name: `grade_documents.jinja`, `generate.jinja`, …
    #[arg(long, env = "EMEND_PROMPTS_DIR", value_name = "DIR")]
    pub prompts_dir: Option<PathBuf>,
}

/// All prompts, checked. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Prompts {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    environment: Environment<'static>,
    versions: HashMap<&'static str, String>,
}

/// A prompt with its inputs in place.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// One instruction and one turn of the user.
    pub messages: Vec<Message>,
    /// What the reply has to look like, where it is not prose.
    pub schema: Option<ResponseSchema>,
    /// The prompt's name and version, `grade_documents@1`.
    pub version: String,
}

impl Rendered {
    /// The request that asks it.
    pub fn request(self) -> ChatRequest {
        ChatRequest {
            response_schema: self.schema,
            ..ChatRequest::new(self.messages)
        }
    }
}

/// A prompt that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A file or folder cannot be read.
    #[error("cannot read prompts at {path}: {source}", path = path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is named like none of the prompts.
    #[error("unknown prompt {name}; known: {known}")]
    Unknown {
        /// The file's name.
        name: String,
        /// The names that would do.
        known: String,
    },
    /// A template does not parse or does not render.
    #[error("prompt {name}: {reason}")]
    Template {
        /// The prompt.
        name: String,
        /// Why, with the line.
        reason: String,
    },
    /// A template does not say its version.
    #[error("prompt {name} has no version; start it with a comment that holds a line `version: 1`")]
    Version {
        /// The prompt.
        name: String,
    },
    /// A template leaves out one of its inputs.
    #[error("prompt {name} does not contain its input {input}; the model would never see it")]
    Input {
        /// The prompt.
        name: String,
        /// The input's path.
        input: String,
    },
}

impl PromptError {
    /// A stable name for logs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "read",
            Self::Unknown { .. } => "unknown",
            Self::Template { .. } => "template",
            Self::Version { .. } => "version",
            Self::Input { .. } => "input",
        }
    }
}

/// The built-in prompts by name.
const BUILTIN: [(&str, &str); 9] = [
    (GradeDocuments::NAME, include_str!("../prompts/grade_documents.jinja")),
    (
        GradeGroundedness::NAME,
        include_str!("../prompts/grade_groundedness.jinja"),
    ),
    (GradeUsefulness::NAME, include_str!("../prompts/grade_usefulness.jinja")),
    (GradeStrips::NAME, include_str!("../prompts/grade_strips.jinja")),
    (DecideRetrieval::NAME, include_str!("../prompts/decide_retrieval.jinja")),
    (Generate::NAME, include_str!("../prompts/generate.jinja")),
    (
        RewriteRetrieval::NAME,
        include_str!("../prompts/rewrite_retrieval.jinja"),
    ),
    (
        RewriteWebSearch::NAME,
        include_str!("../prompts/rewrite_web_search.jinja"),
    ),
    (Condense::NAME, include_str!("../prompts/condense.jinja")),
];

impl Prompts {
    /// The built-in prompts, with those of the options' folder in place of theirs.
    ///
    /// # Errors
    /// [`PromptError`] for a folder or file that cannot be read, is none of the prompts, does not render, has no version
    /// or leaves out an input.
    pub fn load(options: &PromptOptions) -> Result<Self, PromptError> {
        let mut sources: HashMap<&'static str, String> = BUILTIN
            .into_iter()
            .map(|(name, source)| (name, source.to_owned()))
            .collect();
        if let Some(folder) = &options.prompts_dir {
            for (name, source) in overrides(folder)? {
                sources.insert(name, source);
            }
        }
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let mut versions = HashMap::new();
        for (name, source) in sources {
            let version = version(&source).ok_or_else(|| PromptError::Version { name: name.to_owned() })?;
            versions.insert(name, format!("{name}@{version}"));
            environment
                .add_template_owned(name, source)
                .map_err(|error| template_error(name, &error))?;
        }
        let prompts = Self {
            inner: Arc::new(Inner { environment, versions }),
        };
        prompts.check()?;
        Ok(prompts)
    }

    /// The prompt for `input`.
    ///
    /// # Errors
    /// [`PromptError::Template`] when a template of the folder fails on these inputs although it passed the check.
    pub fn render<P: Prompt>(&self, input: &P) -> Result<Rendered, PromptError> {
        let context = serde_json::to_value(input).map_err(|error| PromptError::Template {
            name: P::NAME.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Rendered {
            messages: self.messages(P::NAME, context)?,
            schema: P::schema(),
            version: self.inner.versions.get(P::NAME).cloned().unwrap_or_default(),
        })
    }

    fn messages(&self, name: &'static str, mut context: Value) -> Result<Vec<Message>, PromptError> {
        let fence = fence(&context);
        if let Value::Object(map) = &mut context {
            map.insert("fence".to_owned(), Value::String(fence));
        }
        let failed = |error: minijinja::Error| template_error(name, &error);
        let template = self.inner.environment.get_template(name).map_err(failed)?;
        let mut captured = template.render_captured(Serde(&context)).map_err(failed)?;
        let mut block = |name| {
            captured
                .with_state_mut(|state| state.render_block(name))
                .map_err(failed)
        };
        let (system, user) = (block("system")?, block("user")?);
        Ok(vec![Message::system(system.trim()), Message::user(user.trim())])
    }

    /// Renders every prompt with a word for each input and looks for each word.
    fn check(&self) -> Result<(), PromptError> {
        for (name, sample) in inputs::samples() {
            let messages = self.messages(name, sample.clone())?;
            let said: String = messages
                .iter()
                .map(|message| message.content.as_str())
                .collect::<Vec<_>>()
                .join("\n");
            let mut leaves = Vec::new();
            collect(&sample, "", &mut leaves);
            if let Some((input, _)) = leaves.into_iter().find(|(_, leaf)| !said.contains(leaf.as_str())) {
                return Err(PromptError::Input {
                    name: name.to_owned(),
                    input,
                });
            }
        }
        Ok(())
    }
}

fn template_error(name: &str, error: &minijinja::Error) -> PromptError {
    PromptError::Template {
        name: name.to_owned(),
        reason: format!("{error:#}"),
    }
}

/// Every string and number of `value` with its path.
fn collect(value: &Value, path: &str, leaves: &mut Vec<(String, String)>) {
    let below = |key: &str| {
        if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        }
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| collect(value, &below(key), leaves)),
        Value::Array(items) => items.iter().for_each(|value| collect(value, path, leaves)),
        Value::String(text) => leaves.push((path.to_owned(), text.clone())),
        Value::Number(number) => leaves.push((path.to_owned(), number.to_string())),
        Value::Bool(_) | Value::Null => {}
    }
}

/// The prompts of a folder.
fn overrides(folder: &Path) -> Result<Vec<(&'static str, String)>, PromptError> {
    let read = |path: &Path| {
        let path = path.to_owned();
        move |source| PromptError::Read { path, source }
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(read(folder))? {
        let path = entry.map_err(read(folder))?.path();
        if path.extension().is_none_or(|extension| extension != "jinja") {
            continue;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some((name, _)) = BUILTIN.iter().find(|(name, _)| *name == stem) else {
            let known = BUILTIN.map(|(name, _)| format!("{name}.jinja")).join(", ");
            return Err(PromptError::Unknown {
                name: format!("{stem}.jinja"),
                known,
            });
        };
        found.push((*name, std::fs::read_to_string(&path).map_err(read(&path))?));
    }
    Ok(found)
}

/// The `version:` line of the comment that a template starts with.
fn version(source: &str) -> Option<&str> {
    let header = source.trim_start().strip_prefix("{#")?.split("#}").next()?;
    let version = header
        .lines()
        .find_map(|line| line.trim().strip_prefix("version:"))?
        .trim();
    (!version.is_empty()).then_some(version)
}

/// A mark that is in none of the inputs. It comes from them, so the same inputs give the same prompt.
fn fence(context: &Value) -> String {
    let text = context.to_string();
    let mut digest = Sha256::digest(text.as_bytes());
    loop {
        let mark: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        if !text.contains(&mark) {
            return mark;
        }
        digest = Sha256::digest(digest);
    }
}

#[cfg(test)]
mod tests;
