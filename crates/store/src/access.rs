//! Endpoints behind the gateway: their routes, what opens them, and what passed.

use chrono::{DateTime, Utc};
use gpuaas_domain::access::{AccessMode, EndpointRoute, Label, PublicAccess};
use gpuaas_domain::iam::{Actor, TenantScope};
use gpuaas_domain::ids::{
    AccessCodeId, AppSessionId, EndpointTokenId, InstanceId, NodeId, PersonalTokenId, ProjectId, RevisionId,
    SessionId, TenantId, UserId,
};
use gpuaas_domain::instance::{Endpoint, Instance};
use gpuaas_domain::lifecycle::Status;
use gpuaas_domain::manifest::EndpointPolicy;
use gpuaas_domain::{Result, Timestamp};
use sqlx::types::Json;
use uuid::Uuid;

use crate::nodes::unknown;
use crate::tenants::one_row;
use crate::{Session, Tx};

row! {
    struct RouteRow {
        label: String, tenant_id: Uuid, project_id: Uuid, instance_id: Uuid, instance_name: String, app_slug: String,
        app_name: Option<String>, node_id: Uuid, component: String, name: String, container_port: i64, mode: String,
        public_access: String, active_revision: Uuid, access_epoch: i64, status: String,
        decommissioned_at: Option<DateTime<Utc>>, policy: Json<EndpointPolicy>, version: i64,
    }
}

impl TryFrom<RouteRow> for EndpointRoute {
    type Error = gpuaas_domain::Error;

    fn try_from(row: RouteRow) -> Result<Self> {
        Ok(Self {
            label: Label::parse(&row.label).ok_or_else(|| unknown("label", &row.label))?,
            tenant_id: TenantId::new(row.tenant_id),
            project_id: ProjectId::new(row.project_id),
            instance_id: InstanceId::new(row.instance_id),
            instance_name: row.instance_name,
            app_name: row.app_name.unwrap_or(row.app_slug),
            node_id: NodeId::new(row.node_id),
            component: row.component,
            name: row.name,
            port: u16::try_from(row.container_port).map_err(|_| unknown("port", "out of range"))?,
            mode: AccessMode::parse(&row.mode).ok_or_else(|| unknown("access mode", &row.mode))?,
            public_access: PublicAccess::parse(&row.public_access)
                .ok_or_else(|| unknown("public access", &row.public_access))?,
            active_revision: RevisionId::new(row.active_revision),
            access_epoch: row.access_epoch,
            status: Status::parse(&row.status).ok_or_else(|| unknown("status", &row.status))?,
            decommissioned: row.decommissioned_at.is_some(),
            policy: row.policy.0,
            version: row.version,
        })
    }
}

macro_rules! select_route {
    ($rest:literal) => {
        concat!(
            "SELECT r.label, r.tenant_id, r.project_id, r.instance_id, i.name AS instance_name, i.app_slug, ",
            "a.display_name AS app_name, i.node_id, r.component, r.name, e.container_port, r.mode, ",
            // What is suspended is open to nobody, whatever was switched on.
            "CASE WHEN p.state = 'active' AND t.state = 'active' THEN r.public_access ELSE 'off' END AS public_access, ",
            "r.active_revision, i.access_epoch, i.status, i.decommissioned_at, r.policy, r.version ",
            "FROM endpoint_routes r JOIN app_instances i ON i.id = r.instance_id ",
            "JOIN projects p ON p.id = r.project_id JOIN tenants t ON t.id = r.tenant_id ",
            "JOIN app_instance_endpoints e ON e.instance_id = r.instance_id AND e.component = r.component AND e.name = r.name ",
            "LEFT JOIN apps a ON a.slug = i.app_slug ",
            $rest
        )
    };
}

/// What a session, code or token of an endpoint says.
#[derive(Clone, Debug)]
pub struct StoredAccess {
    pub secret_hash: Vec<u8>,
    pub label: String,
    pub user_id: UserId,
    pub session_id: Option<SessionId>,
    pub personal_token_id: Option<PersonalTokenId>,
    pub access_epoch: i64,
    pub expires_at: Timestamp,
}

row! {
    struct AccessRow {
        secret_hash: Vec<u8>, label: String, user_id: Uuid, session_id: Option<Uuid>, personal_token_id: Option<Uuid>,
        access_epoch: i64, expires_at: DateTime<Utc>,
    }
}

impl From<AccessRow> for StoredAccess {
    fn from(row: AccessRow) -> Self {
        Self {
            secret_hash: row.secret_hash,
            label: row.label,
            user_id: UserId::new(row.user_id),
            session_id: row.session_id.map(SessionId::new),
            personal_token_id: row.personal_token_id.map(PersonalTokenId::new),
            access_epoch: row.access_epoch,
            expires_at: Timestamp::new(row.expires_at),
        }
    }
}

/// A token that opens one endpoint.
#[derive(Clone, Debug)]
pub struct StoredEndpointToken {
    pub id: EndpointTokenId,
    pub secret_hash: Vec<u8>,
    pub label: String,
    pub tenant_id: TenantId,
    pub project_id: ProjectId,
    pub name: String,
    pub created_by_kind: String,
    pub created_by_id: String,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

row! {
    struct EndpointTokenRow {
        id: Uuid, secret_hash: Vec<u8>, label: String, tenant_id: Uuid, project_id: Uuid, name: String,
        created_by_kind: String, created_by_id: String, created_at: DateTime<Utc>, expires_at: DateTime<Utc>,
    }
}

impl From<EndpointTokenRow> for StoredEndpointToken {
    fn from(row: EndpointTokenRow) -> Self {
        Self {
            id: EndpointTokenId::new(row.id),
            secret_hash: row.secret_hash,
            label: row.label,
            tenant_id: TenantId::new(row.tenant_id),
            project_id: ProjectId::new(row.project_id),
            name: row.name,
            created_by_kind: row.created_by_kind,
            created_by_id: row.created_by_id,
            created_at: Timestamp::new(row.created_at),
            expires_at: Timestamp::new(row.expires_at),
        }
    }
}

/// What passed through an endpoint in an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    pub requests: i64,
    pub bytes_in: i64,
    pub bytes_out: i64,
    pub sessions: i64,
}

row! { struct TrafficRow { requests: i64, bytes_in: i64, bytes_out: i64, sessions: i64 } }

impl Session {
    /// For the gateway, which asks about a host name before it knows whose it is.
    pub async fn find_endpoint_route(&mut self, label: &Label) -> Result<Option<EndpointRoute>> {
        let row = fetch_optional!(self, RouteRow, select_route!("WHERE r.label = $1"), label.as_str())?;
        row.map(EndpointRoute::try_from).transpose()
    }

    pub async fn find_endpoint(
        &mut self,
        scope: TenantScope,
        instance: InstanceId,
        name: &str,
    ) -> Result<Option<EndpointRoute>> {
        let row = fetch_optional!(
            self,
            RouteRow,
            select_route!(
                "WHERE r.instance_id = $1 AND r.name = $2 AND ($3 IS NULL OR r.tenant_id = $3) AND ($4 IS NULL OR r.project_id = $4) ORDER BY r.component LIMIT 1"
            ),
            instance.uuid(),
            name,
            scope.tenant().map(TenantId::uuid),
            scope.project().map(ProjectId::uuid)
        )?;
        row.map(EndpointRoute::try_from).transpose()
    }

    pub async fn find_access_code(&mut self, id: AccessCodeId) -> Result<Option<StoredAccess>> {
        let row = fetch_optional!(
            self,
            AccessRow,
            "SELECT secret_hash, label, user_id, session_id, personal_token_id, access_epoch, expires_at FROM access_codes WHERE id = $1",
            id.uuid()
        )?;
        Ok(row.map(StoredAccess::from))
    }

    pub async fn find_app_session(&mut self, id: AppSessionId) -> Result<Option<StoredAccess>> {
        let row = fetch_optional!(
            self,
            AccessRow,
            "SELECT secret_hash, label, user_id, session_id, personal_token_id, access_epoch, expires_at FROM app_sessions WHERE id = $1",
            id.uuid()
        )?;
        Ok(row.map(StoredAccess::from))
    }

    pub async fn find_endpoint_token(&mut self, id: EndpointTokenId) -> Result<Option<StoredEndpointToken>> {
        let row = fetch_optional!(
            self,
            EndpointTokenRow,
            "SELECT id, secret_hash, label, tenant_id, project_id, name, created_by_kind, created_by_id, created_at, expires_at FROM endpoint_tokens WHERE id = $1",
            id.uuid()
        )?;
        Ok(row.map(StoredEndpointToken::from))
    }

    /// All of an endpoint; there are never many.
    pub async fn list_endpoint_tokens(&mut self, label: &Label) -> Result<Vec<StoredEndpointToken>> {
        let rows = fetch!(
            self,
            EndpointTokenRow,
            "SELECT id, secret_hash, label, tenant_id, project_id, name, created_by_kind, created_by_id, created_at, expires_at FROM endpoint_tokens WHERE label = $1 ORDER BY id",
            label.as_str()
        )?;
        Ok(rows.into_iter().map(StoredEndpointToken::from).collect())
    }

    /// All that passed since a time.
    pub async fn traffic_since(&mut self, label: &Label, since: Timestamp) -> Result<Traffic> {
        let row = fetch_optional!(
            self,
            TrafficRow,
            "SELECT CAST(COALESCE(SUM(requests), 0) AS BIGINT) AS requests, CAST(COALESCE(SUM(bytes_in), 0) AS BIGINT) AS bytes_in, \
             CAST(COALESCE(SUM(bytes_out), 0) AS BIGINT) AS bytes_out, CAST(COALESCE(SUM(sessions), 0) AS BIGINT) AS sessions \
             FROM endpoint_traffic WHERE label = $1 AND hour >= $2",
            label.as_str(),
            since.to_datetime()
        )?;
        let row = row.unwrap_or(TrafficRow { requests: 0, bytes_in: 0, bytes_out: 0, sessions: 0 });
        let TrafficRow { requests, bytes_in, bytes_out, sessions } = row;
        Ok(Traffic { requests, bytes_in, bytes_out, sessions })
    }
}

impl Tx {
    pub async fn insert_endpoint_route(
        &mut self,
        instance: &Instance,
        endpoint: &Endpoint,
        label: &Label,
    ) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "INSERT INTO endpoint_routes (label, instance_id, component, name, tenant_id, project_id, mode, public_access, \
             active_revision, policy, version, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11, $11)",
            label.as_str(),
            instance.id.uuid(),
            endpoint.component.as_str(),
            endpoint.name.as_str(),
            instance.tenant_id.uuid(),
            instance.project_id.uuid(),
            endpoint.mode.name(),
            endpoint.public_access.name(),
            instance.revision_id.uuid(),
            Json(&endpoint.policy),
            at
        )?;
        Ok(())
    }

    /// All endpoints of an instance lead to this revision from now on.
    pub async fn route_to_revision(&mut self, instance: InstanceId, revision: RevisionId) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "UPDATE endpoint_routes SET active_revision = $2, version = version + 1, updated_at = $3 WHERE instance_id = $1 AND active_revision <> $2",
            instance.uuid(),
            revision.uuid(),
            at
        )?;
        Ok(())
    }

    pub async fn set_public_access(&mut self, route: &EndpointRoute, access: PublicAccess) -> Result<()> {
        let at = self.at().to_datetime();
        one_row(execute!(
            self,
            "UPDATE endpoint_routes SET public_access = $3, version = version + 1, updated_at = $4 WHERE label = $1 AND version = $2",
            route.label.as_str(),
            route.version,
            access.name(),
            at
        )?)
    }

    pub async fn insert_access_code(&mut self, id: AccessCodeId, code: &StoredAccess) -> Result<()> {
        execute!(
            self,
            "INSERT INTO access_codes (id, secret_hash, label, user_id, session_id, personal_token_id, access_epoch, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            id.uuid(),
            code.secret_hash.as_slice(),
            code.label.as_str(),
            code.user_id.uuid(),
            code.session_id.map(SessionId::uuid),
            code.personal_token_id.map(PersonalTokenId::uuid),
            code.access_epoch,
            code.expires_at.to_datetime()
        )?;
        Ok(())
    }

    /// Ends what is more than `keep` of one person at one endpoint, the oldest first: whoever opens it without end has no more
    /// open than others.
    pub async fn keep_newest_access(&mut self, label: &str, user: UserId, keep: i64) -> Result<()> {
        execute!(
            self,
            "DELETE FROM app_sessions WHERE label = $1 AND user_id = $2 AND id NOT IN \
             (SELECT id FROM app_sessions WHERE label = $1 AND user_id = $2 ORDER BY created_at DESC, id DESC LIMIT $3)",
            label,
            user.uuid(),
            keep
        )?;
        execute!(
            self,
            "DELETE FROM access_codes WHERE label = $1 AND user_id = $2 AND id NOT IN \
             (SELECT id FROM access_codes WHERE label = $1 AND user_id = $2 ORDER BY expires_at DESC, id DESC LIMIT $3)",
            label,
            user.uuid(),
            keep
        )?;
        Ok(())
    }

    /// One deletion is one use; whoever deletes the row has the code.
    pub async fn take_access_code(&mut self, id: AccessCodeId) -> Result<bool> {
        Ok(execute!(self, "DELETE FROM access_codes WHERE id = $1", id.uuid())? == 1)
    }

    pub async fn insert_app_session(&mut self, id: AppSessionId, session: &StoredAccess) -> Result<()> {
        let at = self.at().to_datetime();
        execute!(
            self,
            "INSERT INTO app_sessions (id, secret_hash, label, user_id, session_id, personal_token_id, access_epoch, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            id.uuid(),
            session.secret_hash.as_slice(),
            session.label.as_str(),
            session.user_id.uuid(),
            session.session_id.map(SessionId::uuid),
            session.personal_token_id.map(PersonalTokenId::uuid),
            session.access_epoch,
            at,
            session.expires_at.to_datetime()
        )?;
        Ok(())
    }

    pub async fn insert_endpoint_token(&mut self, token: &StoredEndpointToken) -> Result<()> {
        execute!(
            self,
            "INSERT INTO endpoint_tokens (id, secret_hash, label, tenant_id, project_id, name, created_by_kind, created_by_id, created_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            token.id.uuid(),
            token.secret_hash.as_slice(),
            token.label.as_str(),
            token.tenant_id.uuid(),
            token.project_id.uuid(),
            token.name.as_str(),
            token.created_by_kind.as_str(),
            token.created_by_id.as_str(),
            token.created_at.to_datetime(),
            token.expires_at.to_datetime()
        )?;
        Ok(())
    }

    pub async fn delete_endpoint_token(&mut self, label: &Label, id: EndpointTokenId) -> Result<u64> {
        execute!(self, "DELETE FROM endpoint_tokens WHERE id = $1 AND label = $2", id.uuid(), label.as_str())
    }

    /// Every token that somebody made, whatever it opens.
    pub async fn delete_endpoint_tokens_of(&mut self, maker: Actor) -> Result<u64> {
        execute!(
            self,
            "DELETE FROM endpoint_tokens WHERE created_by_kind = $1 AND created_by_id = $2",
            maker.kind(),
            maker.id()
        )
    }

    /// Adds what passed. Housekeeping: it is a count, no decision, and has no row in the trail.
    pub async fn add_traffic(mut self, hour: Timestamp, passed: &[(Label, Traffic)]) -> Result<()> {
        for (label, traffic) in passed {
            execute!(
                self,
                "INSERT INTO endpoint_traffic (label, hour, requests, bytes_in, bytes_out, sessions) VALUES ($1, $2, $3, $4, $5, $6) \
                 ON CONFLICT (label, hour) DO UPDATE SET requests = endpoint_traffic.requests + excluded.requests, \
                 bytes_in = endpoint_traffic.bytes_in + excluded.bytes_in, bytes_out = endpoint_traffic.bytes_out + excluded.bytes_out, \
                 sessions = endpoint_traffic.sessions + excluded.sessions",
                label.as_str(),
                hour.to_datetime(),
                traffic.requests,
                traffic.bytes_in,
                traffic.bytes_out,
                traffic.sessions
            )?;
        }
        self.commit_housekeeping().await
    }
}
