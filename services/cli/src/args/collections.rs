//! `emend collections …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use emend_models::embed::EmbedderOptions;

use super::RetrieverAddress;

/// `emend collections …`.
#[derive(Debug, Subcommand)]
pub enum CollectionsCommand {
    /// List the collections
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        #[expect(missing_docs, reason = "its fields document themselves in --help")]
        place: Place,
    },
    /// Describe one collection: its documents, passages and embedder
    Describe {
        /// Collection
        name: String,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        #[expect(missing_docs, reason = "its fields document themselves in --help")]
        place: Place,
    },
    /// Remove a collection with all its documents
    ///
    /// Asks first, on a terminal; elsewhere --yes is needed.
    Delete {
        /// Collection
        name: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        #[expect(missing_docs, reason = "its fields document themselves in --help")]
        place: Place,
    },
    /// Copy a collection to another embedder, from what is stored of it: no file is read again
    ///
    /// The copy is not seen until it is whole; then it takes the place of TO in one step, and what TO held is removed. TO may be
    /// FROM itself. With EMEND_STORE=qdrant, TO must be a new name or one that a copy made: copy handbook handbook-2 once, let
    /// clients ask handbook-2, and copy handbook-2 handbook-2 from then on.
    ///
    /// A copy that breaks off is made again, and goes on where it was. Ingest to FROM before or after, not meanwhile.
    /// Afterwards start the retriever with the same --embedder: one searches only what its embedder made.
    Copy {
        /// Collection to copy
        from: String,
        /// Collection that the copy becomes
        to: String,
        /// Print the outcome as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        #[expect(missing_docs, reason = "its fields document themselves in --help")]
        embedder: Box<EmbedderOptions>,
        #[command(flatten)]
        #[expect(missing_docs, reason = "its fields document themselves in --help")]
        place: Place,
    },
    /// Write a collection as JSON Lines, with its embeddings
    ///
    /// The first line names the format, the collection and its embedder. Every other line is a document or, of a large
    /// one, a part of it; documents come in the order of their ids. `import` reads it, on this store or another one.
    Export {
        /// Collection
        name: String,
        /// File to write [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Go on where an export to --out FILE broke off
        #[arg(long, requires = "out")]
        resume: bool,
        #[command(flatten)]
        #[expect(missing_docs, reason = "its fields document themselves in --help")]
        place: Place,
    },
    /// Read a collection from the JSON Lines of `export`
    ///
    /// Nothing is embedded again. Documents that are stored already, unchanged, stay as they are: an import that broke off
    /// is made again. Documents that cannot be stored are reported and left out.
    Import {
        /// File of `export`
        file: PathBuf,
        /// Collection to write to [default: the one that was exported]
        #[arg(short, long, value_name = "NAME")]
        collection: Option<String>,
        #[command(flatten)]
        #[expect(missing_docs, reason = "its fields document themselves in --help")]
        place: Place,
    },
    /// Remove what writers that died have left, restore what can be restored, and name what cannot
    Repair {
        /// Collection
        name: String,
        /// Print the outcome as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        #[expect(missing_docs, reason = "its fields document themselves in --help")]
        place: Place,
    },
}

/// Where the collections are: at a running retriever, or in the folder or on the server that a local one uses.
#[derive(Args, Clone, Debug)]
pub struct Place {
    /// Folder of the collections, without --url [default: the user's data folder; with EMEND_STORE=qdrant the server]
    #[arg(long, env = "EMEND_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub at: RetrieverAddress,
}
