use super::*;

#[test]
fn a_web_search_that_is_not_configured_names_the_option_of_this_command() {
    let error = format!("web search: {}", SearchError::NoProvider);
    let mut event = Event::Finished(WalkResult {
        reason: format!("`web_search` ended in `unavailable`: {error}"),
        steps: vec![Step {
            error,
            ..Step::default()
        }],
        ..WalkResult::default()
    });
    advise(&mut event);
    let Event::Finished(result) = event else {
        panic!("another event")
    };
    for text in [&result.reason, &result.steps[0].error] {
        assert!(
            text.contains("--web-folder DIR") && !text.contains("emend-web-search"),
            "{text}"
        );
    }
}
