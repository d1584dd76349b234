//! What the database itself refuses, and what a transaction promises.

use gpuaas_domain::Kind;
use gpuaas_domain::chain::Stream;
use gpuaas_domain::event::{Change, EventType, ObjectRef};
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_domain::identity::Tenant;
use gpuaas_store::SchemaState;
use gpuaas_store::idempotency::{Key, Record};
use serde_json::json;

use crate::{Bench, on_both};

fn permit() -> Permit {
    Permit::system("test", Scope::Platform)
}

fn created(tenant: &Tenant) -> Change {
    Change::new("tenants.create", ObjectRef::new("tenant", tenant.id))
        .after(tenant.audit_view())
        .event(EventType::TenantCreated, json!({"slug": tenant.slug}))
}

async fn commit_tenant(b: &Bench, slug: &str) -> Tenant {
    let tenant = b.tenant(slug);
    let mut tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
    tx.insert_tenant(&tenant).await.unwrap();
    tx.commit(created(&tenant), None).await.unwrap();
    tenant
}

on_both! {
    /// L01, N-05: events, audit rows and the chain only grow; the database itself refuses anything else.
    async fn what_is_insert_only_cannot_be_changed_or_removed(b: Bench) {
        commit_tenant(&b, "acme").await;
        let lease = b.store.begin(&permit(), b.stamp()).await.unwrap()
            .acquire_lease("sequencer", "me", b.now(), b.now().plus_seconds(60)).await.unwrap().unwrap();
        for stream in Stream::ALL {
            let tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
            assert_eq!(tx.number_waiting(&lease, stream, 10).await.unwrap(), Some(1));
        }
        for sql in [
            "UPDATE events SET kind = 'x'",
            "DELETE FROM events",
            "UPDATE audit SET action = 'x'",
            "DELETE FROM audit",
            "UPDATE chain SET seq = 7",
            "DELETE FROM chain",
        ] {
            let refused = b.sql(sql).await.unwrap_err().to_string();
            assert!(refused.contains("insert-only"), "{sql}: {refused}");
        }
        if b.kind == gpuaas_testkit::Database::Postgres {
            for table in ["events", "audit", "chain"] {
                let refused = b.sql(&format!("TRUNCATE {table}")).await.unwrap_err().to_string();
                assert!(refused.contains("insert-only"), "{refused}");
            }
        }
    }

    /// A transaction that is dropped leaves no row, no event, no audit row and no number.
    async fn an_uncommitted_change_leaves_nothing(b: Bench) {
        let tenant = b.tenant("ghost");
        let mut tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
        tx.insert_tenant(&tenant).await.unwrap();
        drop(tx);
        let mut session = b.store.read().await.unwrap();
        assert!(session.find_tenant_by_slug("ghost").await.unwrap().is_none());
        for stream in Stream::ALL {
            assert_eq!(session.count_unnumbered(stream).await.unwrap(), 0);
        }
    }

    /// Of a hundred writers that read the same version, one wins.
    async fn one_writer_wins_per_version(b: Bench) {
        let tenant = commit_tenant(&b, "acme").await;
        let tries = (0..100).map(|number| {
            let (store, tenant, stamp) = (b.store.clone(), tenant.clone(), b.stamp());
            async move {
                let mut tx = store.begin(&permit(), stamp).await?;
                let after = tx.update_tenant(Tenant { display_name: format!("name {number}"), ..tenant.clone() }).await?;
                tx.commit(created(&after), None).await
            }
        });
        let outcomes = futures_util::future::join_all(tries).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        assert!(outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).all(|error| error.kind() == Kind::Stale));
    }

    /// A first answer and its change are there together, and a second change under the same key is not there at all.
    async fn a_key_is_used_by_one_change_only(b: Bench) {
        let key = || Key { principal: "user:1".into(), route: "TenantCreate", key: "k".into() };
        let record = |reply: &str| Record { key: key(), request_hash: [1; 32], status: 201, reply: reply.into() };
        for (slug, reply, works) in [("one", "first", true), ("two", "second", false)] {
            let tenant = b.tenant(slug);
            let mut tx = b.store.begin(&permit(), b.stamp()).await.unwrap();
            tx.insert_tenant(&tenant).await.unwrap();
            let outcome = tx.commit(created(&tenant), Some(record(reply))).await;
            assert_eq!(outcome.is_ok(), works);
        }
        let mut session = b.store.read().await.unwrap();
        assert!(session.find_tenant_by_slug("two").await.unwrap().is_none());
        let stored = session.find_idempotency(&key(), b.now().plus_seconds(-60)).await.unwrap().unwrap();
        assert_eq!((stored.status, stored.reply.as_str()), (201, "first"));
        assert!(session.find_idempotency(&key(), b.now().plus_seconds(60)).await.unwrap().is_none(), "expired is absent");
    }

    /// D01: a schema made by a newer version is refused and left exactly as it is.
    async fn a_newer_schema_is_refused_and_untouched(b: Bench) {
        assert_eq!(b.store.schema_state().await.unwrap(), SchemaState::Current);
        b.store.migrate().await.unwrap();
        let columns = "(version, description, installed_on, success, checksum, execution_time)";
        let values = match b.kind {
            gpuaas_testkit::Database::Sqlite => "(9999, 'future', '2030-01-01', 1, x'00', 0)",
            gpuaas_testkit::Database::Postgres => "(9999, 'future', now(), TRUE, '\\x00', 0)",
        };
        b.sql(&format!("INSERT INTO _sqlx_migrations {columns} VALUES {values}")).await.unwrap();
        let before = b.store.snapshot().await.unwrap().fingerprint().await.unwrap();
        assert_eq!(b.store.schema_state().await.unwrap(), SchemaState::Newer);
        assert_eq!(b.store.migrate().await.unwrap_err().code(), "schema_too_new");
        assert_eq!(b.store.snapshot().await.unwrap().fingerprint().await.unwrap(), before);
    }

    /// Slugs that differ only in how a database might sort or fold them stay apart and in byte order.
    async fn text_is_compared_byte_by_byte(b: Bench) {
        for slug in ["b-1", "a-2", "a-10", "b", "aa"] {
            commit_tenant(&b, &format!("{slug}-x")).await;
        }
        let mut session = b.store.read().await.unwrap();
        assert!(session.find_tenant_by_slug("A-2-x").await.unwrap().is_none());
        assert!(session.find_tenant_by_slug("a-2-x").await.unwrap().is_some());
    }
}
