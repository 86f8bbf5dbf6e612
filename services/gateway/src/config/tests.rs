use super::*;

fn parse(arguments: &[&str]) -> Result<Options, clap::Error> {
    Options::try_parse_from(["emend-gateway"].iter().chain(arguments))
}

#[test]
fn the_defaults_are_those_of_a_gateway() {
    let options = Options::default();
    assert_eq!(options.service.listen.to_string(), "127.0.0.1:50056");
    assert_eq!(options.service.default_timeout.as_secs(), 60);
    assert!(options.browsers.cors_origins.is_empty());
    assert_eq!(options.page.trace_url().unwrap(), None);
}

#[test]
fn the_address_of_traces_is_an_option() {
    let jaeger = "https://jaeger.example.com/trace/{traceId}";
    let options = parse(&["--trace-url", jaeger]).unwrap();
    assert_eq!(options.page.trace_url().unwrap(), Some(jaeger.parse().unwrap()));
    let wrong = parse(&["--trace-url", "jaeger"]).unwrap();
    assert!(wrong.page.trace_url().is_err());
}

#[test]
fn origins_are_checked() {
    let options = parse(&[
        "--cors-origin",
        "https://app.example.com,http://localhost:3000",
        "--allowed-host",
        "emend.example.com",
    ])
    .unwrap();
    assert_eq!(options.browsers.cors_origins.len(), 2);
    for wrong in ["*", "app.example.com", "https://app.example.com/page", "null"] {
        let error = parse(&["--cors-origin", wrong]).unwrap_err();
        assert!(error.to_string().contains("https://app.example.com"), "{error}");
    }
    assert!(parse(&["--allowed-host", "https://x"]).is_err());
}
