use super::*;

fn about(id: &'static str, title: &str) -> About {
    About {
        id,
        title: title.to_owned(),
        description: "d".to_owned(),
    }
}

fn bars(name: &str) -> Bars {
    Bars {
        about: about("b", name),
        category: "kind".to_owned(),
        categories: vec!["local".to_owned(), "web".to_owned()],
        series: vec![
            Series {
                name: "a".to_owned(),
                colour: 0,
                shares: vec![Some(0.5), None],
                intervals: vec![Some([0.25, 0.75]), None],
            },
            Series {
                name: "b".to_owned(),
                colour: 9,
                shares: vec![Some(1.0), Some(0.0)],
                intervals: Vec::new(),
            },
        ],
    }
}

/// Shapes stand on whole pixels.
#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    let all = found
        .iter()
        .zip(expected)
        .all(|(found, expected)| (found - expected).abs() <= 1.5);
    assert!(found.len() == expected.len() && all, "{found:?} is not {expected:?}");
}

/// Every value of an attribute, in order.
fn values(svg: &str, element: &str, attribute: &str) -> Vec<f64> {
    svg.split('<')
        .filter(|part| part.starts_with(element))
        .filter_map(|part| part.split(&format!(" {attribute}=\"")).nth(1))
        .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
        .collect()
}

/// The ends of every stroke that is straight.
fn strokes(svg: &str) -> Vec<[(f64, f64); 2]> {
    let point = |text: &str| {
        let (x, y) = text.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    let points = svg
        .split("points=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap());
    let points = points.map(|points| points.split_whitespace().map(point).collect::<Vec<_>>());
    points.filter_map(|points| points.try_into().ok()).collect()
}

#[test]
fn a_bar_is_as_high_as_its_share() {
    let figure = bars("t").figure().unwrap();
    // Two squares of the legend, then the bars by category: a and b of local, and b of web; then what their tooltips cover.
    let heights = values(&figure.svg, "rect", "height");
    near(&heights, &[10.0, 10.0, 100.0, 200.0, 0.0, 100.0, 200.0, 0.0]);
    let tops = values(&figure.svg, "rect", "y");
    let feet: Vec<f64> = tops
        .iter()
        .zip(&heights)
        .skip(2)
        .map(|(top, height)| top + height)
        .collect();
    near(&feet, &[feet[0]; 6]);
    // The interval, from three quarters down to a quarter.
    let upright = strokes(&figure.svg).into_iter().find(|ends| {
        let [from, to] = ends;
        from.0 == to.0 && (50.0..150.0).contains(&(from.1 - to.1).abs())
    });
    let [from, to] = upright.unwrap();
    near(&[from.1, to.1], &[feet[0] - 50.0, feet[0] - 150.0]);
    assert!(figure.svg.contains("var(--c1)"), "colours begin again");
    assert!(figure.svg.contains("<title>local, a: 50.0 %</title>"));
    assert_eq!(figure.table.columns, ["kind", "a", "b"]);
    assert_eq!(
        figure.table.rows,
        [["local", "50.0 % [25.0 %, 75.0 %]", "100.0 %"], ["web", "–", "0.0 %"]]
    );
}

#[test]
fn what_a_plot_says_is_escaped() {
    let mut bars = bars("<b> & \"c\"");
    bars.categories[0] = "</text><script>".to_owned();
    let svg = bars.figure().unwrap().svg;
    assert!(svg.contains("&lt;b&gt; &amp; &quot;c&quot;"), "{svg}");
    assert!(!svg.contains("<script>") && !svg.contains("<b>"));
}

#[test]
fn stacked_bars_follow_one_another() {
    let Bars {
        about,
        category,
        categories,
        mut series,
    } = bars("t");
    series[0].shares = vec![Some(0.25), Some(0.5)];
    series[1].shares = vec![Some(0.75), Some(0.0)];
    let stacked = Stacked {
        about,
        category,
        categories,
        series,
    };
    let svg = stacked.figure().unwrap().svg;
    let bars = [120.0, 360.0, 240.0];
    near(
        &values(&svg, "rect", "width"),
        &[&[10.0, 10.0], &bars[..], &bars[..]].concat(),
    );
    near(&values(&svg, "rect", "x")[2..5], &[0.0, 120.0, 0.0]);
}

fn lines(logarithmic: bool) -> Lines {
    Lines {
        about: about("l", "t"),
        x: Axis {
            label: "ms".to_owned(),
            low: 1.0,
            high: 100.0,
            logarithmic,
            decimals: 0,
        },
        y: Axis::share("share"),
        diagonal: true,
        lines: vec![Line {
            name: "a".to_owned(),
            colour: 0,
            points: vec![(1.0, 0.0), (10.0, 0.5), (1000.0, 1.0)],
            marked: true,
        }],
    }
}

#[test]
fn points_stand_where_the_axes_say() {
    let x = |logarithmic| values(&lines(logarithmic).figure().unwrap().svg, "circle", "cx");
    // What lies beyond the end stands at the end.
    let (middle, early) = (x(true), x(false));
    let width = middle[2] - middle[0];
    assert!(width > 350.0, "{middle:?}");
    near(&middle, &[middle[0], middle[0] + width / 2.0, middle[0] + width]);
    near(&early, &[middle[0], middle[0] + width / 11.0, middle[2]]);
    let y = values(&lines(true).figure().unwrap().svg, "circle", "cy");
    near(&y, &[y[2] + 240.0, y[2] + 120.0, y[2]]);
}

#[test]
fn lines_have_their_points_as_a_table() {
    let figure = lines(true).figure().unwrap();
    assert_eq!(figure.table.columns, ["line", "ms", "share"]);
    assert_eq!(
        figure.table.rows,
        [["a", "1", "0.00"], ["a", "10", "0.50"], ["a", "1000", "1.00"]]
    );
    let said: Vec<&str> = figure.svg.split(['<', '>']).map(str::trim).collect();
    for tick in ["1", "10", "100", "ms", "share"] {
        assert!(said.contains(&tick), "{tick}");
    }
    let with = figure.svg.matches("<polyline").count();
    let plain = Lines {
        diagonal: false,
        ..lines(true)
    };
    let without = plain.figure().unwrap().svg.matches("<polyline").count();
    assert!(with > without + 10, "the diagonal is dashed: {with}, {without}");
}

#[test]
fn a_page_escapes_and_refuses_what_it_does_not_know() {
    #[derive(Serialize)]
    struct Said {
        said: &'static str,
    }
    let said = Said { said: "<i>" };
    let body = "{% extends \"page.html\" %}{% block body %}{{ said }}{% endblock %}";
    assert!(page(body, &said).unwrap().contains("&lt;i&gt;"));
    assert!(page("{{ unsaid }}", &said).is_err());
}
