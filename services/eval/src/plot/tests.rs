use super::*;

fn bars(name: &str) -> Bars {
    Bars {
        id: "b",
        title: name.to_owned(),
        description: "d".to_owned(),
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

/// Every value of an attribute, in order.
fn values(svg: &str, element: &str, attribute: &str) -> Vec<f64> {
    svg.split('<')
        .filter(|part| part.starts_with(element))
        .filter_map(|part| part.split(&format!(" {attribute}=\"")).nth(1))
        .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
        .collect()
}

#[test]
fn a_bar_is_as_high_as_its_share() {
    let figure = bars("t").figure();
    // Two squares of the legend, then the bars by category: a and b of local, and b of web.
    assert_eq!(values(&figure.svg, "rect", "height"), [10.0, 10.0, 100.0, 200.0, 0.0]);
    assert_eq!(
        values(&figure.svg, "rect", "y")[2..],
        [126.0, 26.0, 226.0],
        "all stand on the axis"
    );
    assert_eq!(values(&figure.svg, "line", "y1").last(), Some(&176.0), "from a quarter");
    assert_eq!(
        values(&figure.svg, "line", "y2").last(),
        Some(&76.0),
        "to three quarters"
    );
    assert!(figure.svg.contains("class=\"c1\""), "colours begin again");
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
    let svg = bars.figure().svg;
    assert!(svg.contains("&lt;b&gt; &amp; &quot;c&quot;"), "{svg}");
    assert!(!svg.contains("<script>") && !svg.contains("<b>"));
}

#[test]
fn stacked_bars_follow_one_another() {
    let Bars {
        id,
        title,
        description,
        category,
        categories,
        mut series,
    } = bars("t");
    series[0].shares = vec![Some(0.25), Some(0.5)];
    series[1].shares = vec![Some(0.75), Some(0.0)];
    let stacked = Stacked {
        id,
        title,
        description,
        category,
        categories,
        series,
    };
    let svg = stacked.figure().svg;
    assert_eq!(values(&svg, "rect", "width"), [10.0, 10.0, 120.0, 360.0, 240.0]);
    assert_eq!(values(&svg, "rect", "x")[2..], [0.0, 120.0, 0.0]);
}

#[test]
fn a_legend_takes_the_lines_that_it_needs() {
    let long = "x".repeat(40);
    let names = [(long.as_str(), 0), (long.as_str(), 1), ("short", 2)];
    let lines: Vec<_> = places(&names).iter().map(|(_, line)| *line).collect();
    assert_eq!(lines, [0, 1, 1]);
    assert!((legend_height(&names) - 2.0 * LINE).abs() < 1e-9);
    assert!(legend_height(&[]).abs() < 1e-9);
}

fn lines(logarithmic: bool) -> Lines {
    Lines {
        id: "l",
        title: "t".to_owned(),
        description: "d".to_owned(),
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
    let x = |logarithmic| values(&lines(logarithmic).figure().svg, "circle", "cx");
    // The plot is 416 wide from 44; what lies beyond the end stands at the end.
    assert_eq!(x(true), [44.0, 252.0, 460.0]);
    assert_eq!(x(false), [44.0, 81.8, 460.0]);
    let y = values(&lines(true).figure().svg, "circle", "cy");
    assert!(
        (y[0] - y[2] - 240.0).abs() < 0.2 && (y[0] - y[1] - 120.0).abs() < 0.2,
        "{y:?}"
    );
}

#[test]
fn lines_have_their_points_as_a_table() {
    let figure = lines(true).figure();
    assert_eq!(figure.table.columns, ["line", "ms", "share"]);
    assert_eq!(
        figure.table.rows,
        [["a", "1", "0.00"], ["a", "10", "0.50"], ["a", "1000", "1.00"]]
    );
    assert!(figure.svg.contains("class=\"diagonal\""));
    for tick in [">1<", ">10<", ">100<"] {
        assert!(figure.svg.contains(tick), "{tick}");
    }
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
