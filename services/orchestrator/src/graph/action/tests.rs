use super::*;

#[test]
fn a_typed_outcome_and_its_listing_are_the_same() {
    assert_eq!(
        Outcome::from(GradeGenerationOutcome::NotUseful),
        Action::GradeGeneration.outcomes().nth(2).unwrap()
    );
    assert_eq!(Outcome::from(GradeGenerationOutcome::NotUseful).name(), "not_useful");
}

#[test]
fn names_are_unique_and_found_again() {
    for &action in Action::ALL {
        assert_eq!(Action::named(action.name()), Some(action));
        let mut names: Vec<_> = action.outcomes().map(Outcome::name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), action.outcomes().len(), "{action}");
    }
    assert_eq!(Action::named("retreive"), None);
}
