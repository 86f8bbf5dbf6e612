use super::*;
use crate::backend::Ungraded;

fn graded(level: Level, score: f64) -> Grade<Groundedness> {
    Grade::Graded(Groundedness {
        score,
        fully: score,
        partially: 0.0,
        level,
    })
}

#[test]
fn the_levels_of_the_whole_are_bounds() {
    let of = |sentences: &[(f64, f64)]| {
        let grade = |(fully, partially): &(f64, f64)| {
            Grade::Graded(Groundedness {
                score: 0.5,
                fully: *fully,
                partially: *partially,
                level: Level::Partial,
            })
        };
        let mut grades: Vec<_> = sentences.iter().map(grade).collect();
        grades.push(Grade::Ungraded(Ungraded::OutOfTime));
        levels(&grades)
    };
    assert_eq!(of(&[(1.0, 0.0)]), Some((1.0, 0.0)));
    assert_eq!(of(&[(0.0, 1.0)]), Some((0.0, 1.0)));
    assert_eq!(of(&[(0.0, 0.0)]), Some((0.0, 0.0)));
    assert_eq!(of(&[(0.75, 0.0), (0.25, 0.0)]), Some((0.25, 0.5)));
    assert_eq!(of(&[(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)]), Some((0.0, 1.0)));
    assert_eq!(of(&[]), None);
}

#[test]
fn the_weakest_sentence_decides() {
    let (full, partial, no) = (
        graded(Level::Full, 0.9),
        graded(Level::Partial, 0.5),
        graded(Level::No, 0.1),
    );
    let ungraded = Grade::Ungraded(Ungraded::OutOfTime);
    let cases = [
        (vec![full.clone(), full.clone()], Support::FullySupported, Some(0.9)),
        (
            vec![full.clone(), partial.clone()],
            Support::PartiallySupported,
            Some(0.5),
        ),
        (
            vec![partial.clone(), no.clone(), full.clone()],
            Support::NotSupported,
            Some(0.1),
        ),
        (vec![full, ungraded.clone()], Support::Ungraded, None),
        (vec![partial, ungraded.clone()], Support::Ungraded, None),
        (vec![no, ungraded], Support::NotSupported, Some(0.1)),
        (vec![], Support::Unspecified, None),
    ];
    for (grades, support, score) in cases {
        assert_eq!(overall(&grades), (support, score), "{grades:?}");
    }
}

#[test]
fn places_are_code_points() {
    let answer = "Der Turm ist schön. 높이는 31미터이다. Il est là.";
    let sentences = split(answer);
    assert_eq!(sentences.len(), 3, "{sentences:?}");
    let chars: Vec<char> = answer.chars().collect();
    for sentence in sentences {
        let span = sentence.span.unwrap();
        let there: String = chars[span.start as usize..span.end as usize].iter().collect();
        assert_eq!(there, sentence.text);
    }
}
