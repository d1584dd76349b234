//! Everything the executor runs beside itself. When this is dropped, all of it ends: a dropped executor leaves nothing
//! behind that could still act.

use std::sync::Mutex;

use tokio::task::{AbortHandle, JoinSet};

#[derive(Default)]
pub(crate) struct Tasks(Mutex<JoinSet<()>>);

impl Tasks {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut set = self.0.lock().expect("nothing panics while it is held");
        // What has ended is let go here, so that the set stays as small as what runs.
        while set.try_join_next().is_some() {}
        set.spawn(task)
    }

    /// Ends everything at its next point of waiting.
    pub(crate) fn abort(&self) {
        self.0.lock().expect("nothing panics while it is held").abort_all();
    }

    /// Ends everything at its next point of waiting, and waits until it has.
    pub(crate) async fn end(&self) {
        let mut set = std::mem::take(&mut *self.0.lock().expect("nothing panics while it is held"));
        set.shutdown().await;
    }
}
