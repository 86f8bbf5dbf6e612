use super::*;
use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    chat: ChatOptions,
}

#[test]
fn the_key_is_never_shown() {
    let cli = Cli::parse_from(["x", "--llm-api-key", "sk-secret"]);
    assert_eq!(cli.chat.llm_api_key.as_ref().map(ApiKey::reveal), Some("sk-secret"));
    assert!(!format!("{:?}", cli.chat).contains("secret"));
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
    for wrong in ["http://a/v1", "#small", "http://a#", "small"] {
        assert!(
            Fallback::from_str(wrong).is_err_and(|error| error.contains("URL#MODEL")),
            "{wrong}"
        );
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
    let error = check(&[url, ["--llm-fallback-api-key", "secret"]].concat())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("1 keys for 0 fallbacks") && !error.contains("secret"),
        "{error}"
    );
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
        &["--llm-api-key", "secret"],
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

#[test]
fn durations_have_units() {
    for (text, millis) in [("60s", 60_000), ("1500ms", 1500), ("2m", 120_000), ("0.5", 500)] {
        assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
    }
    assert!(duration("soon").is_err() && duration("3h").is_err_and(|e| e.contains("known")));
}
