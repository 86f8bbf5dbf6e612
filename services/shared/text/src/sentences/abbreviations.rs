//! Full stops that belong to an abbreviation or to a number.

/// Abbreviations that no sentence ends with, in lower case.
const TITLES: &[&str] = &[
    "dr", "mr", "mrs", "ms", "prof", "st", "gen", "col", "lt", "sgt", "capt", "cmdr", "rev", "hon", "gov", "sen",
    "rep", "pres", "messrs", "vs", "cf", "ca", "approx", "e.g", "i.e", "al", "viz", // English
    "hr", "fr", "hrn", "frl", "gebr", "dipl", "ing", "inh", "bzw", "z.b", "d.h", "u.a", "zzgl", "inkl", "exkl", "ggf",
    "evtl", "vgl", "sog", "gez", "i.a", "i.v", "z.hd", // German
    "m", "mme", "mlle", "mgr", "éts", "ets", "env", // French
    "sra", "srta", "sres", "dra", "dña", "ud", "uds", "vda", "avda", // Spanish
    "sig", "sigg", "dott", "avv", "geom", "spett", "egr", // Italian
    "dhr", "mevr", "drs", "bijv", "incl", "excl", // Dutch
    "sr", "mt", "ft",
];
/// Abbreviations that stand before a number, in lower case.
const BEFORE_NUMBERS: &[&str] = &[
    "no", "nos", "nr", "fig", "figs", "eq", "vol", "pp", "p", "ch", "sec", "art", "par", "jan", "feb", "mar", "apr",
    "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "c", "ver", "tel", "tél", "fax", "abs", "kap", "bd",
    "ziff", "pos", "str", "abb", "tab", "okt", "dez", "núm", "pág", "págs", "ref", "réf", "n", "num", "pag", "s",
];
/// Abbreviations that stand behind or before a name, in lower case.
const BEFORE_NAMES: &[&str] = &[
    "inc", "ltd", "co", "corp", "jr", "bros", "dept", "univ", "assn", "est", "ave", "blvd", "av", "ctra", "cía",
];
/// Months as German writes them behind the number of a day.
const GERMAN_MONTHS: &[&str] = &[
    "januar",
    "jänner",
    "februar",
    "märz",
    "april",
    "mai",
    "juni",
    "juli",
    "august",
    "september",
    "oktober",
    "november",
    "dezember",
    "jan",
    "feb",
    "mär",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "okt",
    "nov",
    "dez",
];
/// German words that stand before the number of something: "im 3. Stock".
const BEFORE_ORDINALS: &[&str] = &[
    "am", "im", "vom", "bis", "zum", "zur", "ab", "der", "die", "das", "den", "dem", "des", "beim", "seit",
];
/// Words that start a sentence far more often than they follow an abbreviation.
const SENTENCE_STARTERS: &[&str] = &[
    "the", "a", "an", "in", "it", "its", "he", "she", "they", "we", "i", "you", "this", "these", "that", "those",
    "there", "however", "but", "and", "as", "at", "on", "for", "from", "when", "while", "after", "before", "his",
    "her", "their", "also", "although", "since", "because", "by", "with", "if", "what", "who", "where", "why", "how",
    "some", "many",
];

/// Whether the full stop after `before` belongs to an abbreviation, given the text that is `following`.
pub(super) fn is_abbreviation(before: &str, following: &str) -> bool {
    let word = before
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '“'))
        .next()
        .unwrap_or("");
    let lower = word.to_lowercase();
    let next: String = following
        .chars()
        .take_while(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let opens = SENTENCE_STARTERS.contains(&next.as_str());
    let dotted = word.contains('.')
        && word
            .split('.')
            .all(|part| part.chars().count() == 1 && part.chars().all(char::is_alphabetic));
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase);
    if TITLES.contains(&lower.as_str()) {
        return true;
    }
    if BEFORE_NUMBERS.contains(&lower.as_str()) {
        return following.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '('));
    }
    if (1..=2).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit()) {
        return GERMAN_MONTHS.contains(&next.as_str()) || is_ordinal(before, word);
    }
    if dotted || BEFORE_NAMES.contains(&lower.as_str()) {
        return !opens && following.starts_with(char::is_alphanumeric);
    }
    initial && word != "I" && !opens && following.starts_with(char::is_alphabetic)
}

/// Whether the `number` at the end of `before` counts what follows, as in German: the word before it says so.
fn is_ordinal(before: &str, number: &str) -> bool {
    let words = before.strip_suffix(number).unwrap_or(before);
    let last = words.split_whitespace().next_back().unwrap_or_default();
    BEFORE_ORDINALS.contains(&last.to_lowercase().as_str())
}
