use super::*;

#[test]
fn display_and_parse_round_trip() {
    for choice in [
        EmbedderChoice::E5Small,
        EmbedderChoice::MiniLm,
        EmbedderChoice::Hashed,
        EmbedderChoice::OpenAi("text-embedding-3-small".into()),
    ] {
        assert_eq!(choice.to_string().parse::<EmbedderChoice>(), Ok(choice));
    }
}

#[test]
fn model_names_are_aliases() {
    for (name, choice) in [
        ("multilingual-e5-small", EmbedderChoice::E5Small),
        ("all-MiniLM-L6-v2", EmbedderChoice::MiniLm),
    ] {
        assert_eq!(name.parse(), Ok(choice));
    }
}

#[test]
fn the_error_of_an_unknown_embedder_lists_the_known_ones() {
    for wrong in ["e5", "openai:", "openai", ""] {
        let error = wrong.parse::<EmbedderChoice>().unwrap_err().to_string();
        assert!(error.contains("e5-small, minilm, hashed or openai:MODEL"), "{error}");
    }
}
