//! Who does a component's work: the value of `--generator`, `--grader` and `--rewriter`.

use std::{fmt, str::FromStr};

use emend_models::chat::{ChatOptions, LocalModel};

use super::LocalOptions;

/// Who does a component's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// `embedded`: in process, without a language model.
    Embedded,
    /// `llm`: the language model of `--llm-url`, or of `--llm-local`.
    Llm,
    /// `cascade`: in process first, and the language model for what is in doubt; for the grader.
    Cascade,
    /// `local:MODEL`: a language model in process, with a name that is known or the path of a GGUF file.
    Local(LocalModel),
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => f.write_str("embedded"),
            Self::Llm => f.write_str("llm"),
            Self::Cascade => f.write_str("cascade"),
            Self::Local(model) => write!(f, "local:{model}"),
        }
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "unknown backend `{text}`: use embedded, llm, cascade (for the grader) or local:MODEL, for instance local:smollm2"
            )
        };
        match text.trim() {
            "embedded" => Ok(Self::Embedded),
            "llm" => Ok(Self::Llm),
            "cascade" => Ok(Self::Cascade),
            other => match other.strip_prefix("local:").map(str::trim) {
                Some(model) if !model.is_empty() => model.parse().map(Self::Local).map_err(|_| unknown()),
                _ => Err(unknown()),
            },
        }
    }
}

/// Backends as `EMEND_GENERATOR_BACKEND` and its kin name them.
const OF_SERVICES: [(&str, Backend); 6] = [
    ("embedded", Backend::Embedded),
    ("extractive", Backend::Embedded),
    ("keywords", Backend::Embedded),
    ("llm", Backend::Llm),
    ("openai", Backend::Llm),
    ("cascade", Backend::Cascade),
];

impl LocalOptions {
    /// The same, with the backends that services would take from the environment where no option names one.
    ///
    /// # Errors
    /// A variable names no backend.
    pub fn with_environment(mut self) -> Result<Self, String> {
        let variables = [
            ("EMEND_GENERATOR_BACKEND", &mut self.generator),
            ("EMEND_GRADER_BACKEND", &mut self.grader),
            ("EMEND_REWRITER_BACKEND", &mut self.rewriter),
        ];
        for (variable, backend) in variables {
            let Ok(named) = std::env::var(variable) else { continue };
            if backend.is_some() || named.is_empty() {
                continue;
            }
            let known = OF_SERVICES.iter().find(|(name, _)| *name == named);
            let (_, known) = known.ok_or_else(|| format!("{variable}: `{named}` is no backend of this service"))?;
            *backend = Some(known.clone());
        }
        Ok(self)
    }

    /// Options of a component that does without a language model.
    #[must_use]
    pub fn no_chat(&self) -> ChatOptions {
        ChatOptions {
            llm_url: None,
            llm_model: None,
            llm_local: None,
            llm_fallback: Vec::new(),
            ..self.chat.clone()
        }
    }

    /// The language model for a component whose backend was `chosen` or not; none where it does without.
    #[must_use]
    pub fn chat_of(&self, chosen: Option<&Backend>) -> Option<ChatOptions> {
        let mut chat = self.chat.clone();
        chat.llm_model_dir = chat.llm_model_dir.or_else(|| self.embedder.model_dir.clone());
        match chosen {
            Some(Backend::Embedded) => None,
            Some(Backend::Llm | Backend::Cascade) => Some(chat),
            Some(Backend::Local(model)) => {
                chat.llm_local = Some(model.clone());
                Some(chat)
            }
            None => chat.is_some().then_some(chat),
        }
    }
}

#[cfg(test)]
mod tests;
