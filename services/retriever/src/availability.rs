//! Health follows the store: NOT_SERVING while it cannot be used.

use std::sync::Arc;
use std::time::Duration;

use emend_chassis::HealthFlag;
use emend_core::error_chain;
use futures::FutureExt;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use crate::backend::VectorStore;

/// How often the store is asked, while it can be used and while it cannot.
const EVERY: Duration = Duration::from_secs(10);
const WHILE_DOWN: Duration = Duration::from_secs(1);

/// How long the first answer is waited for before anything is served.
const FIRST: Duration = Duration::from_secs(2);

/// Asks the store again and again whether it can be used, until what is returned is dropped. Returns after the first
/// answer, or after two seconds without one.
pub(crate) async fn watch(store: Arc<dyn VectorStore>, health: HealthFlag) -> AbortOnDropHandle<()> {
    let (first, asked) = oneshot::channel();
    let watching = async move {
        let (mut up, mut first) = (true, Some(first));
        loop {
            let usable = store.probe().await;
            match &usable {
                Ok(()) if !up => tracing::info!("the store of the collections can be used again"),
                Err(error) if up => {
                    tracing::error!(
                        error = error_chain(error),
                        "the store of the collections cannot be used"
                    );
                }
                _ => {}
            }
            up = usable.is_ok();
            health.set_serving(up);
            drop(first.take());
            tokio::time::sleep(if up { EVERY } else { WHILE_DOWN }).await;
        }
    };
    let watching = AbortOnDropHandle::new(tokio::spawn(watching));
    // The other end is dropped when there is an answer.
    drop(tokio::time::timeout(FIRST, asked.map(drop::<Result<(), _>>)).await);
    watching
}
