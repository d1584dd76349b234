//! Background work that the end of a program waits for. Nothing runs untracked.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};

const MANY: u32 = 1 << 20;

/// Spawns tasks and tells them when to stop.
#[derive(Clone)]
pub struct Spawner {
    running: Arc<Semaphore>,
    stop: Arc<watch::Sender<bool>>,
}

impl Default for Spawner {
    fn default() -> Self {
        Self { running: Arc::new(Semaphore::new(MANY as usize)), stop: Arc::new(watch::Sender::new(false)) }
    }
}

impl Spawner {
    #[expect(clippy::disallowed_methods, reason = "this is the tracked spawner the lint asks for")]
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let running = self.running.clone();
        tokio::spawn(async move {
            let _permit = running.acquire().await;
            work.await;
        });
    }

    /// Like [`Spawner::spawn`]; the work is dropped where it stands when the program stops.
    pub fn spawn_until_stop(&self, work: impl Future<Output = ()> + Send + 'static) {
        let this = self.clone();
        self.spawn(async move {
            tokio::select! { () = work => {}, () = this.stopped() => {} }
        });
    }

    /// Ends when the program is asked to stop.
    pub async fn stopped(&self) {
        let mut stop = self.stop.subscribe();
        let _ = stop.wait_for(|stopping| *stopping).await;
    }

    pub fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    /// Asks everybody to stop and waits for them, at most this long. Says whether all ended.
    pub async fn stop(&self, at_most: Duration) -> bool {
        self.stop.send_replace(true);
        tokio::time::timeout(at_most, self.running.acquire_many(MANY)).await.is_ok()
    }
}
