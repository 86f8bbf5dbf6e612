//! Which collection, and where it is.

use clap::Args;

use super::{ConnectOptions, LocalOptions};

/// A running retriever, or none for one of this process.
#[derive(Args, Clone, Debug)]
pub struct RetrieverAddress {
    /// A running retriever, for instance http://127.0.0.1:50051
    #[arg(long, env = "EMEND_RETRIEVER_URL", hide_env_values = true, value_name = "URL")]
    pub url: Option<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub connect: ConnectOptions,
}

/// Which collection, and where it is.
#[derive(Args, Debug)]
#[command(next_help_heading = "Collection")]
pub struct CollectionOptions {
    /// Collection; the first document that is ingested creates it
    #[arg(
        short,
        long,
        env = "EMEND_COLLECTION",
        value_name = "NAME",
        default_value = "default"
    )]
    pub collection: String,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub at: RetrieverAddress,
    #[command(flatten)]
    #[expect(missing_docs, reason = "its fields document themselves in --help")]
    pub local: LocalOptions,
}
