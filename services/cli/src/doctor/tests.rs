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

#[test]
fn a_certificate_that_ends_soon_is_a_warning_and_one_that_ended_an_error() {
    let found = |days: i64| {
        let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * days);
        let from = jiff::Timestamp::MIN;
        secrets::certificate("the ports", emend_chassis::Validity { from, until })
    };
    assert_eq!(
        [90, 5, -1].map(|days| found(days).level),
        [Level::Ok, Level::Warning, Level::Error]
    );
    assert!(found(5).message.contains("in 4 days") && found(5).advice.contains("without a restart"));
}
