//! What is known of a Qdrant server and of how collections are made on it.

use std::time::Duration;

use emend_core::Secret;

/// How long a call may take at most. Passages of a replaced version stay longer than any search can take.
pub const MAX_CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// How to reach a server, and how to make collections.
#[derive(Clone, Debug)]
pub struct QdrantSettings {
    /// Address of its gRPC port, `http://…` or `https://…`.
    pub url: String,
    /// Its API key.
    pub api_key: Option<Secret>,
    /// Certificates (PEM) to trust besides those of the system.
    pub certificates: Option<Vec<u8>>,
    /// How long one call may take, at most [`MAX_CALL_TIMEOUT`].
    pub timeout: Duration,
    /// What the names of collections begin with on the server.
    pub prefix: String,
    /// How new collections are made.
    pub layout: Layout,
    /// Waits of writers and of those who clean up after them.
    pub timing: Timing,
}

/// How a new collection is made. Collections that are there stay as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Shards; the server's default where unset.
    pub shards: Option<u32>,
    /// Replicas of each shard; the server's default where unset.
    pub replicas: Option<u32>,
    /// Replicas that have to take a write; all of them where unset.
    pub write_consistency: Option<u32>,
    /// Whether embeddings are read from disk rather than kept in memory.
    pub on_disk: bool,
    /// Whether embeddings are also kept as bytes, which are compared first; what they find is compared again as it is.
    pub scalar_quantization: bool,
    /// Links of a point in the HNSW graph; the server's default where unset.
    pub m: Option<u32>,
    /// Candidates while the HNSW graph is built; the server's default where unset.
    pub ef_construct: Option<u32>,
}

/// Waits of writers and of those who clean up after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long the passages of a replaced version are kept for searches that began before. Longer than a search.
    pub grace: Duration,
    /// By how much the clocks of two retrievers may differ.
    pub skew: Duration,
    /// How long this retriever takes for one document before it gives up; as long as `writing` at most.
    pub write: Duration,
    /// How long a writer may take for one document. Others take a writer that takes longer for dead.
    pub writing: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(60),
            skew: Duration::from_secs(300),
            write: Duration::from_secs(600),
            writing: Duration::from_secs(600),
        }
    }
}
