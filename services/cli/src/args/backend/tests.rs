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
