//! The options of a Qdrant server.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use emend_core::Secret;

use crate::backend::qdrant::{Layout, MAX_CALL_TIMEOUT, QdrantSettings, Timing};

/// Where the API key comes from when no file is given.
const KEY_VARIABLE: &str = "EMEND_QDRANT_API_KEY";

/// Largest file of certificates, in bytes.
const MAX_CERTIFICATES_BYTES: u64 = 1 << 20;

/// What a certificate begins with.
const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Longest prefix of the names of collections, in bytes.
const MAX_PREFIX_BYTES: usize = 64;

/// Where collections are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StoreChoice {
    /// On the local disk, in `--data-dir`; one process at a time.
    #[default]
    Edge,
    /// On a Qdrant server or cluster, at `--qdrant-url`; any number of retrievers.
    Qdrant,
}

/// A Qdrant server, and how collections are made on it.
#[derive(Args, Clone, Debug)]
pub struct QdrantOptions {
    /// Address of Qdrant's gRPC port, for --store qdrant; https for TLS. Its API key comes from --qdrant-api-key-file or
    /// EMEND_QDRANT_API_KEY.
    #[arg(
        long,
        env = "EMEND_QDRANT_URL",
        hide_env_values = true,
        value_name = "URL",
        default_value = "http://127.0.0.1:6334"
    )]
    pub qdrant_url: String,

    /// File with Qdrant's API key.
    #[arg(long, env = "EMEND_QDRANT_API_KEY_FILE", value_name = "FILE")]
    pub qdrant_api_key_file: Option<PathBuf>,

    /// Certificates (PEM) to trust besides those of the system, where --qdrant-url is https.
    #[arg(long, env = "EMEND_QDRANT_CA_FILE", value_name = "FILE")]
    pub qdrant_ca_file: Option<PathBuf>,

    /// Longest time of one call to Qdrant, in seconds. What is not answered is asked again a few times.
    #[arg(long, env = "EMEND_QDRANT_TIMEOUT", value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=MAX_CALL_TIMEOUT.as_secs()))]
    pub qdrant_timeout: u64,

    /// What the names of collections begin with on the server, which others may use too.
    #[arg(long, env = "EMEND_QDRANT_PREFIX", value_name = "PREFIX", default_value = "emend-", value_parser = prefix)]
    pub qdrant_prefix: String,

    /// Shards of a new collection [default: the server's]
    #[arg(long, env = "EMEND_QDRANT_SHARDS", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub qdrant_shards: Option<u32>,

    /// Replicas of each shard of a new collection [default: the server's]
    #[arg(long, env = "EMEND_QDRANT_REPLICATION_FACTOR", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub qdrant_replication_factor: Option<u32>,

    /// Replicas that have to take a write to a new collection [default: all of --qdrant-replication-factor]. With fewer, a
    /// search may ask one that has not caught up.
    #[arg(long, env = "EMEND_QDRANT_WRITE_CONSISTENCY_FACTOR", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub qdrant_write_consistency_factor: Option<u32>,

    /// Read the embeddings of a new collection from disk rather than keep them in memory.
    #[arg(long, env = "EMEND_QDRANT_ON_DISK")]
    pub qdrant_on_disk: bool,

    /// Also keep the embeddings of a new collection as bytes in memory, a quarter of their size, and compare those first. What
    /// is nearest by them is compared again as it is, so that scores stay cosines; with --qdrant-on-disk it is read from disk.
    #[arg(long, env = "EMEND_QDRANT_SCALAR_QUANTIZATION")]
    pub qdrant_scalar_quantization: bool,

    /// Links of a point in the HNSW graph of a new collection [default: the server's]
    #[arg(long, env = "EMEND_QDRANT_HNSW_M", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(4..=512))]
    pub qdrant_hnsw_m: Option<u32>,

    /// Candidates while the HNSW graph of a new collection is built [default: the server's]
    #[arg(long, env = "EMEND_QDRANT_HNSW_EF_CONSTRUCT", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(4..=4096))]
    pub qdrant_hnsw_ef_construct: Option<u32>,
}

/// Options of a Qdrant server that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QdrantOptionsError {
    #[error("{option} {} cannot be read", file.display())]
    File {
        option: &'static str,
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("--qdrant-write-consistency-factor {write} is more than --qdrant-replication-factor {replicas}: lower it")]
    WriteConsistency { write: u32, replicas: u32 },
}

impl QdrantOptions {
    /// The settings, with what files and the environment hold.
    pub(crate) fn settings(&self) -> Result<QdrantSettings, QdrantOptionsError> {
        let replicas = self.qdrant_replication_factor;
        if let (Some(write), Some(replicas)) = (self.qdrant_write_consistency_factor, replicas)
            && write > replicas
        {
            return Err(QdrantOptionsError::WriteConsistency { write, replicas });
        }
        let unreadable = |option, file: &PathBuf| {
            let file = file.clone();
            move |source| QdrantOptionsError::File { option, file, source }
        };
        let api_key = match &self.qdrant_api_key_file {
            Some(file) => Some(Secret::read(file).map_err(unreadable("--qdrant-api-key-file", file))?),
            None => Secret::from_environment(KEY_VARIABLE),
        };
        let certificates = self.qdrant_ca_file.as_ref().map(|file| {
            let read = || {
                let mut pem = Vec::new();
                let opened = std::fs::File::open(file)?;
                io::Read::read_to_end(&mut io::Read::take(opened, MAX_CERTIFICATES_BYTES + 1), &mut pem)?;
                if pem.len() as u64 > MAX_CERTIFICATES_BYTES {
                    return Err(io::Error::other(format!(
                        "it has more than {MAX_CERTIFICATES_BYTES} bytes"
                    )));
                }
                if !pem.windows(BEGIN.len()).any(|window| window == BEGIN) {
                    return Err(io::Error::other("there is no certificate in it"));
                }
                Ok(pem)
            };
            read().map_err(unreadable("--qdrant-ca-file", file))
        });
        Ok(QdrantSettings {
            url: self.qdrant_url.clone(),
            api_key,
            certificates: certificates.transpose()?,
            timeout: Duration::from_secs(self.qdrant_timeout),
            prefix: self.qdrant_prefix.clone(),
            layout: Layout {
                shards: self.qdrant_shards,
                replicas,
                write_consistency: self.qdrant_write_consistency_factor,
                on_disk: self.qdrant_on_disk,
                scalar_quantization: self.qdrant_scalar_quantization,
                m: self.qdrant_hnsw_m,
                ef_construct: self.qdrant_hnsw_ef_construct,
            },
            timing: Timing::default(),
        })
    }
}

fn prefix(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if text.len() <= MAX_PREFIX_BYTES && text.chars().all(allowed) {
        return Ok(text.to_owned());
    }
    Err(format!("must be at most {MAX_PREFIX_BYTES} of a–z, A–Z, 0–9, - and _"))
}

#[cfg(test)]
mod tests;
