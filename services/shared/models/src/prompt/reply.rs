//! Parses the replies of the rewriting prompts.

use serde_json::Value;

/// Extracts the query from a rewriter's reply: from its JSON object, or else from its first line, without label and
/// quotes. `None` if there is no query.
pub fn query(reply: &str) -> Option<String> {
    let reply = reply
        .rfind("</think>")
        .map_or(reply, |at| &reply[at + "</think>".len()..])
        .trim();
    let object = reply.find('{').and_then(|at| {
        let value = serde_json::Deserializer::from_str(&reply[at..])
            .into_iter::<Value>()
            .next()?
            .ok()?;
        let named = ["query", "question", "rewritten_query", "search_query"]
            .iter()
            .find_map(|key| value.get(key)?.as_str());
        named.map(str::to_owned)
    });
    let line = || {
        let line = reply
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with("```"))?;
        let label = line.split_once([':', '：']).filter(|(label, rest)| {
            let label = label.to_lowercase();
            let known = [
                "query",
                "question",
                "rewritten",
                "keywords",
                "검색어",
                "질문",
                "検索",
                "質問",
                "查询",
                "查詢",
                "问题",
                "問題",
            ];
            !rest.trim().is_empty() && label.chars().count() <= 24 && known.iter().any(|known| label.contains(known))
        });
        Some(label.map_or(line, |(_, rest)| rest).to_owned())
    };
    let found = object.or_else(line)?;
    let quotes = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '“' | '”' | '「' | '」' | '*');
    let found = found
        .trim_matches(quotes)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    found.contains(char::is_alphanumeric).then_some(found)
}

#[cfg(test)]
mod tests;
