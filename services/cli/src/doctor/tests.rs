use super::*;

#[tokio::test]
async fn a_check_that_does_not_end_is_an_error_with_what_to_do() {
    let found = within(Duration::ZERO, ("store", std::future::pending().boxed())).await;
    assert_eq!((found.len(), found[0].level), (1, Level::Error));
    assert!(found[0].message.contains("no outcome") && found[0].advice.contains("--patience"));
}

#[test]
fn a_line_says_how_it_ended_and_what_to_do() {
    let line = Finding::warning("store", "in use", "stop it").line();
    assert_eq!(
        crate::render::plain(&line),
        "warning  store           in use\n                         → stop it"
    );
    assert!(Level::Ok < Level::Warning && Level::Warning < Level::Error);
}
