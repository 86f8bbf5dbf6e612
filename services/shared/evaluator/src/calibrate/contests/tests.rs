use super::*;

#[test]
fn the_best_sentence_of_a_question_is_as_likely_right_as_its_probability_says() {
    let (mut rows, mut judged) = (Vec::new(), Vec::new());
    // A model that is sure of the best sentence of every question, which is right in two of five, and more so the surer.
    for question in 0..400 {
        for (place, probability) in [0.9 + 0.0002 * f64::from(question), 0.2].into_iter().enumerate() {
            let label = place == 0 && question % 5 < if question < 200 { 1 } else { 3 };
            rows.push(Row {
                values: vec![logit(probability)],
                label,
                key: question.to_string(),
                source: "made".to_owned(),
                contest: Some(question.to_string()),
            });
            judged.push(Judged { probability, label });
        }
    }
    let table = Table {
        names: vec!["logit"],
        rows,
    };
    let tables = BTreeMap::from([((Task::Answer, Group::Alphabet), table)]);
    let (contests, table) = (Contests::new(&tables), &tables[&(Task::Answer, Group::Alphabet)]);
    let mut fit = Fit {
        bias: 0.0,
        terms: vec![Some((1.0, 0.0, 1.0))],
    };
    contests.recalibrate(Group::Alphabet, table, &mut fit, &mut judged);
    let best: Vec<f64> = judged.iter().step_by(2).map(|judged| judged.probability).collect();
    let mean = best.iter().sum::<f64>() / best.len() as f64;
    assert!((0.38..0.42).contains(&mean), "{mean}");
    assert!(best[399] > best[0]);
    // The model says what the judgements say.
    let said = fit::sigmoid(fit.bias + fit.terms[0].unwrap().0 * logit(0.9));
    assert!((said - best[0]).abs() < 1e-9, "{said} {}", best[0]);
}
