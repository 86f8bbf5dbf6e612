use emend_evaluator::metrics::{Judged, reliability};

use super::*;

#[test]
fn tasks_have_plots_of_their_own_and_names_are_escaped() {
    let judged = [(0.92, true), (0.13, false), (0.11, true)];
    let judged = judged.map(|(probability, label)| Judged { probability, label });
    let curve = |task, name: &str| Curve {
        task,
        name: name.to_owned(),
        bins: reliability(&judged, 10),
    };
    let curves = [
        curve("relevance", "<b>one"),
        curve("relevance", "two"),
        curve("usefulness", "one"),
    ];
    let page = diagram("Grades & labels", &curves).unwrap();
    assert_eq!(page.matches("<svg").count(), 2);
    assert_eq!(page.matches("stroke=\"var(--c").count(), 3, "{page}");
    assert!(page.contains("Grades &amp; labels") && !page.contains("<b>one"));
    // The two at 0.11 and 0.13 are one point, half of them right.
    assert!(page.contains("0.12") && page.contains("0.50"), "{page}");
}
