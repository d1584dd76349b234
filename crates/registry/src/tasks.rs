//! Changes go on when their caller has gone: dropped half-way, they would let go of their locks while a file is still
//! being written. Each runs in a task of its own, which the end of the registry waits for.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

const MANY: u32 = 1 << 20;

pub(crate) struct Tasks(Arc<Semaphore>);

impl Default for Tasks {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MANY as usize)))
    }
}

impl Tasks {
    /// Runs it to its end, whether or not somebody still waits.
    #[expect(clippy::disallowed_methods, reason = "this is the tracked spawner the lint asks for")]
    pub(crate) async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let running = self.0.clone();
        let task = tokio::spawn(async move {
            let _permit = running.acquire().await;
            work.await
        });
        match task.await {
            Ok(done) => done,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime ends, and with it everybody who could wait for the answer.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Waits for all, at most this long. Says whether all ended.
    pub(crate) async fn settle(&self, at_most: Duration) -> bool {
        tokio::time::timeout(at_most, self.0.acquire_many(MANY)).await.is_ok()
    }
}
