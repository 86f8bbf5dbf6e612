//! The pages about clients show the programs that are run: a block of code comes after a comment with its file and region.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::root;

/// The pages.
const PAGES: [&str; 3] = [
    "proto/README.md",
    "proto/python/README.md",
    "proto/typescript/README.md",
];
/// The programs, all of whose regions are shown.
const PROGRAMS: &str = "tests/clients";

/// The regions of a file, from `region NAME` in a comment to `endregion` in one, without what they are all indented by.
fn regions(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut lines: Option<(String, Vec<&str>)> = None;
    for line in text.lines() {
        let comment = line.trim().trim_start_matches("<!--").trim_end_matches("-->");
        let comment = comment.trim_start_matches(['/', '#']).trim();
        if let Some(name) = comment.strip_prefix("region ") {
            assert!(lines.is_none(), "region {name} begins within another");
            lines = Some((name.to_owned(), Vec::new()));
        } else if comment == "endregion" {
            let (name, lines) = lines.take().expect("a region ends that has begun");
            let indent = |line: &&str| line.len() - line.trim_start().len();
            let indent = lines.iter().filter(|line| !line.trim().is_empty()).map(indent).min();
            let lines: Vec<_> = lines
                .iter()
                .map(|line| line.get(indent.unwrap_or(0)..).unwrap_or(""))
                .collect();
            found.push((name, lines.join("\n").trim_matches('\n').to_owned()));
        } else if let Some((_, lines)) = &mut lines {
            lines.push(line);
        }
    }
    assert!(lines.is_none(), "region {lines:?} has no end");
    found
}

/// The blocks of a page, each with what the comment before it says.
fn blocks(page: &str) -> Vec<(String, String)> {
    let (mut found, mut comment) = (Vec::new(), String::new());
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            let block: Vec<_> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            found.push((comment.clone(), block.join("\n")));
        }
        comment = match line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->")) {
            Some(said) => said.to_owned(),
            None => String::new(),
        };
    }
    found
}

/// All files below a folder but for what is built there.
fn files(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !["dist", "gen", "node_modules", "target"].contains(&name) {
            files(&path, found);
        } else if path.is_file() {
            found.push(path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
        }
    }
}

#[test]
fn the_code_on_the_pages_is_that_of_the_programs() {
    let mut shown = BTreeSet::new();
    for page in PAGES {
        for (from, block) in blocks(&fs::read_to_string(root().join(page)).unwrap()) {
            let (file, region) = from.split_once(' ').unwrap_or((&from, ""));
            let text = fs::read_to_string(root().join(file));
            let text = text.unwrap_or_else(|_| panic!("{page}: `{from}` before a block is no file:\n{block}"));
            let is = match region {
                "" => text.trim_end().to_owned(),
                _ => regions(&text)
                    .into_iter()
                    .find_map(|(name, lines)| (name == region).then_some(lines))
                    .unwrap_or_else(|| panic!("{page}: {file} has no region {region}")),
            };
            assert!(block == is, "{page}: {from} is\n{is}\nand the page shows\n{block}");
            shown.insert(from);
        }
    }
    let mut programs = Vec::new();
    files(&root().join(PROGRAMS), &mut programs);
    let mut count = 0;
    for file in programs {
        let Ok(text) = fs::read_to_string(root().join(&file)) else {
            continue;
        };
        for (name, _) in regions(&text) {
            count += 1;
            assert!(
                shown.contains(&format!("{file} {name}")),
                "no page shows region {name} of {file}"
            );
        }
    }
    assert!(count > 40, "{count} regions");
}
