//! The life of one link: what is spawned here ends when the link does.

use std::future::Future;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use tokio::task::JoinSet;

/// Clones are the same scope.
#[derive(Clone)]
pub struct Scope(Arc<Inner>);

struct Inner {
    /// `None` once closed.
    tasks: Mutex<Option<JoinSet<()>>>,
    closed: watch::Sender<bool>,
}

impl Default for Scope {
    fn default() -> Self {
        Self::new()
    }
}

impl Scope {
    pub fn new() -> Self {
        Self(Arc::new(Inner { tasks: Mutex::new(Some(JoinSet::new())), closed: watch::Sender::new(false) }))
    }

    /// In a closed scope nothing starts.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.tasks.lock().expect("no holder of the tasks panics");
        if let Some(tasks) = tasks.as_mut() {
            // What has ended is let go here, so that a long-lived link does not gather it.
            while tasks.try_join_next().is_some() {}
            tasks.spawn(work);
        }
    }

    /// Ends everything in it, at once.
    pub fn close(&self) {
        let tasks = self.0.tasks.lock().expect("no holder of the tasks panics").take();
        drop(tasks);
        self.0.closed.send_replace(true);
    }

    pub fn is_closed(&self) -> bool {
        *self.0.closed.borrow()
    }

    pub async fn closed(&self) {
        let mut closed = self.0.closed.subscribe();
        // The sender lives as long as we do.
        let _ = closed.wait_for(|closed| *closed).await;
    }
}

impl<F: Future<Output: Send> + Send + 'static> hyper::rt::Executor<F> for Scope {
    fn execute(&self, work: F) {
        self.spawn(async move {
            work.await;
        });
    }
}
