use super::*;
use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    chat: ChatOptions,
}

#[test]
fn the_key_is_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "sk-hidden\n").unwrap();
    let cli = Cli::parse_from(["x", "--llm-api-key-file", file.to_str().unwrap()]);
    assert_eq!(
        cli.chat.api_key().unwrap().as_ref().map(Secret::reveal),
        Some("sk-hidden")
    );
    assert!(!format!("{:?}", cli.chat).contains("hidden"));
    for flag in ["--llm-api-key", "--llm-fallback-api-key"] {
        let error = Cli::try_parse_from(["x", flag, "sk-hidden"]).err().unwrap().to_string();
        let file = format!("{flag}-file");
        assert!(error.contains("no option any more") && error.contains(&file), "{error}");
        assert!(!error.contains("hidden"), "{error}");
    }
    let help = <Cli as clap::CommandFactory>::command().render_long_help().to_string();
    assert!(
        !help.contains("--llm-api-key ") && help.contains("EMEND_LLM_API_KEY_FILE"),
        "{help}"
    );
}

#[test]
fn fallbacks_are_a_server_and_a_model_each() {
    let flags = [
        "x",
        "--llm-fallback",
        "http://a/v1#small,https://b#org/large",
        "--llm-fallback",
        "http://c#d",
    ];
    let named: Vec<(String, String)> = Cli::parse_from(flags)
        .chat
        .llm_fallback
        .into_iter()
        .map(|fallback| (fallback.url, fallback.model))
        .collect();
    let expected = [("http://a/v1", "small"), ("https://b", "org/large"), ("http://c", "d")];
    assert_eq!(named, expected.map(|(url, model)| (url.to_owned(), model.to_owned())));
    for wrong in ["http://u:hidden@a/v1", "#small", "http://a#", "small"] {
        let checked = Cli::parse_from(["x", "--llm-url", "http://a", "--llm-fallback", wrong])
            .chat
            .check();
        let error = checked.unwrap_err().to_string();
        assert!(error.contains("URL#MODEL") && !error.contains("hidden"), "{error}");
    }
}

#[test]
fn an_option_without_effect_is_an_error_with_its_value_and_the_fix() {
    let check = |flags: &[&str]| Cli::parse_from([&["x"], flags].concat()).chat.check();
    let url = ["--llm-url", "http://127.0.0.1:1"];
    let local = ["--llm-local", "smollm2"];
    let fallback = ["--llm-fallback", "http://a/v1#small"];
    let model = ["--llm-model", "large"];
    for flags in [&fallback[..], &[fallback, local].concat(), &[fallback, model].concat()] {
        let error = check(flags).unwrap_err().to_string();
        for word in ["--llm-fallback:", "`http://a/v1#small`", "give --llm-url"] {
            assert!(error.contains(word), "{flags:?}: {error}");
        }
    }
    for flags in [
        &model[..],
        &[model, local].concat(),
        &[model, ["--llm-url", " "]].concat(),
    ] {
        let error = check(flags).unwrap_err().to_string();
        for word in ["--llm-model:", "`large`", "give --llm-url"] {
            assert!(error.contains(word), "{flags:?}: {error}");
        }
    }
    let mut options = Cli::parse_from([["x"].as_slice(), &url].concat()).chat;
    options.llm_fallback_api_key = vec!["secret".to_owned().into()];
    let error = options.check().unwrap_err().to_string();
    assert!(
        error.contains("1 keys for 0 fallbacks") && !error.contains("secret"),
        "{error}"
    );
    let error = check(&[local, ["--llm-url", "http://u:hidden@127.0.0.1:1"]].concat());
    assert!(!error.unwrap_err().to_string().contains("hidden"));
    let error = check(&[local, url].concat()).unwrap_err().to_string();
    for word in ["--llm-local:", "smollm2", "http://127.0.0.1:1", "give one of them"] {
        assert!(error.contains(word), "{error}");
    }
    // An empty environment variable counts as unset.
    for flags in [
        &[][..],
        &local,
        &[url, model, fallback].concat(),
        &["--llm-model", "", "--llm-url", ""],
    ] {
        assert_eq!(check(flags), Ok(()), "{flags:?}");
    }
}

#[test]
fn a_penalty_out_of_range_is_rejected() {
    let parse = |value: &str| Cli::try_parse_from(["x".to_owned(), format!("--llm-frequency-penalty={value}")]);
    assert_eq!(parse("-0.5").unwrap().chat.llm_frequency_penalty, Some(-0.5));
    for wrong in ["2.1", "-3", "NaN", "much"] {
        let error = parse(wrong).err().unwrap().to_string();
        assert!(error.contains("not a penalty"), "{wrong}: {error}");
    }
}
