//! The built-in prompts.

/// The prompts' names, and their sources in the order of [`super::language::PromptLanguage::ALL`].
macro_rules! builtin {
    ($($name:literal),+ $(,)?) => {
        [$((
            $name,
            [
                include_str!(concat!("../../prompts/en/", $name, ".jinja")),
                include_str!(concat!("../../prompts/ko/", $name, ".jinja")),
                include_str!(concat!("../../prompts/ja/", $name, ".jinja")),
                include_str!(concat!("../../prompts/zh/", $name, ".jinja")),
            ],
        )),+]
    };
}

pub(super) const BUILTIN: [(&str, [&str; 4]); 10] = builtin![
    "grade_documents",
    "grade_documents_batch",
    "grade_groundedness",
    "grade_usefulness",
    "grade_strips",
    "decide_retrieval",
    "generate",
    "rewrite_retrieval",
    "rewrite_web_search",
    "condense",
];
