//! A platform in a test: the real server over real HTTP, on both databases, with a clock that can be moved and
//! loops that are turned by hand. Nothing here sleeps to wait.

mod apps;
mod author;
mod caller;
mod clock;
mod database;
mod fleet;
mod node;
mod platform;
pub mod process;

pub use apps::{DIGEST, Ready, manifest};
pub use author::{Author, Push, program_image, small_image, web_image};
pub use caller::{Answer, Caller, KeyPair};
pub use clock::MovableClock;
pub use database::{Database, TestDatabase};
pub use fleet::Fleet;
pub use node::SimulatedNode;
pub use platform::{Home, Place, TestPlatform};

/// Runs one test body on SQLite and on PostgreSQL.
///
/// ```ignore
/// both_databases! {
///     /// K-04: what the test proves.
///     async fn a_service_account_is_created_once(p: TestPlatform) { … }
/// }
/// ```
#[macro_export]
macro_rules! both_databases {
    ($($(#[$meta:meta])* async fn $name:ident($platform:ident : $kind:ty) $body:block)*) => {
        $(
            $(#[$meta])*
            mod $name {
                use super::*;

                async fn run($platform: $kind) $body

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn on_sqlite() {
                    run($crate::TestPlatform::start($crate::Database::Sqlite).await).await;
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn on_postgres() {
                    run($crate::TestPlatform::start($crate::Database::Postgres).await).await;
                }
            }
        )*
    };
}
