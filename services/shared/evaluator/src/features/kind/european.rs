//! Question words of European languages beside English.

use super::Kind;

/// The phrases of a language by kind.
type Phrases = &'static [(Kind, &'static [&'static str])];

const GERMAN: Phrases = &[
    (Kind::Who, &["wer", "wen", "wem", "wessen"]),
    (
        Kind::When,
        &[
            "wann",
            "in welchem jahr",
            "an welchem tag",
            "welches datum",
            "um wie viel uhr",
        ],
    ),
    (
        Kind::HowMany,
        &[
            "wie viel",
            "wie viele",
            "wieviel",
            "wie lange",
            "wie oft",
            "wie hoch",
            "wie weit",
            "wie groß",
            "wie schnell",
            "wie teuer",
        ],
    ),
    (
        Kind::Where,
        &["wo", "wohin", "woher", "in welcher stadt", "in welchem land"],
    ),
    (Kind::Why, &["warum", "weshalb", "wieso"]),
    (Kind::How, &["wie"]),
];
const FRENCH: Phrases = &[
    (Kind::Who, &["qui"]),
    (Kind::When, &["quand", "en quelle année", "quel jour", "à quelle heure"]),
    (
        Kind::HowMany,
        &["combien", "quel montant", "quelle durée", "quel est le prix"],
    ),
    (Kind::Where, &["où", "dans quelle ville", "dans quel pays"]),
    (Kind::Why, &["pourquoi"]),
    (Kind::How, &["comment"]),
];
const SPANISH: Phrases = &[
    (Kind::Who, &["quién", "quiénes"]),
    (Kind::When, &["cuándo", "en qué año", "a qué hora"]),
    (Kind::HowMany, &["cuánto", "cuánta", "cuántos", "cuántas"]),
    (Kind::Where, &["dónde", "adónde", "en qué ciudad", "en qué país"]),
    (Kind::Why, &["por qué"]),
    (Kind::How, &["cómo"]),
];
const ITALIAN: Phrases = &[
    (Kind::Who, &["chi"]),
    (Kind::When, &["quando", "in che anno", "a che ora"]),
    (Kind::HowMany, &["quanto", "quanta", "quanti", "quante"]),
    (Kind::Where, &["dove", "in quale città", "in quale paese"]),
    (Kind::Why, &["perché"]),
    (Kind::How, &["come"]),
];
const PORTUGUESE: Phrases = &[
    (Kind::Who, &["quem"]),
    (Kind::When, &["quando", "em que ano", "a que horas"]),
    (Kind::HowMany, &["quanto", "quanta", "quantos", "quantas"]),
    (Kind::Where, &["onde", "aonde", "em que cidade", "em que país"]),
    (Kind::Why, &["por que", "por quê"]),
    (Kind::How, &["como"]),
];
const DUTCH: Phrases = &[
    (Kind::Who, &["wie", "wiens"]),
    (Kind::When, &["wanneer", "in welk jaar", "hoe laat"]),
    (
        Kind::HowMany,
        &["hoeveel", "hoe lang", "hoe vaak", "hoe hoog", "hoe ver"],
    ),
    (Kind::Where, &["waar", "in welke stad", "in welk land"]),
    (Kind::Why, &["waarom"]),
    (Kind::How, &["hoe"]),
];

/// The kind of a question in the language `code`: that of its first question word, the longest where several begin there.
/// `padded` has its words in lower case, with one space between them and on either side.
pub(super) fn kind(code: &str, padded: &str) -> Option<Kind> {
    let phrases = match code {
        "de" => GERMAN,
        "fr" => FRENCH,
        "es" => SPANISH,
        "it" => ITALIAN,
        "pt" => PORTUGUESE,
        "nl" => DUTCH,
        _ => return None,
    };
    let found = phrases.iter().flat_map(|(kind, phrases)| {
        let places = phrases
            .iter()
            .filter_map(|phrase| Some((padded.find(&format!(" {phrase} "))?, phrase.len())));
        places.map(|(at, length)| (at, std::cmp::Reverse(length), *kind))
    });
    found
        .min_by_key(|(at, length, _)| (*at, *length))
        .map(|(.., kind)| kind)
}
