use super::*;

#[test]
fn every_choice_reads_back_what_it_prints() {
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
fn a_model_goes_by_its_own_name_too() {
    for (name, choice) in [
        ("multilingual-e5-small", EmbedderChoice::E5Small),
        ("all-MiniLM-L6-v2", EmbedderChoice::MiniLm),
    ] {
        assert_eq!(name.parse(), Ok(choice));
    }
}

#[test]
fn an_unknown_embedder_is_told_which_are_known() {
    for wrong in ["e5", "openai:", "openai", ""] {
        let error = wrong.parse::<EmbedderChoice>().unwrap_err().to_string();
        assert!(error.contains("e5-small, minilm, hashed or openai:MODEL"), "{error}");
    }
}
