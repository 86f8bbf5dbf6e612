use super::*;

#[test]
fn display_and_parse_round_trip() {
    for model in [LocalModel::SmolLm2, LocalModel::File("models/qwen3.gguf".into())] {
        assert_eq!(model.to_string().parse(), Ok(model));
    }
}
