use super::*;

#[test]
fn every_model_reads_back_what_it_prints() {
    for model in [LocalModel::SmolLm2, LocalModel::File("models/qwen3.gguf".into())] {
        assert_eq!(model.to_string().parse(), Ok(model));
    }
}
