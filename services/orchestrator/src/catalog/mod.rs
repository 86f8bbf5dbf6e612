//! The graphs a service can walk: those built in, and those of a folder, which replace a built-in one of their name.

mod live;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

pub use self::live::LiveCatalog;
use crate::graph::{Graph, InvalidGraph, did_you_mean};

/// The graphs that come with the binary, as (file, text).
const BUILT_IN: [(&str, &str); 8] = [
    ("plain-rag.yaml", include_str!("../../graphs/plain-rag.yaml")),
    ("self-rag.yaml", include_str!("../../graphs/self-rag.yaml")),
    (
        "self-corrective-rag.yaml",
        include_str!("../../graphs/self-corrective-rag.yaml"),
    ),
    (
        "corrective-rag-binary.yaml",
        include_str!("../../graphs/corrective-rag-binary.yaml"),
    ),
    (
        "self-rag-final-grade.yaml",
        include_str!("../../graphs/self-rag-final-grade.yaml"),
    ),
    (
        "self-rag-tutorial.yaml",
        include_str!("../../graphs/self-rag-tutorial.yaml"),
    ),
    ("corrective-rag.yaml", include_str!("../../graphs/corrective-rag.yaml")),
    (
        "self-reflective-rag.yaml",
        include_str!("../../graphs/self-reflective-rag.yaml"),
    ),
];

/// Graphs by name.
#[derive(Clone, Debug)]
pub struct Catalog {
    graphs: BTreeMap<String, Arc<Graph>>,
}

/// Why the graphs could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The folder or a file of it cannot be read.
    #[error("cannot read {path}; check --graphs-dir")]
    Read {
        /// Folder or file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Files that cannot be walked, each with all that is wrong with it.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<InvalidGraph>),
    /// Two files of the folder declare the same graph.
    #[error("{path} declares graph `{name}`, which another file of the folder declares too; rename one")]
    Duplicate {
        /// The second file.
        path: PathBuf,
        /// The name.
        name: String,
    },
}

/// No graph has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown graph `{name}`{hint}; the graphs are {known}")]
pub struct UnknownGraph {
    name: String,
    hint: String,
    known: String,
}

impl Catalog {
    /// The built-in graphs, and every `*.yaml` of the folder, if one is given.
    pub fn load(folder: Option<&Path>) -> Result<Catalog, CatalogError> {
        let mut invalid = Vec::new();
        let mut graphs = BTreeMap::new();
        for (file, yaml) in BUILT_IN {
            match Graph::parse(file, yaml) {
                Ok(graph) => drop(graphs.insert(graph.name().to_owned(), Arc::new(graph))),
                Err(error) => invalid.push(error),
            }
        }
        let mut own: BTreeMap<String, Arc<Graph>> = BTreeMap::new();
        for path in folder.map(graph_files).transpose()?.unwrap_or_default() {
            let yaml = fs::read_to_string(&path).map_err(|source| CatalogError::Read {
                path: path.clone(),
                source,
            })?;
            match Graph::parse(&path.display().to_string(), &yaml) {
                Ok(graph) => {
                    let name = graph.name().to_owned();
                    if own.insert(name.clone(), Arc::new(graph)).is_some() {
                        return Err(CatalogError::Duplicate { path, name });
                    }
                }
                Err(error) => invalid.push(error),
            }
        }
        if !invalid.is_empty() {
            return Err(CatalogError::Invalid(invalid));
        }
        graphs.extend(own);
        Ok(Catalog { graphs })
    }

    /// The graph of that name, or an error that lists the known ones (R17).
    pub fn get(&self, name: &str) -> Result<&Arc<Graph>, UnknownGraph> {
        self.graphs.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.graphs.keys().map(String::as_str).collect();
            UnknownGraph {
                name: name.to_owned(),
                hint: did_you_mean(name, known.iter().copied()),
                known: known.join(", "),
            }
        })
    }

    /// Every graph, in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Graph>> {
        self.graphs.values()
    }
}

/// The folder's `*.yaml` files in order of their names.
fn graph_files(folder: &Path) -> Result<Vec<PathBuf>, CatalogError> {
    let read = |source| CatalogError::Read {
        path: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
pub(crate) fn builtin(name: &str) -> Arc<Graph> {
    static CATALOG: std::sync::LazyLock<Catalog> = std::sync::LazyLock::new(|| Catalog::load(None).unwrap());
    Arc::clone(CATALOG.get(name).unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_graph_loads() {
        let catalog = Catalog::load(None).unwrap();
        let names: Vec<&str> = catalog.iter().map(|graph| graph.name()).collect();
        assert_eq!(
            names,
            [
                "corrective-rag",
                "corrective-rag-binary",
                "plain-rag",
                "self-corrective-rag",
                "self-rag",
                "self-rag-final-grade",
                "self-rag-tutorial",
                "self-reflective-rag",
            ]
        );
    }

    #[test]
    fn r17_an_unknown_graph_lists_the_known_ones() {
        let error = Catalog::load(None).unwrap().get("self-rga").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown graph `self-rga`; did you mean `self-rag`?; the graphs are corrective-rag, \
             corrective-rag-binary, plain-rag, self-corrective-rag, self-rag, self-rag-final-grade, self-rag-tutorial, \
             self-reflective-rag"
        );
    }

    #[test]
    fn a_file_of_the_folder_replaces_the_built_in_graph_of_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let yaml = BUILT_IN[0].1.replace("default: 4", "default: 7");
        fs::write(folder.path().join("mine.yaml"), &yaml).unwrap();
        fs::write(folder.path().join("notes.txt"), "not a graph").unwrap();
        let catalog = Catalog::load(Some(folder.path())).unwrap();
        assert_eq!(catalog.get("plain-rag").unwrap().options()[0].default, Some(7.0));
        assert_eq!(catalog.iter().count(), 8);

        fs::write(folder.path().join("other.yaml"), &yaml).unwrap();
        assert!(matches!(
            Catalog::load(Some(folder.path())),
            Err(CatalogError::Duplicate { .. })
        ));
    }

    #[test]
    fn every_invalid_file_is_named_with_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let yaml = BUILT_IN[0].1;
        fs::write(
            folder.path().join("a.yaml"),
            yaml.replace("start: retrieve", "start: retreive"),
        )
        .unwrap();
        fs::write(
            folder.path().join("b.yaml"),
            yaml.replace("{action: generate}", "{action: genrate}"),
        )
        .unwrap();
        let error = Catalog::load(Some(folder.path())).unwrap_err().to_string();
        assert!(
            error.contains("a.yaml:10: unknown node `retreive`; did you mean `retrieve`?"),
            "{error}"
        );
        assert!(
            error.contains("b.yaml:14: node `generate`: unknown `action`: `genrate`; did you mean `generate`?"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_folder_is_an_error_that_names_it() {
        let error = Catalog::load(Some(Path::new("/nonexistent/graphs"))).unwrap_err();
        assert_eq!(error.to_string(), "cannot read /nonexistent/graphs; check --graphs-dir");
    }
}
