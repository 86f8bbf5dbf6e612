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

impl LocalOptions {
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
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        local: LocalOptions,
    }

    fn options(flags: &[&str]) -> LocalOptions {
        Line::parse_from([&["x"], flags].concat()).local
    }

    #[test]
    fn every_backend_reads_back_what_it_prints() {
        for backend in [
            Backend::Embedded,
            Backend::Llm,
            Backend::Cascade,
            Backend::Local(LocalModel::SmolLm2),
            Backend::Local(LocalModel::File("m/qwen3.gguf".into())),
        ] {
            assert_eq!(backend.to_string().parse(), Ok(backend));
        }
        for wrong in ["local", "local:", "smollm2", ""] {
            let error = wrong.parse::<Backend>().unwrap_err();
            assert!(error.contains("or local:MODEL"), "{error}");
        }
    }

    #[test]
    fn a_component_of_its_own_mind_leaves_the_others_as_they_are() {
        let local = options(&["--generator", "local:smollm2", "--model-dir", "weights"]);
        let chat = local.chat_of(local.generator.as_ref()).unwrap();
        assert_eq!(chat.llm_local, Some(LocalModel::SmolLm2));
        assert_eq!(chat.llm_model_dir, Some("weights".into()));
        assert!(local.chat_of(local.grader.as_ref()).is_none());

        let local = options(&[
            "--llm-url",
            "http://127.0.0.1:1/v1",
            "--grader",
            "embedded",
            "--rewriter",
            "local:x.gguf",
        ]);
        assert!(local.chat_of(local.grader.as_ref()).is_none());
        let of = |backend: &Option<Backend>| local.chat_of(backend.as_ref()).unwrap().llm_local;
        assert_eq!(of(&local.generator), None);
        assert_eq!(of(&local.rewriter), Some(LocalModel::File("x.gguf".into())));
    }
}
