//! Everything the executor runs beside itself. When this is dropped, all of it ends: a dropped executor leaves nothing
//! behind that could still act.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::{AbortHandle, JoinSet};

#[derive(Default)]
pub(crate) struct Tasks {
    set: Mutex<JoinSet<()>>,
    ended: AtomicBool,
}

impl Tasks {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut set = self.set.lock().expect("nothing panics while it is held");
        // What has ended is let go here, so that the set stays as small as what runs.
        while set.try_join_next().is_some() {}
        let handle = set.spawn(task);
        if self.ended.load(Ordering::SeqCst) {
            handle.abort();
        }
        handle
    }

    /// Ends everything at its next point of waiting.
    pub(crate) fn abort(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.set.lock().expect("nothing panics while it is held").abort_all();
    }

    /// Ends everything at its next point of waiting, and waits until it has.
    pub(crate) async fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        let mut set = std::mem::take(&mut *self.set.lock().expect("nothing panics while it is held"));
        set.shutdown().await;
    }
}
