//! Options of `emend documents`.

use clap::{Args, Subcommand};

use super::CollectionOptions;

/// `emend documents …`.
#[derive(Debug, Subcommand)]
pub enum DocumentsCommand {
    /// List the documents of a collection in order of their ids
    ///
    /// Prints the id of each, how many passages it has, and its title. With --json a line for each, with its source and
    /// the file or address that it belongs to.
    #[command(after_help = "Example:\n  emend documents list --collection handbook --json | jq -r .id")]
    List(Box<StoredOptions>),
    /// Read a document back: its passages with their texts and places
    ///
    /// Prints the sections, or with --chunks the smaller pieces that were embedded; each with its id and its place in the
    /// document, in code points, which the citations of an answer count in too. With --json a line for each page of
    /// passages: GetDocumentResponse as in proto/emend/v1/retriever.proto.
    #[command(after_help = "Example:\n  emend documents show --collection handbook /srv/handbook/leave.md")]
    Show {
        /// The document's id, as `emend documents list` and the passages of an answer (`document_id`) have it
        #[arg(value_name = "ID")]
        id: String,
        /// The pieces that were embedded in place of the sections around them
        #[arg(long)]
        chunks: bool,
        #[command(flatten)]
        #[expect(missing_docs, reason = "its fields document themselves in --help")]
        stored: Box<StoredOptions>,
    },
}

/// Which collection, and how it is shown.
#[derive(Args, Debug)]
pub struct StoredOptions {
    /// Print JSON, one object a line
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub stored: CollectionOptions,
}
