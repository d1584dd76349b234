//! Every endpoint is a row of this table: method, path, who may call it and at which scope, what is audited, how
//! large a body may be, how often it may be called. The router, the OpenAPI file and the tests are built from it;
//! an endpoint that is not here does not exist, and one that is here cannot lack any of these.

use gpuaas_domain::iam::Permission;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    pub fn is_mutation(self) -> bool {
        self != Self::Get
    }
}

/// Which path parameter says where a permission must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeKind {
    Platform,
    /// `{tenant_id}`
    Tenant,
    /// `{project_id}`
    Project,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Health, sign-in and public discovery; nothing else.
    Public,
    /// Any authenticated caller; answers only about the caller itself or what the caller may see.
    SignedIn,
    /// Any signed-in person; machines are refused.
    Person,
    /// A node with its own token, speaking about itself; nobody else.
    Node,
    /// An app instance with its own token, speaking about itself: the one in the path, and nobody else.
    Instance,
    Needs(Permission, ScopeKind),
}

/// How often a caller may call: see `[limits]` in the configuration for the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RateClass {
    /// Not counted: health and static discovery.
    Free,
    Read,
    Write,
    /// Guessing a credential here must be slow: counted per address and per name.
    Credential,
}

#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    /// The action written to the audit row; every mutation has one.
    pub audit: Option<&'static str>,
    pub body_limit: usize,
    pub rate: RateClass,
    /// Answers that never end are left out of contract fuzzing.
    pub streaming: bool,
    pub tag: &'static str,
    pub summary: &'static str,
}

const KIB: usize = 1024;
/// What a mutation may carry unless its row says more.
const BODY: usize = 64 * KIB;
/// Manifests, and what a node with many instances has to say.
const LARGE_BODY: usize = 2 * 1024 * KIB;

macro_rules! routes {
    ($($variant:ident: $method:ident $path:literal, $access:expr, $audit:expr, $rate:ident, $tag:literal, $summary:literal $(, $flag:ident)?;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Route { $($variant,)* }

        impl Route {
            pub const ALL: &'static [Route] = &[$(Route::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Route::$variant => stringify!($variant)),* }
            }

            pub fn row(self) -> Row {
                match self {
                    $(Route::$variant => Row {
                        method: Method::$method,
                        path: $path,
                        access: $access,
                        audit: $audit,
                        body_limit: if Method::$method.is_mutation() { routes!(@body $($flag)?) } else { 0 },
                        rate: RateClass::$rate,
                        streaming: routes!(@streaming $($flag)?),
                        tag: $tag,
                        summary: $summary,
                    },)*
                }
            }
        }
    };
    (@streaming streaming) => { true };
    (@streaming $($other:ident)?) => { false };
    (@body large) => { LARGE_BODY };
    (@body $($other:ident)?) => { BODY };
}

use Access::{Instance, Needs, Node, Person, Public, SignedIn};
use Permission as P;
use ScopeKind::{Platform, Project, Tenant};

routes! {
    Healthz: Get "/healthz", Public, None, Free, "Platform", "Whether the process runs.";
    Readyz: Get "/readyz", Public, None, Free, "Platform", "Whether the process can serve: database reachable, schema current.";
    Metrics: Get "/metrics", Needs(P::MetricsRead, Platform), None, Read, "Platform", "Metrics in the Prometheus text format.";
    Version: Get "/api/v1/version", Public, None, Free, "Platform", "Name, version and id of this platform.";
    OpenApi: Get "/api/v1/openapi.json", Public, None, Free, "Platform", "This contract as OpenAPI 3.1.";
    AsyncApi: Get "/api/v1/asyncapi.json", Public, None, Free, "Platform", "The events as AsyncAPI 3.0.";
    Docs: Get "/api/docs", Public, None, Free, "Platform", "This contract, to read and try in the browser.";
    DocsAsset: Get "/api/docs/{asset}", Public, None, Free, "Platform", "Script and style of the contract browser.";

    Login: Post "/api/v1/auth/login", Public, Some("auth.login"), Credential, "Sign-in", "Sign in with e-mail and password; sets the session cookie.";
    LoginLink: Get "/auth/link", Public, Some("auth.login_link"), Credential, "Sign-in", "Sign in once with a one-time link; sets the session cookie and goes on to the browser's start page.";
    Logout: Post "/api/v1/auth/logout", SignedIn, Some("auth.logout"), Write, "Sign-in", "End the current browser session.";
    Whoami: Get "/api/v1/auth/whoami", SignedIn, None, Read, "Sign-in", "Who is calling, with roles and permissions.";
    PasswordChange: Post "/api/v1/auth/password", Person, Some("auth.password_changed"), Credential, "Sign-in", "Change one's own password; ends all other sessions.";
    TokenList: Get "/api/v1/auth/tokens", Person, None, Read, "Personal tokens", "One's own personal access tokens.";
    TokenCreate: Post "/api/v1/auth/tokens", Person, Some("auth.token_created"), Write, "Personal tokens", "Create a personal access token; shown once.";
    TokenRevoke: Delete "/api/v1/auth/tokens/{token_id}", Person, Some("auth.token_revoked"), Write, "Personal tokens", "Revoke a personal access token at once.";
    ServiceAccountToken: Post "/api/v1/auth/service-account/token", Public, Some("auth.service_account_token"), Credential, "Sign-in", "Exchange a signed assertion for an access token.";
    ServiceAccountTokenAlias: Post "/auth/sa/token", Public, Some("auth.service_account_token"), Credential, "Sign-in", "Alias of /api/v1/auth/service-account/token.";
    Unwrap: Post "/api/v1/custody/unwrap", Public, Some("custody.unwrap"), Credential, "Custody", "Open a wrapped value: once, before it expires.";

    TenantList: Get "/api/v1/tenants", SignedIn, None, Read, "Tenants", "The tenants you can see.";
    TenantCreate: Post "/api/v1/tenants", Needs(P::TenantCreate, Platform), Some("tenants.create"), Write, "Tenants", "Create a tenant.";
    TenantGet: Get "/api/v1/tenants/{tenant_id}", Needs(P::TenantRead, Tenant), None, Read, "Tenants", "One tenant.";
    TenantUpdate: Patch "/api/v1/tenants/{tenant_id}", Needs(P::TenantUpdate, Tenant), Some("tenants.update"), Write, "Tenants", "Rename a tenant.";
    TenantSuspend: Post "/api/v1/tenants/{tenant_id}/suspend", Needs(P::TenantManage, Tenant), Some("tenants.suspend"), Write, "Tenants", "Suspend a tenant: its people and machines are refused until it is resumed.";
    TenantResume: Post "/api/v1/tenants/{tenant_id}/resume", Needs(P::TenantManage, Tenant), Some("tenants.resume"), Write, "Tenants", "Resume a suspended tenant.";
    TenantDelete: Delete "/api/v1/tenants/{tenant_id}", Needs(P::TenantManage, Tenant), Some("tenants.delete"), Write, "Tenants", "Delete a tenant that has no live projects.";

    ProjectListMine: Get "/api/v1/projects", SignedIn, None, Read, "Projects", "The projects you can see.";
    ProjectList: Get "/api/v1/tenants/{tenant_id}/projects", Needs(P::ProjectRead, Tenant), None, Read, "Projects", "All projects of a tenant.";
    ProjectCreate: Post "/api/v1/tenants/{tenant_id}/projects", Needs(P::ProjectCreate, Tenant), Some("projects.create"), Write, "Projects", "Create a project.";
    ProjectGet: Get "/api/v1/projects/{project_id}", Needs(P::ProjectRead, Project), None, Read, "Projects", "One project.";
    ProjectUpdate: Patch "/api/v1/projects/{project_id}", Needs(P::ProjectUpdate, Project), Some("projects.update"), Write, "Projects", "Rename a project.";
    ProjectSuspend: Post "/api/v1/projects/{project_id}/suspend", Needs(P::ProjectManage, Project), Some("projects.suspend"), Write, "Projects", "Suspend a project.";
    ProjectResume: Post "/api/v1/projects/{project_id}/resume", Needs(P::ProjectManage, Project), Some("projects.resume"), Write, "Projects", "Resume a suspended project.";
    ProjectDelete: Delete "/api/v1/projects/{project_id}", Needs(P::ProjectManage, Project), Some("projects.delete"), Write, "Projects", "Delete a project that has no live objects.";

    UserList: Get "/api/v1/users", Needs(P::UserRead, Platform), None, Read, "Users", "The people of the platform.";
    UserCreate: Post "/api/v1/users", Needs(P::UserManage, Platform), Some("users.create"), Write, "Users", "Create an account for a person.";
    UserGet: Get "/api/v1/users/{user_id}", Needs(P::UserRead, Platform), None, Read, "Users", "One person.";
    UserUpdate: Patch "/api/v1/users/{user_id}", Needs(P::UserManage, Platform), Some("users.update"), Write, "Users", "Change a person's name or e-mail.";
    UserResetPassword: Post "/api/v1/users/{user_id}/reset-password", Needs(P::UserManage, Platform), Some("users.reset_password"), Write, "Users", "Give a person a new password, shown once; ends all sessions.";
    UserSuspend: Post "/api/v1/users/{user_id}/suspend", Needs(P::UserManage, Platform), Some("users.suspend"), Write, "Users", "Suspend a person: sessions and tokens stop working at once.";
    UserResume: Post "/api/v1/users/{user_id}/resume", Needs(P::UserManage, Platform), Some("users.resume"), Write, "Users", "Resume a suspended person.";
    UserDelete: Delete "/api/v1/users/{user_id}", Needs(P::UserManage, Platform), Some("users.delete"), Write, "Users", "Delete a person; personal data is erased, the trail keeps the id.";

    PermissionList: Get "/api/v1/permissions", SignedIn, None, Read, "Roles", "Every permission key with its meaning.";
    RoleList: Get "/api/v1/roles", SignedIn, None, Read, "Roles", "Built-in and custom roles.";
    RoleCreate: Post "/api/v1/roles", Needs(P::RoleManage, Platform), Some("roles.create"), Write, "Roles", "Create a custom role.";
    RoleGet: Get "/api/v1/roles/{role_id}", SignedIn, None, Read, "Roles", "One role.";
    RoleUpdate: Patch "/api/v1/roles/{role_id}", Needs(P::RoleManage, Platform), Some("roles.update"), Write, "Roles", "Change a custom role.";
    RoleDelete: Delete "/api/v1/roles/{role_id}", Needs(P::RoleManage, Platform), Some("roles.delete"), Write, "Roles", "Delete a custom role that nobody holds.";

    PlatformBindingList: Get "/api/v1/bindings", Needs(P::BindingRead, Platform), None, Read, "Bindings", "Who holds which role on the platform.";
    PlatformBindingCreate: Post "/api/v1/bindings", Needs(P::BindingManage, Platform), Some("bindings.create"), Write, "Bindings", "Give a role on the platform.";
    PlatformBindingDelete: Delete "/api/v1/bindings/{binding_id}", Needs(P::BindingManage, Platform), Some("bindings.delete"), Write, "Bindings", "Take a platform role away.";
    TenantBindingList: Get "/api/v1/tenants/{tenant_id}/bindings", Needs(P::BindingRead, Tenant), None, Read, "Bindings", "Who holds which role in a tenant.";
    TenantBindingCreate: Post "/api/v1/tenants/{tenant_id}/bindings", Needs(P::BindingManage, Tenant), Some("bindings.create"), Write, "Bindings", "Give a role in a tenant.";
    TenantBindingDelete: Delete "/api/v1/tenants/{tenant_id}/bindings/{binding_id}", Needs(P::BindingManage, Tenant), Some("bindings.delete"), Write, "Bindings", "Take a tenant role away.";
    ProjectBindingList: Get "/api/v1/projects/{project_id}/bindings", Needs(P::BindingRead, Project), None, Read, "Bindings", "Who holds which role in a project.";
    ProjectBindingCreate: Post "/api/v1/projects/{project_id}/bindings", Needs(P::BindingManage, Project), Some("bindings.create"), Write, "Bindings", "Give a role in a project.";
    ProjectBindingDelete: Delete "/api/v1/projects/{project_id}/bindings/{binding_id}", Needs(P::BindingManage, Project), Some("bindings.delete"), Write, "Bindings", "Take a project role away.";

    ServiceAccountList: Get "/api/v1/projects/{project_id}/service-accounts", Needs(P::ServiceAccountRead, Project), None, Read, "Service accounts", "A project's service accounts.";
    ServiceAccountCreate: Post "/api/v1/projects/{project_id}/service-accounts", Needs(P::ServiceAccountManage, Project), Some("service_accounts.create"), Write, "Service accounts", "Create a service account; a private key made here is shown once.";
    ServiceAccountGet: Get "/api/v1/projects/{project_id}/service-accounts/{service_account_id}", Needs(P::ServiceAccountRead, Project), None, Read, "Service accounts", "One service account with its keys.";
    ServiceAccountDisable: Post "/api/v1/projects/{project_id}/service-accounts/{service_account_id}/disable", Needs(P::ServiceAccountManage, Project), Some("service_accounts.disable"), Write, "Service accounts", "Disable an account at once, unexpired tokens included.";
    ServiceAccountRotateKey: Post "/api/v1/projects/{project_id}/service-accounts/{service_account_id}/rotate-key", Needs(P::ServiceAccountManage, Project), Some("service_accounts.rotate_key"), Write, "Service accounts", "Give an account a new key; the old one ends after a short overlap.";
    ServiceAccountDelete: Delete "/api/v1/projects/{project_id}/service-accounts/{service_account_id}", Needs(P::ServiceAccountManage, Project), Some("service_accounts.delete"), Write, "Service accounts", "Delete an account; its trail stays.";

    TenantLimitList: Get "/api/v1/tenants/{tenant_id}/limits", Needs(P::LimitRead, Tenant), None, Read, "Limits", "A tenant's limits.";
    TenantLimitSet: Put "/api/v1/tenants/{tenant_id}/limits/{limit}", Needs(P::LimitManage, Tenant), Some("limits.set"), Write, "Limits", "Set a tenant's limit.";
    ProjectLimitList: Get "/api/v1/projects/{project_id}/limits", Needs(P::LimitRead, Project), None, Read, "Limits", "A project's limits.";
    ProjectLimitSet: Put "/api/v1/projects/{project_id}/limits/{limit}", Needs(P::LimitManage, Project), Some("limits.set"), Write, "Limits", "Set a project's limit.";

    JoinTokenCreate: Post "/api/v1/nodes/join-tokens", Needs(P::NodeManage, Platform), Some("nodes.join_token_created"), Write, "Nodes", "Make a token that lets one machine join; shown once.";
    NodeJoin: Post "/api/v1/nodes/join", Public, Some("nodes.join"), Credential, "Node agents", "A machine becomes a node. The same machine may repeat it with the same token.", large;
    NodeList: Get "/api/v1/nodes", Needs(P::NodeRead, Platform), None, Read, "Nodes", "The nodes, with presence, readiness and capabilities.";
    NodeGet: Get "/api/v1/nodes/{node_id}", Needs(P::NodeRead, Platform), None, Read, "Nodes", "One node with its devices and who holds them.";
    NodeCordon: Post "/api/v1/nodes/{node_id}/cordon", Needs(P::NodeManage, Platform), Some("nodes.cordon"), Write, "Nodes", "Place no new work on a node.";
    NodeUncordon: Post "/api/v1/nodes/{node_id}/uncordon", Needs(P::NodeManage, Platform), Some("nodes.uncordon"), Write, "Nodes", "Place work on a node again.";
    NodeDrain: Post "/api/v1/nodes/{node_id}/drain", Needs(P::NodeManage, Platform), Some("nodes.drain"), Write, "Nodes", "Cordon a node and stop what runs on it.";
    NodeRevoke: Post "/api/v1/nodes/{node_id}/revoke", Needs(P::NodeManage, Platform), Some("nodes.revoke"), Write, "Nodes", "Void a node's credentials and end its connections at once.";
    NodeForget: Delete "/api/v1/nodes/{node_id}", Needs(P::NodeManage, Platform), Some("nodes.forget"), Write, "Nodes", "Forget a node for good; what was on it ends as failed.";
    TaskKeyRotate: Post "/api/v1/nodes/task-keys/rotate", Needs(P::NodeManage, Platform), Some("nodes.rotate_task_key"), Write, "Nodes", "Sign orders with a new key; nodes accept the old one for a while.";
    NodeTokenExchange: Post "/api/v1/auth/node/token", Public, Some("auth.node_token"), Credential, "Node agents", "Exchange a node's signed assertion for an access token.";
    NodeTrust: Get "/api/v1/node/trust", Node, None, Read, "Node agents", "The keys that sign orders, the era, and the server's time.";
    NodeInventoryPut: Put "/api/v1/node/inventory", Node, Some("nodes.inventory"), Write, "Node agents", "What the node has.", large;
    NodeReportPost: Post "/api/v1/node/reports", Node, Some("nodes.report"), Write, "Node agents", "What the node sees.", large;
    InstanceIdentityRegister: Post "/api/v1/node/instances/{app_instance_id}/identity", Node, Some("nodes.instance_identity"), Write, "Node agents", "Show the key that the node made for one launch; the former one ends.";
    NodeImageAccess: Post "/api/v1/node/image-access", Node, Some("nodes.image_access"), Write, "Node agents", "The way to an image that an order names, if the node may have it now.";

    SkuList: Get "/api/v1/skus", SignedIn, None, Read, "SKUs", "What can be allocated, with today's prices.";
    SkuCreate: Post "/api/v1/skus", Needs(P::SkuManage, Platform), Some("skus.create"), Write, "SKUs", "Offer something new.";
    SkuGet: Get "/api/v1/skus/{sku}", SignedIn, None, Read, "SKUs", "One SKU with its whole price book.";
    SkuUpdate: Patch "/api/v1/skus/{sku}", Needs(P::SkuManage, Platform), Some("skus.update"), Write, "SKUs", "Rename a SKU, change who grants it, or retire it.";
    SkuPriceAdd: Post "/api/v1/skus/{sku}/prices", Needs(P::SkuManage, Platform), Some("skus.price_added"), Write, "SKUs", "Add a price that is valid from a moment on.";

    AllocationListAll: Get "/api/v1/allocations", Needs(P::AllocationGrant, Platform), None, Read, "Allocations", "All allocations; filter by state to see requests.";
    AllocationList: Get "/api/v1/projects/{project_id}/allocations", Needs(P::AllocationRead, Project), None, Read, "Allocations", "A project's allocations.";
    AllocationRequest: Post "/api/v1/projects/{project_id}/allocations", Needs(P::AllocationRequest, Project), Some("allocations.request"), Write, "Allocations", "Ask for an allocation by SKU.";
    AllocationGet: Get "/api/v1/projects/{project_id}/allocations/{allocation_id}", Needs(P::AllocationRead, Project), None, Read, "Allocations", "One allocation with its devices.";
    AllocationGrant: Post "/api/v1/allocations/{allocation_id}/grant", Needs(P::AllocationGrant, Platform), Some("allocations.grant"), Write, "Allocations", "Grant a request.";
    AllocationDeny: Post "/api/v1/allocations/{allocation_id}/deny", Needs(P::AllocationGrant, Platform), Some("allocations.deny"), Write, "Allocations", "Turn a request down.";
    AllocationRelease: Post "/api/v1/projects/{project_id}/allocations/{allocation_id}/release", Needs(P::AllocationRequest, Project), Some("allocations.release"), Write, "Allocations", "Give an allocation back; what runs on it is ended first.";

    VolumeList: Get "/api/v1/projects/{project_id}/volumes", Needs(P::VolumeRead, Project), None, Read, "Volumes", "A project's volumes.";
    VolumeCreate: Post "/api/v1/projects/{project_id}/volumes", Needs(P::VolumeCreate, Project), Some("volumes.create"), Write, "Volumes", "Create a volume on the node of an allocation.";
    VolumeGet: Get "/api/v1/projects/{project_id}/volumes/{volume_id}", Needs(P::VolumeRead, Project), None, Read, "Volumes", "One volume with its node and what holds it.";
    VolumeDelete: Delete "/api/v1/projects/{project_id}/volumes/{volume_id}", Needs(P::VolumeDelete, Project), Some("volumes.delete"), Write, "Volumes", "Delete a volume that nothing holds, with everything in it; done once its node says so.";

    RegistryTokenGet: Get "/api/v1/registry/token", Public, Some("registry.token"), Credential, "Sign-in", "A short-lived token for the registry, as registry clients ask for it.";
    RegistryCertificate: Get "/api/v1/registry/certificate", Public, None, Free, "Platform", "The certificates that registry tokens are signed under, in PEM, for a registry of your own.";
    RegistryInfo: Get "/api/v1/projects/{project_id}/registry", Needs(P::ArtifactRead, Project), None, Read, "Registry", "How to push and pull, and the project's repositories.";
    RepositorySet: Put "/api/v1/projects/{project_id}/registry/repositories/{app_slug}", Needs(P::ArtifactManage, Project), Some("registry.repository_set"), Write, "Registry", "Make a repository, or say who may pull from it.";
    RegistryCredentialList: Get "/api/v1/projects/{project_id}/registry/credentials", Needs(P::ArtifactRead, Project), None, Read, "Registry", "Credentials issued for the project's repositories.";
    RegistryCredentialRevoke: Post "/api/v1/projects/{project_id}/registry/credentials/{credential_id}/revoke", Needs(P::ArtifactManage, Project), Some("registry.credential_revoke"), Write, "Registry", "Void a credential at once.";
    TrustKeyList: Get "/api/v1/projects/{project_id}/registry/keys", Needs(P::TrustKeyRead, Project), None, Read, "Registry", "The keys that may stand for this project's images, the platform's included.";
    TrustKeyAdd: Post "/api/v1/projects/{project_id}/registry/keys", Needs(P::TrustKeyManage, Project), Some("registry.key_add"), Write, "Registry", "Let a key stand for this project's images.";
    TrustKeyRevoke: Post "/api/v1/projects/{project_id}/registry/keys/{key_id}/revoke", Needs(P::TrustKeyManage, Project), Some("registry.key_revoke"), Write, "Registry", "Revoke a key: what it stood for is not verified any more.";
    PlatformTrustKeyList: Get "/api/v1/registry/keys", Needs(P::TrustKeyRead, Platform), None, Read, "Registry", "The platform's own keys.";
    PlatformTrustKeyAdd: Post "/api/v1/registry/keys", Needs(P::TrustKeyManage, Platform), Some("registry.key_add"), Write, "Registry", "Let a key stand for the images of every project.";
    PlatformTrustKeyRevoke: Post "/api/v1/registry/keys/{key_id}/revoke", Needs(P::TrustKeyManage, Platform), Some("registry.key_revoke"), Write, "Registry", "Revoke a key of the platform.";
    ArtifactList: Get "/api/v1/projects/{project_id}/app-artifacts", Needs(P::ArtifactRead, Project), None, Read, "Artifacts", "The project's artifacts; with visible=true also those it may pull from others.";
    ArtifactRegister: Post "/api/v1/projects/{project_id}/app-artifacts", Needs(P::ArtifactPublish, Project), Some("artifacts.register"), Write, "Artifacts", "Register an image that was pushed.";
    PublishIntentCreate: Post "/api/v1/projects/{project_id}/app-artifacts/publish-intents", Needs(P::ArtifactPublish, Project), Some("artifacts.publish_intent"), Write, "Artifacts", "The way to push to one repository, for a short while.";
    PullIntentCreate: Post "/api/v1/projects/{project_id}/app-artifacts/pull-intents", Needs(P::ArtifactRead, Project), Some("artifacts.pull_intent"), Write, "Artifacts", "The way to pull one image, for a short while.";
    ArtifactGet: Get "/api/v1/projects/{project_id}/app-artifacts/{artifact_id}", Needs(P::ArtifactRead, Project), None, Read, "Artifacts", "One artifact with its promotions and uses.";
    ArtifactVerify: Post "/api/v1/projects/{project_id}/app-artifacts/{artifact_id}/verify", Needs(P::ArtifactManage, Project), Some("artifacts.verify"), Write, "Artifacts", "Check an artifact's signatures in the live registry and keep the result.";
    ArtifactPromote: Post "/api/v1/projects/{project_id}/app-artifacts/{artifact_id}/promote", Needs(P::ArtifactPromote, Project), Some("artifacts.promote"), Write, "Artifacts", "Promote an artifact to the next channel.";
    ArtifactDeprecate: Post "/api/v1/projects/{project_id}/app-artifacts/{artifact_id}/deprecate", Needs(P::ArtifactManage, Project), Some("artifacts.deprecate"), Write, "Artifacts", "Let nothing new be made of an artifact.";
    ArtifactRetire: Post "/api/v1/projects/{project_id}/app-artifacts/{artifact_id}/retire", Needs(P::ArtifactManage, Project), Some("artifacts.retire"), Write, "Artifacts", "Put an artifact away for the auditor.";
    ArtifactRevoke: Post "/api/v1/projects/{project_id}/app-artifacts/{artifact_id}/revoke", Needs(P::ArtifactManage, Project), Some("artifacts.revoke"), Write, "Artifacts", "Withdraw trust from an artifact for good; nothing starts from it any more.";
    AppPreparingSet: Put "/api/v1/admin/apps/catalog/{app_slug}/preparing", Needs(P::AppPublish, Platform), Some("apps.preparing"), Write, "Apps", "Say how far the making of an app has come.";
    AppPreparingClear: Delete "/api/v1/admin/apps/catalog/{app_slug}/preparing", Needs(P::AppPublish, Platform), Some("apps.preparing_cleared"), Write, "Apps", "The making of an app has ended.";

    ManifestSchema: Get "/api/v1/apps/manifest-schema.json", Public, None, Free, "Platform", "The JSON Schema of manifests.";
    ManifestRegister: Post "/api/v1/admin/apps/manifests", Needs(P::AppPublish, Platform), Some("apps.register"), Write, "Apps", "Register a manifest as a draft version.", large;
    ManifestRegisterAlias: Post "/admin/apps/manifests", Needs(P::AppPublish, Platform), Some("apps.register"), Write, "Apps", "Alias of /api/v1/admin/apps/manifests.", large;
    AppPublish: Post "/api/v1/admin/apps/catalog/{app_slug}/versions/{app_version}/publish", Needs(P::AppPublish, Platform), Some("apps.publish"), Write, "Apps", "Move a version up the ladder to active.";
    AppDeprecate: Post "/api/v1/admin/apps/catalog/{app_slug}/versions/{app_version}/deprecate", Needs(P::AppPublish, Platform), Some("apps.deprecate"), Write, "Apps", "Take a version out of new launches.";
    AppMove: Post "/api/v1/admin/apps/catalog/{app_slug}/versions/{app_version}/move", Needs(P::AppPublish, Platform), Some("apps.move"), Write, "Apps", "Move a version one rung of the ladder.";
    CatalogList: Get "/api/v1/apps/catalog", SignedIn, None, Read, "Apps", "Every app of the platform.";
    CatalogVersionList: Get "/api/v1/apps/catalog/{app_slug}/versions", SignedIn, None, Read, "Apps", "The versions of an app.";
    CatalogVersionGet: Get "/api/v1/apps/catalog/{app_slug}/versions/{app_version}", SignedIn, None, Read, "Apps", "One version with its manifest.";
    ProjectCatalog: Get "/api/v1/projects/{project_id}/apps/catalog", Needs(P::ProjectRead, Project), None, Read, "Apps", "The apps this project may launch.";
    AppForm: Post "/api/v1/projects/{project_id}/apps/{app_slug}/form", Needs(P::InstanceCreate, Project), Some("apps.form"), Read, "Apps", "The launch form of an app, resolved for this project with the values so far; changes nothing.";
    TenantEntitlementList: Get "/api/v1/tenants/{tenant_id}/apps/entitlements", Needs(P::EntitlementRead, Tenant), None, Read, "Entitlements", "What a tenant may launch.";
    TenantEntitlementSet: Put "/api/v1/tenants/{tenant_id}/apps/entitlements/{app_slug}", Needs(P::EntitlementManage, Tenant), Some("apps.entitlement_set"), Write, "Entitlements", "Allow a tenant an app, or take it back.";
    EntitlementList: Get "/api/v1/projects/{project_id}/apps/entitlements", Needs(P::EntitlementRead, Project), None, Read, "Entitlements", "What a project may launch, and by whose word.";
    EntitlementSet: Put "/api/v1/projects/{project_id}/apps/entitlements/{app_slug}", Needs(P::EntitlementManage, Project), Some("apps.entitlement_set"), Write, "Entitlements", "Allow a project an app (tenant and platform admins), or narrow it (project admins).";

    PresetList: Get "/api/v1/projects/{project_id}/launch-presets", Needs(P::InstanceRead, Project), None, Read, "Presets", "A project's presets of launch forms.";
    PresetCreate: Post "/api/v1/projects/{project_id}/launch-presets", Needs(P::InstanceCreate, Project), Some("launch_presets.create"), Write, "Presets", "Keep the choices of a launch form under a name.";
    PresetUpdate: Patch "/api/v1/projects/{project_id}/launch-presets/{preset_id}", Needs(P::InstanceCreate, Project), Some("launch_presets.update"), Write, "Presets", "Change a preset, or make it the default.";
    PresetDelete: Delete "/api/v1/projects/{project_id}/launch-presets/{preset_id}", Needs(P::InstanceCreate, Project), Some("launch_presets.delete"), Write, "Presets", "Delete a preset; instances that came of it stay.";

    InstancePlan: Post "/api/v1/projects/{project_id}/app-instances/plan", Needs(P::InstanceCreate, Project), Some("instances.plan"), Write, "Instances", "What a launch would do, changing nothing.";
    InstanceCreate: Post "/api/v1/projects/{project_id}/app-instances", Needs(P::InstanceCreate, Project), Some("instances.create"), Write, "Instances", "Launch an app onto an allocation.";
    InstanceCreateAlias: Post "/apps/instances", SignedIn, Some("instances.create"), Write, "Instances", "Alias of a project's create; the project is that of the allocation.";
    InstanceStopAlias: Post "/apps/instances/{app_instance_id}/stop", SignedIn, Some("instances.stop"), Write, "Instances", "Alias of a project's stop.";
    InstanceList: Get "/api/v1/projects/{project_id}/app-instances", Needs(P::InstanceRead, Project), None, Read, "Instances", "A project's instances.";
    InstanceGet: Get "/api/v1/projects/{project_id}/app-instances/{app_instance_id}", Needs(P::InstanceRead, Project), None, Read, "Instances", "One instance with members, components, access and recent events.";
    InstanceStop: Post "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/stop", Needs(P::InstanceDelete, Project), Some("instances.stop"), Write, "Instances", "Stop an instance; it can be started again.";
    InstanceStart: Post "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/start", Needs(P::InstanceCreate, Project), Some("instances.start"), Write, "Instances", "Start a stopped or failed instance.";
    InstanceDecommission: Post "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/decommission", Needs(P::InstanceDelete, Project), Some("instances.decommission"), Write, "Instances", "End an instance for good, with a receipt.";
    InstanceForceDecommission: Post "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/force-decommission", Needs(P::InstanceForce, Project), Some("instances.force_decommission"), Write, "Instances", "End an instance whose node is gone; the receipt is not attested.";
    InstanceEvents: Get "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/events", Needs(P::InstanceRead, Project), None, Read, "Instances", "An instance's timeline, oldest first.";
    InstanceReceipt: Get "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/receipt", Needs(P::InstanceRead, Project), None, Read, "Instances", "The proof that nothing is left.";
    InstanceRendered: Get "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/rendered", Needs(P::InstanceInspect, Project), None, Read, "Instances", "What an instance's engine was given, or another would be, with secrets masked.";
    InstanceStats: Get "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/stats", Needs(P::InstanceRead, Project), None, Read, "Instances", "What an instance uses right now.";
    InstanceLogs: Get "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/logs", Needs(P::InstanceAccess, Project), None, Read, "Instances", "An instance's logs, one JSON text per line.", streaming;
    EndpointOpen: Post "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/endpoints/{endpoint}/open", Needs(P::InstanceAccess, Project), Some("apps.endpoint.opened"), Write, "Access", "An address that opens an app's endpoint in the browser, once.";
    EndpointPublicSet: Put "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/endpoints/{endpoint}/public-access", Needs(P::InstanceExpose, Project), Some("apps.endpoint.exposed"), Write, "Access", "Say who besides those with access comes in at a public endpoint.";
    EndpointTokenList: Get "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/endpoints/{endpoint}/tokens", Needs(P::InstanceAccess, Project), None, Read, "Access", "The tokens that open an endpoint.";
    EndpointTokenCreate: Post "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/endpoints/{endpoint}/tokens", Needs(P::InstanceAccess, Project), Some("apps.endpoint.token_created"), Write, "Access", "Make a token for programs that call one endpoint; shown once.";
    EndpointTokenRevoke: Delete "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/endpoints/{endpoint}/tokens/{token_id}", Needs(P::InstanceAccess, Project), Some("apps.endpoint.token_revoked"), Write, "Access", "End a token of an endpoint; open connections close within seconds.";
    EndpointResolve: Get "/api/v1/app-endpoints/{label}", SignedIn, None, Read, "Access", "Whose endpoint a host name of the gateway is.";
    IdentityKeys: Get "/api/v1/auth/identity-keys", Public, None, Free, "Sign-in", "The keys that sign what the gateway tells apps about who is there.";
    InstanceForward: Get "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/forward", Needs(P::InstanceAccess, Project), None, Read, "Instances", "A private tunnel to a declared port (WebSocket, one connection each).", streaming;

    OwnStatus: Get "/api/v1/app-instances/{app_instance_id}/status", Instance, None, Read, "Own instance", "What the instance may know about itself.";
    OwnHeartbeat: Post "/api/v1/app-instances/{app_instance_id}/heartbeat", Instance, Some("own_instance.heartbeat"), Write, "Own instance", "The app says that it lives.";
    OwnMemberEmit: Post "/api/v1/app-instances/{app_instance_id}/members", Instance, Some("own_instance.member"), Write, "Own instance", "The app tells that a member joined, left or failed.";
    OwnMetering: Post "/api/v1/app-instances/{app_instance_id}/metering", Instance, Some("own_instance.metering"), Write, "Own instance", "The app tells what was used; each record counts once.";

    PlatformAuditList: Get "/api/v1/audit", Needs(P::AuditRead, Platform), None, Read, "Audit", "All audit rows.";
    AuditVerify: Get "/api/v1/audit/verify", Needs(P::AuditVerify, Platform), None, Read, "Audit", "Check a stretch of the hash chains; names the first row that does not fit.";
    TenantAuditList: Get "/api/v1/tenants/{tenant_id}/audit", Needs(P::AuditRead, Tenant), None, Read, "Audit", "A tenant's audit rows.";
    ProjectAuditList: Get "/api/v1/projects/{project_id}/audit", Needs(P::AuditRead, Project), None, Read, "Audit", "A project's audit rows.";

    PlatformEventList: Get "/api/v1/events", Needs(P::EventRead, Platform), None, Read, "Events", "All events, oldest first.";
    PlatformEventStream: Get "/api/v1/events/stream", Needs(P::EventRead, Platform), None, Read, "Events", "All events as they happen (server-sent events; resume with Last-Event-ID).", streaming;
    PlatformEventSocket: Get "/api/v1/events/socket", Needs(P::EventRead, Platform), None, Read, "Events", "All events as they happen (WebSocket).", streaming;
    TenantEventList: Get "/api/v1/tenants/{tenant_id}/events", Needs(P::EventRead, Tenant), None, Read, "Events", "A tenant's events, oldest first.";
    TenantEventStream: Get "/api/v1/tenants/{tenant_id}/events/stream", Needs(P::EventRead, Tenant), None, Read, "Events", "A tenant's events as they happen (server-sent events).", streaming;
    TenantEventSocket: Get "/api/v1/tenants/{tenant_id}/events/socket", Needs(P::EventRead, Tenant), None, Read, "Events", "A tenant's events as they happen (WebSocket).", streaming;
    ProjectEventList: Get "/api/v1/projects/{project_id}/events", Needs(P::EventRead, Project), None, Read, "Events", "A project's events, oldest first.";
    ProjectEventStream: Get "/api/v1/projects/{project_id}/events/stream", Needs(P::EventRead, Project), None, Read, "Events", "A project's events as they happen (server-sent events).", streaming;
    ProjectEventSocket: Get "/api/v1/projects/{project_id}/events/socket", Needs(P::EventRead, Project), None, Read, "Events", "A project's events as they happen (WebSocket).", streaming;
}

impl Route {
    /// The path with its parameters filled in, in order. Ids and slugs need no escaping by construction.
    pub fn path(self, parameters: &[&dyn std::fmt::Display]) -> String {
        let mut parameters = parameters.iter();
        let filled: Vec<String> = self
            .row()
            .path
            .split('/')
            .map(|part| {
                if part.starts_with('{') {
                    parameters.next().map_or_else(String::new, ToString::to_string)
                } else {
                    part.to_owned()
                }
            })
            .collect();
        filled.join("/")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// K-01, T-14: only health, sign-in, discovery and single-use credentials are public; every mutation is
    /// audited; a permission's scope is in the path.
    #[test]
    fn every_row_is_complete() {
        let mut seen = HashSet::new();
        for route in Route::ALL {
            let row = route.row();
            assert!(seen.insert((row.method, row.path)), "{route:?} stands twice");
            assert!(!row.method.is_mutation() || row.audit.is_some(), "{route:?} changes things unaudited");
            match row.access {
                Needs(_, Tenant) => assert!(row.path.contains("{tenant_id}"), "{route:?}"),
                Needs(_, Project) => assert!(row.path.contains("{project_id}"), "{route:?}"),
                Needs(_, Platform) => {
                    assert!(!row.path.contains("{tenant_id}") && !row.path.contains("{project_id}"));
                }
                Public => {
                    assert!(
                        ["Platform", "Sign-in", "Custody", "Node agents"].contains(&row.tag),
                        "{route:?} is public"
                    );
                }
                Instance => assert!(row.path.contains("{app_instance_id}"), "{route:?}"),
                SignedIn | Person | Node => {}
            }
        }
    }

    #[test]
    fn a_path_is_filled_in_order() {
        assert_eq!(Route::TokenRevoke.path(&[&"x"]), "/api/v1/auth/tokens/x");
        assert_eq!(Route::ServiceAccountGet.path(&[&"p", &"s"]), "/api/v1/projects/p/service-accounts/s");
    }
}
