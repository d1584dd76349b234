//! Volumes and the orders to remove them, as the database keeps them.

use gpuaas_agent_protocol::inventory::{NodeInventory, Runtime};
use gpuaas_domain::Kind;
use gpuaas_domain::event::{Change, ObjectRef};
use gpuaas_domain::iam::{Permit, Scope};
use gpuaas_domain::identity::Project;
use gpuaas_domain::ids::{NodeId, ProjectId, TaskId, VolumeId};
use gpuaas_domain::instance::{NodeTask, Subject, TaskState};
use gpuaas_domain::node::{Node, NodeStanding};
use gpuaas_domain::page::PageRequest;
use gpuaas_domain::standing::Standing;
use gpuaas_domain::volume::{Volume, VolumeState};
use gpuaas_store::Tx;

use crate::{Bench, on_both};

fn permit() -> Permit {
    Permit::system("test", Scope::Platform)
}

fn change() -> Change {
    Change::new("test", ObjectRef::new("test", "1"))
}

async fn begin(b: &Bench) -> Tx {
    b.store.begin(&permit(), b.stamp()).await.unwrap()
}

fn node(b: &Bench) -> Node {
    let inventory = NodeInventory {
        agent_version: "1".into(),
        protocol: 1,
        hostname: "n".into(),
        os: "x".into(),
        kernel: "x".into(),
        architecture: "amd64".into(),
        cpus: 1,
        memory_mib: 1,
        disk_total_mib: 1,
        disk_free_mib: 1,
        runtime: Runtime::Simulated,
        gpus: vec![],
        problems: vec![],
        warnings: vec![],
    };
    let at = b.now();
    Node {
        id: NodeId::new(b.uuid()),
        name: "n".into(),
        standing: NodeStanding::Active,
        cordoned: false,
        draining: false,
        agent_version: "1".into(),
        agent_connected_at: None,
        last_seen_at: None,
        inventory,
        inventory_at: at,
        version: 1,
        created_at: at,
        updated_at: at,
    }
}

/// Two projects of one tenant, and a node.
async fn place(b: &Bench) -> (Node, [Project; 2]) {
    let (tenant, node, at) = (b.tenant("acme"), node(b), b.now());
    let project = |slug: &str| Project {
        id: ProjectId::new(b.uuid()),
        tenant_id: tenant.id,
        slug: slug.into(),
        display_name: slug.into(),
        state: Standing::Active,
        version: 1,
        created_at: at,
        updated_at: at,
    };
    let projects = [project("one"), project("two")];
    let mut tx = begin(b).await;
    tx.insert_tenant(&tenant).await.unwrap();
    for project in &projects {
        tx.insert_project(project).await.unwrap();
    }
    tx.insert_node(&node, b"key").await.unwrap();
    tx.commit(change(), None).await.unwrap();
    (node, projects)
}

fn volume(b: &Bench, project: &Project, node: &Node, name: &str) -> Volume {
    let at = b.now();
    Volume {
        id: VolumeId::new(b.uuid()),
        tenant_id: project.tenant_id,
        project_id: project.id,
        name: name.into(),
        node_id: node.id,
        size_mib: None,
        state: VolumeState::Ready,
        problem: None,
        created_by_kind: "user".into(),
        created_by_id: "x".into(),
        created_at: at,
        deleting_at: None,
        ended_at: None,
        version: 1,
        updated_at: at,
    }
}

async fn insert(b: &Bench, volume: &Volume) -> gpuaas_domain::Result<()> {
    let mut tx = begin(b).await;
    tx.insert_volume(volume).await?;
    tx.commit(change(), None).await
}

fn first_page() -> PageRequest {
    PageRequest { after: None, limit: 10 }
}

on_both! {
    /// A name is one volume's until that is deleted; a version is won once; a scope sees its own.
    async fn volumes_are_named_guarded_and_scoped(b: Bench) {
        let (node, [one, two]) = place(&b).await;
        let made = volume(&b, &one, &node, "home");
        insert(&b, &made).await.unwrap();
        assert_eq!(insert(&b, &volume(&b, &one, &node, "home")).await.unwrap_err().code(), "name_taken");
        insert(&b, &volume(&b, &two, &node, "home")).await.unwrap();
        let (own, foreign) = (Permit::system("t", one.scope()).tenant_scope(), Permit::system("t", two.scope()).tenant_scope());
        let mut session = b.store.read().await.unwrap();
        assert_eq!(session.find_volume(own, made.id).await.unwrap(), Some(made.clone()));
        assert_eq!(session.find_volume(foreign, made.id).await.unwrap(), None);
        assert!(session.find_known_volume(foreign, made.id).await.unwrap().is_none());
        assert_eq!(session.count_volumes(one.id).await.unwrap(), 1);
        drop(session);

        let gone = Volume { state: VolumeState::Deleted, ended_at: Some(b.now()), ..made.clone() };
        let mut tx = begin(&b).await;
        let after = tx.update_volume(gone.clone()).await.unwrap();
        tx.commit(change(), None).await.unwrap();
        assert_eq!(after.version, 2);
        let mut tx = begin(&b).await;
        assert_eq!(tx.update_volume(gone).await.unwrap_err().kind(), Kind::Stale);
        drop(tx);
        let mut session = b.store.read().await.unwrap();
        assert!(session.list_volumes(own, None, &first_page()).await.unwrap().items.is_empty());
        assert_eq!(session.list_volumes(own, Some(VolumeState::Deleted), &first_page()).await.unwrap().items.len(), 1);
        drop(session);
        insert(&b, &volume(&b, &one, &node, "home")).await.unwrap();
    }

    /// An order to remove waits, is claimed, sent, and closed like any other; a node that is none any more leaves it stranded.
    async fn a_removal_waits_like_any_order(b: Bench) {
        let (node, [one, _]) = place(&b).await;
        let made = Volume { state: VolumeState::Deleting, ..volume(&b, &one, &node, "home") };
        insert(&b, &made).await.unwrap();
        let at = b.now();
        let task = NodeTask {
            id: TaskId::new(b.uuid()),
            node_id: node.id,
            subject: Subject::Volume(made.id),
            generation: 1,
            family: "volume.remove".into(),
            order: "{}".into(),
            state: TaskState::Queued,
            attempts: 0,
            correlation_id: "c".into(),
            trace_id: "t".into(),
            created_at: at,
        };
        let mut tx = begin(&b).await;
        tx.enqueue_removal(&task).await.unwrap();
        tx.commit(change(), None).await.unwrap();
        let due = async |seconds: i64| b.store.read().await.unwrap().due_removals(at.plus_seconds(seconds), 10).await.unwrap();
        assert_eq!(due(0).await, std::slice::from_ref(&task));
        assert_eq!(begin(&b).await.claim_task(&task, at.plus_seconds(30)).await.unwrap(), Some(1));
        assert!(due(0).await.is_empty());
        begin(&b).await.postpone_task(&task, at.plus_seconds(60), "the node is away", true).await.unwrap();
        let own = Permit::system("t", one.scope()).tenant_scope();
        let seen = b.store.read().await.unwrap().find_volume(own, made.id).await.unwrap().unwrap();
        assert_eq!((seen.problem.as_deref(), seen.version), (Some("the node is away"), 1), "told, and nobody's decision");
        begin(&b).await.hasten_tasks(node.id, at.plus_seconds(1)).await.unwrap();
        assert_eq!(due(1).await.len(), 1);
        let mut tx = begin(&b).await;
        assert!(tx.mark_sent(&task).await.unwrap());
        tx.commit_observation().await.unwrap();
        assert!(due(3600).await.is_empty());
        assert_eq!(begin(&b).await.requeue_removal(made.id).await.unwrap(), 1);
        let mut session = b.store.read().await.unwrap();
        assert_eq!(session.list_deleting_volumes(node.id).await.unwrap(), [made.id]);
        assert!(session.list_stranded_volumes(10).await.unwrap().is_empty());
        drop(session);
        b.sql("UPDATE nodes SET standing = 'revoked'").await.unwrap();
        assert_eq!(b.store.read().await.unwrap().list_stranded_volumes(10).await.unwrap(), [made.id]);
        let mut tx = begin(&b).await;
        tx.close_removal(made.id, TaskState::Superseded).await.unwrap();
        tx.commit_observation().await.unwrap();
        assert!(due(7200).await.is_empty());
    }
}
