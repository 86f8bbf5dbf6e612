//! The retriever: keeps collections of documents and finds passages in them.
//!
//! A document is read to text, cut into sections and those into chunks, and each chunk is embedded and its words are
//! counted. A query is compared with the chunks by meaning, by words or by both; it gets their sections, each once.

mod acknowledge;
mod availability;
pub mod backend;
mod config;
mod error;
mod format;
mod fusion;
mod headings;
mod ingest;
mod library;
mod read_back;
mod room;
mod service;
mod split;
pub mod terms;
mod transfer;
mod validate;
mod work;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use emend_chassis::{ActorHandle, ActorOptions, ActorSystem, ServeError, Server};
use emend_models::embed::{self, EmbedderChoice};
use emend_models::progress::Progress;
use emend_proto::FILE_DESCRIPTOR_SET;
use emend_proto::v1::retriever_service_server::RetrieverServiceServer;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::acknowledge::Limits;
use crate::backend::{EdgeStore, Holder, QdrantStore, VectorStore};
use crate::library::Library;
use crate::service::Service;

pub use config::{Options, QdrantOptions, StoreChoice};
pub use error::RetrieverError;

/// Name of the service in health checks.
pub use emend_proto::v1::retriever_service_server::SERVICE_NAME;

/// A document of 32 MiB and its fields fit; one that is a little larger still comes far enough to be told so.
const MAX_REQUEST_BYTES: usize = 40 << 20;

/// A hundred passages of 64 KiB.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// How long closing the store may hold up the end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Contents of one stream that are in memory at once, besides what is being received.
const MAX_STREAM_BYTES: usize = 64 << 20;

/// The main function of `emend-retriever`.
#[must_use]
pub fn main() -> ExitCode {
    if let Some(code) = emend_documents::reader_process() {
        return code;
    }
    emend_chassis::run::<Options, _, _>("emend-retriever", serve)
}

/// Serves the collections of `options.store` on `listener` until `shutdown` is cancelled and the calls in flight are
/// done.
///
/// # Errors
/// [`ServeError`] when the embedder cannot be loaded, the data folder cannot be used or is in use, options do not go
/// together, or the server fails.
pub async fn serve(options: Options, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ServeError> {
    let retriever = listener
        .local_addr()
        .ok()
        .map(|address| match options.service.tls.encrypts() {
            true => format!("https://{address}"),
            false => format!("http://{address}"),
        });
    let holder = Holder {
        orchestrator: options.orchestrator_url.clone(),
        retriever,
    };
    let store = open_store(&options, &holder).await?;
    serve_store(store, options, listener, shutdown).await
}

/// Opens the store that `options` name. Where it is a folder, others who want it are told that it is with `holder`.
///
/// # Errors
/// [`ServeError`] when the data folder cannot be used or is in use, or options do not go together.
pub async fn open_store(options: &Options, holder: &Holder) -> Result<Arc<dyn VectorStore>, ServeError> {
    match options.store {
        StoreChoice::Edge => {
            let folder = options.data_folder().map_err(ServeError::start)?;
            let opened = tokio::task::spawn_blocking(move || EdgeStore::open(&folder)).await;
            let store = opened.map_err(ServeError::start)?.map_err(ServeError::start)?;
            store.announce(holder);
            Ok(Arc::new(store))
        }
        StoreChoice::Qdrant => {
            let settings = options.qdrant.settings().map_err(ServeError::start)?;
            Ok(Arc::new(QdrantStore::new(settings).map_err(ServeError::start)?))
        }
    }
}

/// Serves collections that are kept in `store`; [`serve`] with a store of one's own.
///
/// # Errors
/// [`ServeError`] as for [`serve`], but for the data folder.
pub async fn serve_store(
    store: Arc<dyn VectorStore>,
    options: Options,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let loading = embed::load(&options.embedder, Progress::none());
    let embedder = tokio::select! {
        loaded = loading => loaded.map_err(ServeError::start)?,
        () = shutdown.cancelled() => return Ok(()),
    };
    let split = options
        .split_settings(embedder.id(), embedder.max_tokens())
        .map_err(ServeError::start)?;
    let provider = match options.embedder.embedder {
        EmbedderChoice::OpenAi(_) => "openai",
        _ => "emend",
    };
    let shares_embeddings = options.service.keys_file.is_none();
    let library = Library::new(Arc::clone(&store), embedder, split, shares_embeddings, provider);
    let library = Arc::new(library);

    let system = ActorSystem::start("emend-retriever").map_err(ServeError::start)?;
    let server = Server::new("emend-retriever", &options.service)
        .descriptors(FILE_DESCRIPTOR_SET)
        .permissions(service::permission);
    let start = |options| {
        let (library, health) = (Arc::clone(&library), server.health().flag(SERVICE_NAME));
        ActorHandle::start(&system, options, health, move || Arc::clone(&library)).map_err(ServeError::start)
    };
    let documents = options.ingest_in_flight as usize;
    let service = Service {
        reader: start(ActorOptions::new("retriever", &options.service))?,
        writer: start(ActorOptions {
            max_in_flight: documents,
            ..ActorOptions::new("ingest", &options.service)
        })?,
        limits: Limits {
            documents,
            bytes: MAX_STREAM_BYTES,
        },
        imports: Arc::new(Semaphore::new(transfer::IMPORTS)),
        copies: Arc::new(Semaphore::new(transfer::COPIES)),
        shutdown: shutdown.clone(),
    };
    let watching = availability::watch(Arc::clone(&store), server.health().flag(SERVICE_NAME)).await;
    let server = server.on_threads_of(&service.reader);
    let service = RetrieverServiceServer::new(service)
        .max_decoding_message_size(MAX_REQUEST_BYTES)
        .max_encoding_message_size(MAX_RESPONSE_BYTES);
    let served = server.add(service).serve(listener, shutdown).await;
    drop(watching);
    system.stop().await;
    // A graph that is being built may take minutes, and the next start does without what closing writes.
    drop(tokio::time::timeout(CLOSE_TIMEOUT, store.close()).await);
    served
}

#[cfg(test)]
mod tests;
