use super::*;

#[test]
fn an_address_is_shown_without_its_secrets() {
    for (address, shown) in [
        ("http://user:s3cret@host:80/v1", "http://host:80/v1"),
        ("http://user:s3/c?r#e@t@host/v1#model", "http://host/v1#model"),
        ("user:s3cret@host:80/v1", "host:80/v1"),
        (
            "https://host/v1?api-version=s3cret&key=s3cret",
            "https://host/v1?api-version=***&key=***",
        ),
        ("https://host/v1?s3cret", "https://host/v1?***"),
        (
            "http://127.0.0.1:11434/v1#llama3.1",
            "http://127.0.0.1:11434/v1#llama3.1",
        ),
        ("", ""),
    ] {
        assert_eq!(without_secrets(address), shown);
    }
}
