//! Commands of `emend graph`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

/// `emend graph …`.
#[derive(Debug, Subcommand)]
pub enum GraphCommand {
    /// List the graphs: what each does, its options, and the most a walk can cost
    List {
        /// Folder of graphs of your own, beside the built-in ones
        #[arg(long, env = "EMEND_GRAPHS_DIR", value_name = "DIR")]
        graphs_dir: Option<PathBuf>,
    },
    /// Show a graph: options, worst case, and its picture
    ///
    /// With --walk the picture has a walk's path on it: visited boxes are filled and taken arrows thick, both with the
    /// numbers of their steps.
    #[command(after_help = "Examples:\n  \
        emend graph show self-rag\n  \
        emend graph show self-rag --format yaml > mine.yaml\n  \
        emend graph show mine.yaml --format mermaid\n  \
        emend ask --docs ./handbook --graph self-rag --json \"Who approves leave?\" > walk.json\n  \
        emend graph show self-rag --walk walk.json")]
    Show {
        /// Its name, or a graph file
        #[arg(value_name = "NAME|FILE")]
        graph: String,
        /// What to print [default: summary, with --walk mermaid]
        #[arg(long, value_name = "FORMAT")]
        format: Option<GraphFormat>,
        /// Draw a walk on the flowchart: what `emend ask --json` or `--json=events` printed; `-` reads standard input
        #[arg(long, value_name = "RESULT")]
        walk: Option<PathBuf>,
        /// Folder of graphs of your own, beside the built-in ones
        #[arg(long, env = "EMEND_GRAPHS_DIR", value_name = "DIR")]
        graphs_dir: Option<PathBuf>,
    },
    /// Check a graph file: what is wrong with it, or its exact worst case
    ///
    /// What is wrong is shown as FILE:LINE, all of it at once, with exit status 1. The worst case is exact for the
    /// options in force; beside each figure stands the formula it comes from, where there is one. Its model calls are the
    /// graph's own: those of a model that stands in for another come on top.
    #[command(after_help = "Examples:\n  \
        emend graph check mine.yaml\n  \
        emend graph check self-rag --option max_count=1 --option max_retries=0\n  \
        emend graph check mine.yaml --json | jq .worstCase.steps")]
    Check {
        /// The file, or the name of a graph
        #[arg(value_name = "FILE|NAME")]
        graph: String,
        /// Options for the worst case; the others have their defaults
        #[arg(short, long = "option", value_name = "NAME=VALUE", value_parser = super::name_and_value)]
        options: Vec<(String, f64)>,
        /// Print JSON: findings, worst case and formulas
        #[arg(long)]
        json: bool,
        /// Folder of graphs of your own, beside the built-in ones
        #[arg(long, env = "EMEND_GRAPHS_DIR", value_name = "DIR")]
        graphs_dir: Option<PathBuf>,
    },
}

/// How a graph is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    /// Options and worst case
    Summary,
    /// A Mermaid flowchart
    Mermaid,
    /// The file
    Yaml,
}
