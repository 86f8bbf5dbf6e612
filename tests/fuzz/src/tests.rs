use std::cell::RefCell;

use proptest::prelude::*;

use super::*;

/// What a target is given with these settings.
fn given(settings: Settings) -> (Result<u64, String>, Vec<u32>) {
    let seen = RefCell::new(Vec::new());
    let result = run("numbers", CASES, &settings, &any::<u32>(), &|number| {
        seen.borrow_mut().push(number);
        Ok(())
    });
    (result, seen.into_inner())
}

#[test]
fn the_same_cases_are_tried_each_time_unless_there_is_a_seed() {
    let (result, first) = given(Settings::default());
    assert_eq!((result, first.len()), (Ok(64), 64));
    assert_eq!(given(Settings::default()).1, first);
    let seeded = |seed| {
        given(Settings {
            seed: Some(seed),
            seconds: None,
        })
    };
    let (result, other) = seeded(7);
    assert_eq!((result, seeded(7).1), (Ok(64), other.clone()));
    assert_ne!(other, first);
    assert_ne!(seeded(8).1, other);
}

#[test]
fn with_a_time_there_is_one_batch_at_least() {
    let (result, seen) = given(Settings {
        seconds: Some(0),
        seed: None,
    });
    assert_eq!(result, Ok(seen.len() as u64));
    assert_eq!(seen.len() % CASES as usize, 0);
    assert_eq!(seen, given(Settings::default()).1, "it begins with the same cases");
}

#[test]
fn a_failure_names_its_seed_and_its_smallest_input() {
    let fails = |settings: &Settings| {
        run("numbers", CASES, settings, &(0..100_000_u32), &|number| {
            prop_assert!(number < 1000, "{} is large", number);
            Ok(())
        })
        .unwrap_err()
    };
    let failure = fails(&Settings::default());
    assert!(
        failure.contains("1000 is large") && failure.contains("input: 1000\n"),
        "{failure}"
    );
    let seed = own_seed("numbers");
    assert!(failure.ends_with(&format!("EMEND_FUZZ_SEED={seed}")), "{failure}");
    let again = Settings {
        seed: Some(seed),
        seconds: None,
    };
    assert_eq!(fails(&again), failure);
    let panics = run("numbers", CASES, &again, &any::<u8>(), &|_| panic!("oh no")).unwrap_err();
    assert!(panics.contains("oh no"), "{panics}");
    let long = run("long", CASES, &again, &Just("x".repeat(9000)), &|_| {
        Err(TestCaseError::fail("long"))
    });
    assert!(long.unwrap_err().len() < MAX_SHOWN + 200);
}

#[test]
fn damage_changes_cuts_doubles_and_puts_words_between_and_leaves_some_whole() {
    let seen = RefCell::new(Vec::new());
    let damage = damaged(["The tide rises.", ""], ["[", "]]"]);
    run("damage", 500, &Settings::default(), &damage, &|bytes| {
        seen.borrow_mut().push(bytes);
        Ok(())
    })
    .unwrap();
    let seen = seen.into_inner();
    let some = |is: &dyn Fn(&Vec<u8>) -> bool| seen.iter().any(is);
    let whole = b"The tide rises.".to_vec();
    assert!(some(&|bytes| *bytes == whole) && some(&Vec::is_empty));
    assert!(
        some(&|bytes| bytes.len() == whole.len() && *bytes != whole),
        "nothing is changed"
    );
    assert!(some(&|bytes| (1..whole.len()).contains(&bytes.len())), "nothing is cut");
    assert!(some(&|bytes| bytes
        .windows(100)
        .any(|window| window.iter().all(|byte| *byte == b'['))));
    assert!(some(&|bytes| bytes.windows(4).any(|window| window == b"]]]]")));
}
