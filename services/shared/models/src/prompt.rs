//! Prompts: files with a version, rendered from typed inputs.
//!
//! What documents, answers and conversations say is data. It stands between lines with a mark that occurs in none of
//! them, so that no text can close its own fence (R6).
//!
//! A question is asked about in its own language where there are prompts in it (English, Korean, Japanese, Chinese), and
//! else in English. What a model has to reply, keys and verdicts, is the same in all of them.

mod builtin;
mod folder;
mod inputs;
mod language;
mod reply;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::chat::{ChatRequest, Message, ResponseSchema};
use builtin::BUILTIN;
use emend_text::Language;
pub use inputs::{
    Condense, DecideRetrieval, Evidence, Generate, GradeDocuments, GradeDocumentsBatch, GradeGroundedness, GradeStrips,
    GradeUsefulness, Prompt, RewriteRetrieval, RewriteWebSearch, Turn,
};
use language::PromptLanguage;
pub use reply::query;

/// Where prompts come from.
#[derive(Args, Clone, Debug, Default)]
pub struct PromptOptions {
    /// A folder with prompts that replace the built-in ones, by file name: `grade_documents.jinja`, `generate.jinja`, …
    /// One in the folder itself is for every language, one in `en`, `ko`, `ja` or `zh` below it for that.
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
    versions: HashMap<(PromptLanguage, &'static str), String>,
}

/// A prompt with its inputs in place.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The prompt's name, `grade_documents`.
    pub name: &'static str,
    /// One instruction and one turn of the user.
    pub messages: Vec<Message>,
    /// What the reply has to look like, where it is not prose.
    pub schema: Option<ResponseSchema>,
    /// The prompt's name, language and version, `grade_documents.ko@1`; without the language where it is for every one.
    pub version: String,
}

impl Rendered {
    /// The request that asks it.
    pub fn request(self) -> ChatRequest {
        ChatRequest {
            response_schema: self.schema,
            prompt: Some(self.version),
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
    /// A file is named like none of the prompts, or the folder of one like none of the languages.
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
    /// A template leaves out one of its inputs (R16).
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

impl Prompts {
    /// The built-in prompts, with those of the options' folder in place of theirs.
    ///
    /// # Errors
    /// [`PromptError`] for a folder or file that cannot be read, is none of the prompts, does not render, has no version
    /// or leaves out an input.
    pub fn load(options: &PromptOptions) -> Result<Self, PromptError> {
        let replaced = match &options.prompts_dir {
            Some(folder) => folder::read(folder)?,
            None => HashMap::new(),
        };
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let mut versions = HashMap::new();
        for (name, sources) in BUILTIN {
            for (language, source) in PromptLanguage::ALL.into_iter().zip(sources) {
                let own = replaced.get(&(Some(language), name));
                let (label, source) = match own.or_else(|| replaced.get(&(None, name))) {
                    Some(source) if own.is_none() => (name.to_owned(), source.clone()),
                    Some(source) => (labelled(language, name), source.clone()),
                    None => (labelled(language, name), source.to_owned()),
                };
                let version = version(&source).ok_or_else(|| PromptError::Version { name: label.clone() })?;
                versions.insert((language, name), format!("{label}@{version}"));
                environment
                    .add_template_owned(labelled(language, name), source)
                    .map_err(|error| template_error(&label, &error))?;
            }
        }
        let prompts = Self {
            inner: Arc::new(Inner { environment, versions }),
        };
        prompts.check()?;
        Ok(prompts)
    }

    /// The prompt for `input`, for a question in this language.
    ///
    /// # Errors
    /// [`PromptError::Template`] when a template of the folder fails on these inputs although it passed the check.
    pub fn render<P: Prompt>(&self, input: &P, language: Language) -> Result<Rendered, PromptError> {
        let prompt_language = PromptLanguage::of(language);
        let mut context = serde_json::to_value(input).map_err(|error| PromptError::Template {
            name: labelled(prompt_language, P::NAME),
            reason: error.to_string(),
        })?;
        if let Some(name) = context.get_mut("language") {
            *name = Value::from(prompt_language.name_of(language));
        }
        Ok(Rendered {
            name: P::NAME,
            messages: self.messages(prompt_language, P::NAME, context)?,
            schema: P::schema(),
            version: self.version::<P>(language).to_owned(),
        })
    }

    /// The name, language and version of a prompt for a question in this language, as in [`Rendered::version`].
    pub fn version<P: Prompt>(&self, language: Language) -> &str {
        let version = self.inner.versions.get(&(PromptLanguage::of(language), P::NAME));
        version.map_or(P::NAME, String::as_str)
    }

    fn messages(
        &self,
        language: PromptLanguage,
        name: &'static str,
        mut context: Value,
    ) -> Result<Vec<Message>, PromptError> {
        let fence = fence(&context);
        if let Value::Object(map) = &mut context {
            map.insert("fence".to_owned(), Value::String(fence));
        }
        let label = labelled(language, name);
        let failed = |error: minijinja::Error| template_error(&label, &error);
        let template = self.inner.environment.get_template(&label).map_err(failed)?;
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
            let mut leaves = Vec::new();
            collect(&sample, "", &mut leaves);
            for language in PromptLanguage::ALL {
                let messages = self.messages(language, name, sample.clone())?;
                let said = |leaf: &str| messages.iter().any(|message| message.content.contains(leaf));
                if let Some((input, _)) = leaves.iter().find(|(_, leaf)| !said(leaf)) {
                    return Err(PromptError::Input {
                        name: labelled(language, name),
                        input: input.clone(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// The name of the prompt in that language.
fn labelled(language: PromptLanguage, name: &str) -> String {
    format!("{name}.{}", language.code())
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
