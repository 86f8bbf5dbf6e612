use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    embedder: EmbedderOptions,
}

#[test]
fn no_flag_gives_the_defaults() {
    assert_eq!(Line::parse_from(["emend"]).embedder, EmbedderOptions::default());
}

#[test]
fn an_unknown_embedder_is_rejected_by_clap() {
    let Err(error) = Line::try_parse_from(["emend", "--embedder", "bge"]) else {
        panic!("accepted")
    };
    assert!(error.to_string().contains("unknown embedder \"bge\""), "{error}");
}

#[test]
fn the_api_key_is_not_in_the_debug_output() {
    let options = EmbedderOptions {
        embedder_api_key: Some("sk-secret".to_owned().into()),
        ..EmbedderOptions::default()
    };
    assert!(!format!("{options:?}").contains("secret"));
}

#[test]
fn an_unknown_precision_is_rejected_by_clap() {
    let Err(error) = Line::try_parse_from(["emend", "--embedder-precision", "fp16"]) else {
        panic!("accepted")
    };
    let message = error.to_string();
    assert!(
        message.contains("unknown precision \"fp16\": use auto, f32 or int8"),
        "{message}"
    );
}
