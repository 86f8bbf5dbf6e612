//! The languages of the prompts.

use emend_text::Language;

/// A language that has its own prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PromptLanguage {
    En,
    Ko,
    Ja,
    Zh,
}

impl PromptLanguage {
    pub(super) const ALL: [Self; 4] = [Self::En, Self::Ko, Self::Ja, Self::Zh];

    /// The prompt language for a question in `language`.
    pub(super) fn of(language: Language) -> Self {
        match language {
            Language::Ko => Self::Ko,
            Language::Ja => Self::Ja,
            Language::Zh | Language::ZhHant => Self::Zh,
            Language::En | Language::Other(_) => Self::En,
        }
    }

    /// The language code, which is the name of the prompts' folder.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Ko => "ko",
            Self::Ja => "ja",
            Self::Zh => "zh",
        }
    }

    /// The name of `language` in this prompt language.
    pub(super) fn name_of(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::Ko, Language::Ko) => "한국어",
            (Self::Ja, Language::Ja) => "日本語",
            (Self::Zh, Language::Zh) => "简体中文",
            (Self::Zh, Language::ZhHant) => "繁體中文",
            (_, language) => language.name(),
        }
    }
}
