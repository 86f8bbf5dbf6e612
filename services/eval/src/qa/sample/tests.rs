use super::*;
use crate::score::tests::case;

fn many() -> Vec<Case> {
    let mut cases = Vec::new();
    for (lang, expect, count) in [
        ("en", Expect::Local, 40),
        ("ko", Expect::Local, 40),
        ("en", Expect::Web, 20),
        ("en", Expect::None, 3),
    ] {
        for number in 0..count {
            cases.push(case(
                &format!("{lang}-{}-{number}", expect.name()),
                lang,
                expect,
                &["x"],
            ));
        }
    }
    cases
}

fn ids(cases: &[Case]) -> Vec<&str> {
    cases.iter().map(|case| case.id.as_str()).collect()
}

#[test]
fn what_a_small_group_lacks_goes_to_the_others() {
    assert_eq!(spread(10, &[80, 20, 3]), [4, 3, 3]);
    assert_eq!(spread(20, &[80, 20, 3]), [9, 8, 3]);
    assert_eq!(spread(2, &[5, 5, 5]), [1, 1, 0]);
    assert_eq!(spread(100, &[5, 0, 2]), [5, 0, 2]);
    assert_eq!(spread(3, &[]), [0; 0]);
}

#[test]
fn a_sample_has_every_kind_and_language() {
    let sampled = sample(many(), 20);
    let count = |lang: &str, expect: Expect| {
        let of = |case: &&Case| case.lang == lang && case.expect == expect;
        sampled.iter().filter(of).count()
    };
    assert_eq!(sampled.len(), 20);
    assert_eq!(
        [
            count("en", Expect::Local),
            count("ko", Expect::Local),
            count("en", Expect::Web),
            count("en", Expect::None)
        ],
        [5, 4, 8, 3]
    );
    assert_ne!(ids(&sampled)[..5], ids(&many())[..5], "not simply the first");
}

#[test]
fn a_sample_does_not_depend_on_the_order_and_grows() {
    let sampled = sample(many(), 12);
    let mut turned = many();
    turned.reverse();
    let mut again = sample(turned, 12);
    again.reverse();
    assert_eq!(ids(&sampled), ids(&again));
    let larger = sample(many(), 40);
    assert!(ids(&sampled).iter().all(|id| ids(&larger).contains(id)));
    assert_eq!(ids(&sample(many(), 1000)), ids(&many()));
}
