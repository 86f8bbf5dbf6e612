//! The graphs that a service can walk: the built-in ones and those of a folder. A graph of the
//! folder replaces the built-in graph of the same name.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use emend_core::{Source, Watched, cut, did_you_mean};

use crate::graph::{Graph, InvalidGraph};

/// The graphs that come with the binary, as (file, text).
const BUILT_IN: [(&str, &str); 8] = [
    ("plain-rag.yaml", include_str!("../graphs/plain-rag.yaml")),
    ("self-rag.yaml", include_str!("../graphs/self-rag.yaml")),
    (
        "self-corrective-rag.yaml",
        include_str!("../graphs/self-corrective-rag.yaml"),
    ),
    (
        "corrective-rag-binary.yaml",
        include_str!("../graphs/corrective-rag-binary.yaml"),
    ),
    (
        "self-rag-final-grade.yaml",
        include_str!("../graphs/self-rag-final-grade.yaml"),
    ),
    (
        "self-rag-tutorial.yaml",
        include_str!("../graphs/self-rag-tutorial.yaml"),
    ),
    ("corrective-rag.yaml", include_str!("../graphs/corrective-rag.yaml")),
    (
        "self-reflective-rag.yaml",
        include_str!("../graphs/self-reflective-rag.yaml"),
    ),
];

/// The graphs of a running service. They are reloaded when a file of the folder changes; a running
/// walk keeps the graph that it started with.
pub type LiveCatalog = Arc<Watched<GraphsFolder>>;

/// The folder of `--graphs-dir`.
#[derive(Debug)]
pub struct GraphsFolder(PathBuf);

impl Source for GraphsFolder {
    type Value = Catalog;
    type Error = CatalogError;
    const NAME: &'static str = "graphs";

    fn files(&self) -> Vec<PathBuf> {
        graph_files(&self.0).unwrap_or_default()
    }

    fn read(&self) -> Result<Catalog, CatalogError> {
        Catalog::load(Some(&self.0))
    }
}

/// The built-in graphs and those of the folder.
///
/// # Errors
/// [`CatalogError`] when a file cannot be read or is invalid: a service does not start with only
/// some of its graphs.
pub fn load_live(folder: Option<&Path>) -> Result<LiveCatalog, CatalogError> {
    match folder {
        Some(folder) => Watched::read(GraphsFolder(folder.to_owned())),
        None => Ok(Watched::fixed(Catalog::load(None)?)),
    }
}

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
    /// Invalid graph files, each with everything that is wrong with it.
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
    pub(crate) name: String,
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
                name: cut(name).to_string(),
                hint: did_you_mean(name, known.iter().copied()),
                known: emend_core::list_names(known),
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
mod tests;
