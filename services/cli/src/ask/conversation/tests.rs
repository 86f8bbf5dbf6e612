use super::*;

#[test]
fn commands_are_read_with_what_they_take() {
    for (line, command) in [
        ("/graph", Command::Graph(None)),
        (" /graph  self-rag ", Command::Graph(Some("self-rag".to_owned()))),
        ("/docs my notes", Command::Docs("my notes".into())),
        ("/docs 'my notes'", Command::Docs("my notes".into())),
        ("/docs my\\ notes", Command::Docs("my notes".into())),
        (
            "/docs \"\u{c0ac}\u{b0b4} \u{adDC}\u{c815}\"",
            Command::Docs("사내 규정".into()),
        ),
        ("/sources", Command::Sources),
        ("/exit", Command::Quit),
    ] {
        assert_eq!(line.parse(), Ok(command), "{line}");
    }
    let unknown = "/grpah self-rag".parse::<Command>().unwrap_err();
    assert!(unknown.contains("did you mean `graph`"), "{unknown}");
    assert!("/docs".parse::<Command>().is_err());
    assert!(
        "/new question"
            .parse::<Command>()
            .is_err_and(|error| error.contains("takes nothing"))
    );
}

#[test]
fn the_help_has_every_command() {
    for (name, ..) in COMMANDS {
        assert!(help().contains(&format!("/{name}")), "{name}");
        assert!(format!("/{name} x").parse::<Command>().is_ok() || format!("/{name}").parse::<Command>().is_ok());
    }
}
