//! Prompts: versioned templates, rendered from typed inputs.
//!
//! Text of documents, answers and conversations is untrusted data. It is put between fence lines with a mark that
//! occurs in none of the inputs, so that no text can close its own fence (prompt injection, R6).
//!
//! Prompts exist in English, Korean, Japanese and Chinese. The prompt is in the language of the question if available,
//! and otherwise in English. The JSON keys and verdicts that the model has to reply are the same in all languages.

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

/// Prompt options.
#[derive(Args, Clone, Debug, Default)]
pub struct PromptOptions {
    /// Folder with prompts that override the built-in ones, by file name: `grade_documents.jinja`, `generate.jinja`, …
    /// A file in the folder itself applies to all languages, a file in its subfolder `en`, `ko`, `ja` or `zh` to that
    /// language.
    #[arg(long, env = "EMEND_PROMPTS_DIR", value_name = "DIR")]
    pub prompts_dir: Option<PathBuf>,
}

/// All prompts, validated. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Prompts {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    environment: Environment<'static>,
    versions: HashMap<(PromptLanguage, &'static str), String>,
}

/// A rendered prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    /// The prompt's name, `grade_documents`.
    pub name: &'static str,
    /// A system message and a user message.
    pub messages: Vec<Message>,
    /// JSON schema of the reply. `None` for a plain-text reply.
    pub schema: Option<ResponseSchema>,
    /// The prompt's name, language and version, `grade_documents.ko@1`. Without a language if it applies to all.
    pub version: String,
}

impl Rendered {
    /// Converts the prompt to a chat request.
    pub fn request(self) -> ChatRequest {
        ChatRequest {
            response_schema: self.schema,
            prompt: Some(self.version),
            ..ChatRequest::new(self.messages)
        }
    }
}

/// A prompt could not be loaded or rendered.
#[derive(Debug, thiserror::Error)]
pub enum PromptError {
    /// A file or folder cannot be read.
    #[error("cannot read prompts at {path}: {source}", path = path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// A file does not have the name of a prompt, or its folder not the name of a language.
    #[error("unknown prompt {name}; known: {known}")]
    Unknown {
        /// The file's name.
        name: String,
        /// The valid names.
        known: String,
    },
    /// A template does not parse or does not render.
    #[error("prompt {name}: {reason}")]
    Template {
        /// The prompt's name.
        name: String,
        /// The template error, with the line.
        reason: String,
    },
    /// A template has no version.
    #[error("prompt {name} has no version; start it with a comment that contains a line `version: 1`")]
    Version {
        /// The prompt's name.
        name: String,
    },
    /// A template does not use one of its inputs (R16).
    #[error("prompt {name} does not use its input {input}; add it to the template")]
    Input {
        /// The prompt's name.
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
    /// Loads the built-in prompts and the overrides of the options' folder, and validates them.
    ///
    /// # Errors
    /// [`PromptError`] if a folder or file cannot be read, has an unknown name, does not render, has no version or does
    /// not use an input.
    pub fn load(options: &PromptOptions) -> Result<Self, PromptError> {
        let overrides = match &options.prompts_dir {
            Some(folder) => folder::read(folder)?,
            None => HashMap::new(),
        };
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let mut versions = HashMap::new();
        for (name, sources) in BUILTIN {
            for (language, source) in PromptLanguage::ALL.into_iter().zip(sources) {
                let own = overrides.get(&(Some(language), name));
                let (label, source) = match own.or_else(|| overrides.get(&(None, name))) {
                    Some(source) if own.is_none() => (name.to_owned(), source.clone()),
                    Some(source) => (template_name(language, name), source.clone()),
                    None => (template_name(language, name), source.to_owned()),
                };
                let version = version(&source).ok_or_else(|| PromptError::Version { name: label.clone() })?;
                versions.insert((language, name), format!("{label}@{version}"));
                environment
                    .add_template_owned(template_name(language, name), source)
                    .map_err(|error| template_error(&label, &error))?;
            }
        }
        let prompts = Self {
            inner: Arc::new(Inner { environment, versions }),
        };
        prompts.check()?;
        Ok(prompts)
    }

    /// Renders the prompt for `input`. `language` is the language of the question.
    ///
    /// # Errors
    /// [`PromptError::Template`] if an overriding template fails on these inputs although it passed validation.
    pub fn render<P: Prompt>(&self, input: &P, language: Language) -> Result<Rendered, PromptError> {
        let prompt_language = PromptLanguage::of(language);
        let mut context = serde_json::to_value(input).map_err(|error| PromptError::Template {
            name: template_name(prompt_language, P::NAME),
            reason: error.to_string(),
        })?;
        if let Some(name) = context.get_mut("language") {
            *name = Value::from(prompt_language.name_of(language));
        }
        Ok(Rendered {
            name: P::NAME,
            messages: self.messages(prompt_language, P::NAME, context)?,
            schema: input.schema(),
            version: self.version::<P>(language).to_owned(),
        })
    }

    /// The name, language and version of prompt `P` for a question in `language`, as in [`Rendered::version`].
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
        let label = template_name(language, name);
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

    /// Renders every prompt with sample inputs and checks that each input occurs in the result.
    fn check(&self) -> Result<(), PromptError> {
        for (name, sample) in inputs::samples() {
            let mut leaves = Vec::new();
            collect_leaves(&sample, "", &mut leaves);
            for language in PromptLanguage::ALL {
                let messages = self.messages(language, name, sample.clone())?;
                let contains = |leaf: &str| messages.iter().any(|message| message.content.contains(leaf));
                if let Some((input, _)) = leaves.iter().find(|(_, leaf)| !contains(leaf)) {
                    return Err(PromptError::Input {
                        name: template_name(language, name),
                        input: input.clone(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// The template name of a prompt in a language, such as `grade_documents.ko`.
fn template_name(language: PromptLanguage, name: &str) -> String {
    format!("{name}.{}", language.code())
}

fn template_error(name: &str, error: &minijinja::Error) -> PromptError {
    PromptError::Template {
        name: name.to_owned(),
        reason: format!("{error:#}"),
    }
}

/// Collects every string and number of `value`, with its path.
fn collect_leaves(value: &Value, path: &str, leaves: &mut Vec<(String, String)>) {
    let child_path = |key: &str| {
        if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        }
    };
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| collect_leaves(value, &child_path(key), leaves)),
        Value::Array(items) => items.iter().for_each(|value| collect_leaves(value, path, leaves)),
        Value::String(text) => leaves.push((path.to_owned(), text.clone())),
        Value::Number(number) => leaves.push((path.to_owned(), number.to_string())),
        Value::Bool(_) | Value::Null => {}
    }
}

/// The value of the `version:` line in the comment at the start of a template.
fn version(source: &str) -> Option<&str> {
    let header = source.trim_start().strip_prefix("{#")?.split("#}").next()?;
    let version = header
        .lines()
        .find_map(|line| line.trim().strip_prefix("version:"))?
        .trim();
    (!version.is_empty()).then_some(version)
}

/// The first of a fixed series of fence marks that occurs in none of the inputs. Almost always it is the same one, so
/// that prompts of a kind begin alike and a server can reuse what it has read of the last one (prompt caching). Text that
/// contains a mark only makes this prompt take the next.
fn fence(context: &Value) -> String {
    let text = context.to_string();
    let mut digest = Sha256::digest(b"fence");
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
