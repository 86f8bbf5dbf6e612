//! Options of `emend ingest`.

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::Args;

use super::CollectionOptions;
use crate::documents::{BadGlob, Fields, Reading, Selection};

/// Options of `emend ingest`.
#[derive(Args, Debug)]
pub struct IngestOptions {
    /// Files, folders, or addresses of pages (https://…)
    #[arg(required_unless_present = "sitemap", value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Address of a sitemap whose pages are fetched, as far as robots.txt allows; may be given several times
    #[arg(long, value_name = "URL", conflicts_with = "watch")]
    pub sitemap: Vec<String>,
    /// Also remove documents that came from files in PATHs which are gone, or left out now
    #[arg(long)]
    pub prune: bool,
    /// Follow the changes in folders until Ctrl-C; removes what is gone, as --prune does
    #[arg(long)]
    pub watch: bool,
    /// Look at all files again at this interval, for folders that report no changes, such as those of a network
    #[arg(long, value_name = "DURATION", requires = "watch", value_parser = interval)]
    pub rescan: Option<Duration>,
    /// End with status 5 when any file or document is skipped or fails
    #[arg(long)]
    pub strict: bool,
    /// Print the outcome as JSON on one line; with --watch a line for each change before it
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub selection: SelectionOptions,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub fields: FieldOptions,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub stored: CollectionOptions,
}

impl IngestOptions {
    /// Which files are read, and how.
    ///
    /// # Errors
    /// A glob cannot be used.
    pub fn reading(&self) -> Result<Reading, BadGlob> {
        let SelectionOptions {
            include,
            exclude,
            no_ignore,
        } = &self.selection;
        Ok(Reading {
            selection: Selection::new(include, exclude, *no_ignore)?,
            fields: Arc::new(self.fields.fields()),
        })
    }
}

/// Which files of folders are read.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Files of folders")]
pub struct SelectionOptions {
    /// Only files that match this glob of .gitignore's kind, such as *.md or manual/; may be given several times
    #[arg(long, value_name = "GLOB")]
    pub include: Vec<String>,
    /// No files or folders that match this glob; may be given several times, and wins over --include
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    /// Also files that .gitignore and .ignore name
    #[arg(long)]
    pub no_ignore: bool,
}

/// Which fields of JSON Lines, or columns of CSV, make a document. Naming any makes each row of a CSV file a document.
#[derive(Args, Clone, Debug, Default)]
#[command(
    next_help_heading = "Fields of JSON Lines and columns of CSV; where any is named, each row of a CSV file is a document"
)]
pub struct FieldOptions {
    /// Field that identifies a document [default: doc_id or id]
    #[arg(long, value_name = "NAME")]
    pub id_field: Option<String>,
    /// Field with its title [default: title]
    #[arg(long, value_name = "NAME")]
    pub title_field: Option<String>,
    /// Field with its text; several are put together in their order [default: text]
    #[arg(long, value_name = "NAME")]
    pub text_field: Vec<String>,
    /// Field that says where a person can find it [default: url]
    #[arg(long, value_name = "NAME")]
    pub source_field: Option<String>,
    /// Field to filter by and to get back; may be given several times [default: all others]
    #[arg(long, value_name = "NAME")]
    pub metadata_field: Vec<String>,
}

impl FieldOptions {
    fn fields(&self) -> Fields {
        let Self {
            id_field,
            title_field,
            text_field,
            source_field,
            metadata_field,
        } = self.clone();
        Fields {
            id: id_field,
            title: title_field,
            text: text_field,
            source: source_field,
            metadata: metadata_field,
        }
    }
}

/// A time between two looks at all files.
fn interval(text: &str) -> Result<Duration, String> {
    let interval = emend_core::duration(text)?;
    if interval < Duration::from_secs(1) {
        return Err(format!("`{text}` is less than 1s"));
    }
    Ok(interval)
}
