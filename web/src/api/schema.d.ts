// Generated from docs/api/openapi.json by `npm run types`; do not edit.
export interface paths {
    "/admin/apps/manifests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Alias of /api/v1/admin/apps/manifests. */
        post: operations["ManifestRegisterAlias"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This contract, to read and try in the browser. */
        get: operations["Docs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/docs/{asset}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Script and style of the contract browser. */
        get: operations["DocsAsset"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/apps/catalog/{app_slug}/preparing": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Say how far the making of an app has come. */
        put: operations["AppPreparingSet"];
        post?: never;
        /** The making of an app has ended. */
        delete: operations["AppPreparingClear"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/apps/catalog/{app_slug}/versions/{app_version}/deprecate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take a version out of new launches. */
        post: operations["AppDeprecate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/apps/catalog/{app_slug}/versions/{app_version}/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move a version one rung of the ladder. */
        post: operations["AppMove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/apps/catalog/{app_slug}/versions/{app_version}/publish": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move a version up the ladder to active. */
        post: operations["AppPublish"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/apps/manifests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Register a manifest as a draft version. */
        post: operations["ManifestRegister"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All allocations; filter by state to see requests. */
        get: operations["AllocationListAll"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}/deny": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Turn a request down. */
        post: operations["AllocationDeny"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/allocations/{allocation_id}/grant": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Grant a request. */
        post: operations["AllocationGrant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/app-endpoints/{label}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whose endpoint a host name of the gateway is. */
        get: operations["EndpointResolve"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/app-instances/{app_instance_id}/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The app says that it lives. */
        post: operations["OwnHeartbeat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/app-instances/{app_instance_id}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The app tells that a member joined, left or failed. */
        post: operations["OwnMemberEmit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/app-instances/{app_instance_id}/metering": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The app tells what was used; each record counts once. */
        post: operations["OwnMetering"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/app-instances/{app_instance_id}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the instance may know about itself. */
        get: operations["OwnStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apps/catalog": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every app of the platform. */
        get: operations["CatalogList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apps/catalog/{app_slug}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The versions of an app. */
        get: operations["CatalogVersionList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apps/catalog/{app_slug}/versions/{app_version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One version with its manifest. */
        get: operations["CatalogVersionGet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/apps/manifest-schema.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The JSON Schema of manifests. */
        get: operations["ManifestSchema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/asyncapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The events as AsyncAPI 3.0. */
        get: operations["AsyncApi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All audit rows. */
        get: operations["PlatformAuditList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check a stretch of the hash chains; names the first row that does not fit. */
        get: operations["AuditVerify"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/identity-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The keys that sign what the gateway tells apps about who is there. */
        get: operations["IdentityKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign in with e-mail and password; sets the session cookie. */
        post: operations["Login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End the current browser session. */
        post: operations["Logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/node/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Exchange a node's signed assertion for an access token. */
        post: operations["NodeTokenExchange"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Change one's own password; ends all other sessions. */
        post: operations["PasswordChange"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/service-account/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Exchange a signed assertion for an access token. */
        post: operations["ServiceAccountToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One's own personal access tokens. */
        get: operations["TokenList"];
        put?: never;
        /** Create a personal access token; shown once. */
        post: operations["TokenCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a personal access token at once. */
        delete: operations["TokenRevoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who is calling, with roles and permissions. */
        get: operations["Whoami"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/bindings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who holds which role on the platform. */
        get: operations["PlatformBindingList"];
        put?: never;
        /** Give a role on the platform. */
        post: operations["PlatformBindingCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/bindings/{binding_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Take a platform role away. */
        delete: operations["PlatformBindingDelete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/custody/unwrap": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Open a wrapped value: once, before it expires. */
        post: operations["Unwrap"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All events, oldest first. */
        get: operations["PlatformEventList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/socket": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All events as they happen (WebSocket). */
        get: operations["PlatformEventSocket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All events as they happen (server-sent events; resume with Last-Event-ID). */
        get: operations["PlatformEventStream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/node/image-access": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The way to an image that an order names, if the node may have it now. */
        post: operations["NodeImageAccess"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/node/instances/{app_instance_id}/identity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Show the key that the node made for one launch; the former one ends. */
        post: operations["InstanceIdentityRegister"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/node/inventory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** What the node has. */
        put: operations["NodeInventoryPut"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/node/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** What the node sees. */
        post: operations["NodeReportPost"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/node/trust": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The keys that sign orders, the era, and the server's time. */
        get: operations["NodeTrust"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The nodes, with presence, readiness and capabilities. */
        get: operations["NodeList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/join": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A machine becomes a node. The same machine may repeat it with the same token. */
        post: operations["NodeJoin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/join-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a token that lets one machine join; shown once. */
        post: operations["JoinTokenCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/task-keys/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign orders with a new key; nodes accept the old one for a while. */
        post: operations["TaskKeyRotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One node with its devices and who holds them. */
        get: operations["NodeGet"];
        put?: never;
        post?: never;
        /** Forget a node for good; what was on it ends as failed. */
        delete: operations["NodeForget"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/cordon": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Place no new work on a node. */
        post: operations["NodeCordon"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cordon a node and stop what runs on it. */
        post: operations["NodeDrain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Void a node's credentials and end its connections at once. */
        post: operations["NodeRevoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/nodes/{node_id}/uncordon": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Place work on a node again. */
        post: operations["NodeUncordon"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This contract as OpenAPI 3.1. */
        get: operations["OpenApi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/permissions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every permission key with its meaning. */
        get: operations["PermissionList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The projects you can see. */
        get: operations["ProjectListMine"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One project. */
        get: operations["ProjectGet"];
        put?: never;
        post?: never;
        /** Delete a project that has no live objects. */
        delete: operations["ProjectDelete"];
        options?: never;
        head?: never;
        /** Rename a project. */
        patch: operations["ProjectUpdate"];
        trace?: never;
    };
    "/api/v1/projects/{project_id}/allocations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A project's allocations. */
        get: operations["AllocationList"];
        put?: never;
        /** Ask for an allocation by SKU. */
        post: operations["AllocationRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/allocations/{allocation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One allocation with its devices. */
        get: operations["AllocationGet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/allocations/{allocation_id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give an allocation back; what runs on it is ended first. */
        post: operations["AllocationRelease"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The project's artifacts; with visible=true also those it may pull from others. */
        get: operations["ArtifactList"];
        put?: never;
        /** Register an image that was pushed. */
        post: operations["ArtifactRegister"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-artifacts/publish-intents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The way to push to one repository, for a short while. */
        post: operations["PublishIntentCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-artifacts/pull-intents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The way to pull one image, for a short while. */
        post: operations["PullIntentCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-artifacts/{artifact_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One artifact with its promotions and uses. */
        get: operations["ArtifactGet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-artifacts/{artifact_id}/deprecate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let nothing new be made of an artifact. */
        post: operations["ArtifactDeprecate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-artifacts/{artifact_id}/promote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Promote an artifact to the next channel. */
        post: operations["ArtifactPromote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-artifacts/{artifact_id}/retire": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Put an artifact away for the auditor. */
        post: operations["ArtifactRetire"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-artifacts/{artifact_id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Withdraw trust from an artifact for good; nothing starts from it any more. */
        post: operations["ArtifactRevoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-artifacts/{artifact_id}/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Check an artifact's signatures in the live registry and keep the result. */
        post: operations["ArtifactVerify"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A project's instances. */
        get: operations["InstanceList"];
        put?: never;
        /** Launch an app onto an allocation. */
        post: operations["InstanceCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** What a launch would do, changing nothing. */
        post: operations["InstancePlan"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One instance with members, components, access and recent events. */
        get: operations["InstanceGet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/decommission": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End an instance for good, with a receipt. */
        post: operations["InstanceDecommission"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/endpoints/{endpoint}/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** An address that opens an app's endpoint in the browser, once. */
        post: operations["EndpointOpen"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/endpoints/{endpoint}/public-access": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Say who besides those with access comes in at a public endpoint. */
        put: operations["EndpointPublicSet"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/endpoints/{endpoint}/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The tokens that open an endpoint. */
        get: operations["EndpointTokenList"];
        put?: never;
        /** Make a token for programs that call one endpoint; shown once. */
        post: operations["EndpointTokenCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/endpoints/{endpoint}/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End a token of an endpoint; open connections close within seconds. */
        delete: operations["EndpointTokenRevoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An instance's timeline, oldest first. */
        get: operations["InstanceEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/force-decommission": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End an instance whose node is gone; the receipt is not attested. */
        post: operations["InstanceForceDecommission"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/forward": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A private tunnel to a declared port (WebSocket, one connection each). */
        get: operations["InstanceForward"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An instance's logs, one JSON text per line. */
        get: operations["InstanceLogs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/receipt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The proof that nothing is left. */
        get: operations["InstanceReceipt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/rendered": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What an instance's engine was given, or another would be, with secrets masked. */
        get: operations["InstanceRendered"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a stopped or failed instance. */
        post: operations["InstanceStart"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What an instance uses right now. */
        get: operations["InstanceStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/app-instances/{app_instance_id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop an instance; it can be started again. */
        post: operations["InstanceStop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/apps/catalog": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The apps this project may launch. */
        get: operations["ProjectCatalog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/apps/entitlements": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a project may launch, and by whose word. */
        get: operations["EntitlementList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/apps/entitlements/{app_slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Allow a project an app (tenant and platform admins), or narrow it (project admins). */
        put: operations["EntitlementSet"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/apps/{app_slug}/form": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The launch form of an app, resolved for this project with the values so far; changes nothing. */
        post: operations["AppForm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A project's audit rows. */
        get: operations["ProjectAuditList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/bindings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who holds which role in a project. */
        get: operations["ProjectBindingList"];
        put?: never;
        /** Give a role in a project. */
        post: operations["ProjectBindingCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/bindings/{binding_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Take a project role away. */
        delete: operations["ProjectBindingDelete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A project's events, oldest first. */
        get: operations["ProjectEventList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/events/socket": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A project's events as they happen (WebSocket). */
        get: operations["ProjectEventSocket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A project's events as they happen (server-sent events). */
        get: operations["ProjectEventStream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/launch-presets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A project's presets of launch forms. */
        get: operations["PresetList"];
        put?: never;
        /** Keep the choices of a launch form under a name. */
        post: operations["PresetCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/launch-presets/{preset_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a preset; instances that came of it stay. */
        delete: operations["PresetDelete"];
        options?: never;
        head?: never;
        /** Change a preset, or make it the default. */
        patch: operations["PresetUpdate"];
        trace?: never;
    };
    "/api/v1/projects/{project_id}/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A project's limits. */
        get: operations["ProjectLimitList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/limits/{limit}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set a project's limit. */
        put: operations["ProjectLimitSet"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/registry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How to push and pull, and the project's repositories. */
        get: operations["RegistryInfo"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/registry/credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Credentials issued for the project's repositories. */
        get: operations["RegistryCredentialList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/registry/credentials/{credential_id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Void a credential at once. */
        post: operations["RegistryCredentialRevoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/registry/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The keys that may stand for this project's images, the platform's included. */
        get: operations["TrustKeyList"];
        put?: never;
        /** Let a key stand for this project's images. */
        post: operations["TrustKeyAdd"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/registry/keys/{key_id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revoke a key: what it stood for is not verified any more. */
        post: operations["TrustKeyRevoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/registry/repositories/{app_slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Make a repository, or say who may pull from it. */
        put: operations["RepositorySet"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resume a suspended project. */
        post: operations["ProjectResume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/service-accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A project's service accounts. */
        get: operations["ServiceAccountList"];
        put?: never;
        /** Create a service account; a private key made here is shown once. */
        post: operations["ServiceAccountCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/service-accounts/{service_account_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One service account with its keys. */
        get: operations["ServiceAccountGet"];
        put?: never;
        post?: never;
        /** Delete an account; its trail stays. */
        delete: operations["ServiceAccountDelete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/service-accounts/{service_account_id}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Disable an account at once, unexpired tokens included. */
        post: operations["ServiceAccountDisable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/service-accounts/{service_account_id}/rotate-key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give an account a new key; the old one ends after a short overlap. */
        post: operations["ServiceAccountRotateKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Suspend a project. */
        post: operations["ProjectSuspend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/volumes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A project's volumes. */
        get: operations["VolumeList"];
        put?: never;
        /** Create a volume on the node of an allocation. */
        post: operations["VolumeCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/projects/{project_id}/volumes/{volume_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One volume with its node and what holds it. */
        get: operations["VolumeGet"];
        put?: never;
        post?: never;
        /** Delete a volume that nothing holds, with everything in it; done once its node says so. */
        delete: operations["VolumeDelete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/registry/certificate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The certificates that registry tokens are signed under, in PEM, for a registry of your own. */
        get: operations["RegistryCertificate"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/registry/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The platform's own keys. */
        get: operations["PlatformTrustKeyList"];
        put?: never;
        /** Let a key stand for the images of every project. */
        post: operations["PlatformTrustKeyAdd"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/registry/keys/{key_id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revoke a key of the platform. */
        post: operations["PlatformTrustKeyRevoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/registry/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A short-lived token for the registry, as registry clients ask for it. */
        get: operations["RegistryTokenGet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/roles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Built-in and custom roles. */
        get: operations["RoleList"];
        put?: never;
        /** Create a custom role. */
        post: operations["RoleCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/roles/{role_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One role. */
        get: operations["RoleGet"];
        put?: never;
        post?: never;
        /** Delete a custom role that nobody holds. */
        delete: operations["RoleDelete"];
        options?: never;
        head?: never;
        /** Change a custom role. */
        patch: operations["RoleUpdate"];
        trace?: never;
    };
    "/api/v1/skus": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What can be allocated, with today's prices. */
        get: operations["SkuList"];
        put?: never;
        /** Offer something new. */
        post: operations["SkuCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/skus/{sku}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One SKU with its whole price book. */
        get: operations["SkuGet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Rename a SKU, change who grants it, or retire it. */
        patch: operations["SkuUpdate"];
        trace?: never;
    };
    "/api/v1/skus/{sku}/prices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Add a price that is valid from a moment on. */
        post: operations["SkuPriceAdd"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The tenants you can see. */
        get: operations["TenantList"];
        put?: never;
        /** Create a tenant. */
        post: operations["TenantCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One tenant. */
        get: operations["TenantGet"];
        put?: never;
        post?: never;
        /** Delete a tenant that has no live projects. */
        delete: operations["TenantDelete"];
        options?: never;
        head?: never;
        /** Rename a tenant. */
        patch: operations["TenantUpdate"];
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/apps/entitlements": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a tenant may launch. */
        get: operations["TenantEntitlementList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/apps/entitlements/{app_slug}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Allow a tenant an app, or take it back. */
        put: operations["TenantEntitlementSet"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A tenant's audit rows. */
        get: operations["TenantAuditList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/bindings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who holds which role in a tenant. */
        get: operations["TenantBindingList"];
        put?: never;
        /** Give a role in a tenant. */
        post: operations["TenantBindingCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/bindings/{binding_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Take a tenant role away. */
        delete: operations["TenantBindingDelete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A tenant's events, oldest first. */
        get: operations["TenantEventList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/events/socket": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A tenant's events as they happen (WebSocket). */
        get: operations["TenantEventSocket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A tenant's events as they happen (server-sent events). */
        get: operations["TenantEventStream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A tenant's limits. */
        get: operations["TenantLimitList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/limits/{limit}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set a tenant's limit. */
        put: operations["TenantLimitSet"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** All projects of a tenant. */
        get: operations["ProjectList"];
        put?: never;
        /** Create a project. */
        post: operations["ProjectCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resume a suspended tenant. */
        post: operations["TenantResume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant_id}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Suspend a tenant: its people and machines are refused until it is resumed. */
        post: operations["TenantSuspend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The people of the platform. */
        get: operations["UserList"];
        put?: never;
        /** Create an account for a person. */
        post: operations["UserCreate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{user_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One person. */
        get: operations["UserGet"];
        put?: never;
        post?: never;
        /** Delete a person; personal data is erased, the trail keeps the id. */
        delete: operations["UserDelete"];
        options?: never;
        head?: never;
        /** Change a person's name or e-mail. */
        patch: operations["UserUpdate"];
        trace?: never;
    };
    "/api/v1/users/{user_id}/reset-password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a person a new password, shown once; ends all sessions. */
        post: operations["UserResetPassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{user_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Resume a suspended person. */
        post: operations["UserResume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{user_id}/suspend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Suspend a person: sessions and tokens stop working at once. */
        post: operations["UserSuspend"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Name, version and id of this platform. */
        get: operations["Version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/instances": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Alias of a project's create; the project is that of the allocation. */
        post: operations["InstanceCreateAlias"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apps/instances/{app_instance_id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Alias of a project's stop. */
        post: operations["InstanceStopAlias"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Sign in once with a one-time link; sets the session cookie and goes on to the browser's start page. */
        get: operations["LoginLink"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/auth/sa/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Alias of /api/v1/auth/service-account/token. */
        post: operations["ServiceAccountTokenAlias"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process runs. */
        get: operations["Healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics in the Prometheus text format. */
        get: operations["Metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process can serve: database reachable, schema current. */
        get: operations["Readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description How people reach it. */
        Access: {
            /**
             * @description Commands of the app to copy, with what was chosen filled in.
             * @default []
             */
            commands: components["schemas"]["AppCommand"][];
            endpoints: components["schemas"]["EndpointView"][];
            /** @description Commands and addresses, in words. */
            instructions: string[];
            /**
             * @description What the app's author says about reaching it.
             * @default []
             */
            notes: string[];
        };
        /** @description One access model (J-12): private is always there, the others come on top. */
        AccessMode: "private" | "platform_proxy" | "embedded_ui_gateway" | "public" | "internal";
        AccessToken: {
            access_token: string;
            expires_at: components["schemas"]["Timestamp"];
            /** Format: uint32 */
            expires_in: number;
            /** @description Always `Bearer`. */
            token_type: string;
        };
        AccountKey: {
            created_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["KeyId"];
            /** @description When this key stops working; absent for the current one. */
            not_after?: components["schemas"]["Timestamp"] | null;
            /** @description Raw Ed25519 public key, base64url without padding. */
            public_key: string;
        };
        /**
         * @description K-16: operator accounts are made by people, instance accounts by the platform.
         * @enum {string}
         */
        AccountKind: "operator" | "instance";
        /** @description Which accounts to list. */
        AccountQuery: {
            cursor?: string | null;
            /** @description `operator` (those that people made) unless said; `instance` for the accounts of app instances. */
            kind?: components["schemas"]["AccountKind"] | null;
            /** Format: uint32 */
            limit?: number | null;
        };
        AccountState: ("active" | "disabled") | "deleted";
        AddonEffect: {
            /** Format: int64 */
            cpu_millis: number;
            /** Format: uint32 */
            gpu_count: number;
            /** Format: int64 */
            memory_mib: number;
            /** @description The part of the allocation's price that stands for it; the allocation is charged as a whole with or without. */
            share?: components["schemas"]["PriceShare"] | null;
            /** Format: int64 */
            storage_mib: number;
        };
        /** @description What an add-on is. */
        AddonKind: "gateway" | "metrics" | "dashboards" | "logs" | "log_collection" | "alerts";
        Allocation: {
            active_at?: components["schemas"]["Timestamp"] | null;
            /** Format: int64 */
            gpu_count: number;
            id: components["schemas"]["AllocationId"];
            /** Format: int64 */
            memory_mib: number;
            name: string;
            node_id?: components["schemas"]["NodeId"] | null;
            /** @description Why it was asked for, turned down or released. */
            note?: string | null;
            project_id: components["schemas"]["ProjectId"];
            released_at?: components["schemas"]["Timestamp"] | null;
            releasing_at?: components["schemas"]["Timestamp"] | null;
            requested_at: components["schemas"]["Timestamp"];
            requested_by_id: string;
            requested_by_kind: string;
            shape: components["schemas"]["Shape"];
            sku_id: components["schemas"]["SkuId"];
            state: components["schemas"]["AllocationState"];
            tenant_id: components["schemas"]["TenantId"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            vcpu: number;
            /** Format: int64 */
            version: number;
        };
        /** @description An allocation with its exact devices. */
        AllocationDetail: {
            accelerators: string[];
            active_at?: components["schemas"]["Timestamp"] | null;
            /** @description What the node can do: `container`, `nvidia`, … */
            capabilities: string[];
            free: components["schemas"]["FreeShare"];
            /** Format: int64 */
            gpu_count: number;
            gpus: components["schemas"]["GpuDevice"][];
            id: components["schemas"]["AllocationId"];
            /** Format: int64 */
            memory_mib: number;
            name: string;
            node_id?: components["schemas"]["NodeId"] | null;
            node_name?: string | null;
            /** @description Why it was asked for, turned down or released. */
            note?: string | null;
            project_id: components["schemas"]["ProjectId"];
            released_at?: components["schemas"]["Timestamp"] | null;
            releasing_at?: components["schemas"]["Timestamp"] | null;
            requested_at: components["schemas"]["Timestamp"];
            requested_by_id: string;
            requested_by_kind: string;
            shape: components["schemas"]["Shape"];
            /** @description Whether the node or any of the devices is made up. */
            simulated: boolean;
            sku: string;
            sku_id: components["schemas"]["SkuId"];
            state: components["schemas"]["AllocationState"];
            tenant_id: components["schemas"]["TenantId"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            vcpu: number;
            /** Format: int64 */
            version: number;
        };
        /**
         * Format: uuid
         * @description Compute that a project holds.
         */
        AllocationId: string;
        AllocationQuery: {
            cursor?: string | null;
            /** Format: uint32 */
            limit?: number | null;
            state?: components["schemas"]["AllocationState"] | null;
        };
        /** @enum {string} */
        AllocationState: "requested" | "active" | "releasing" | "released";
        App: {
            created_at: components["schemas"]["Timestamp"];
            display_name: string;
            /** @description Set while a version of it is being made. */
            preparing?: components["schemas"]["Preparing"] | null;
            slug: string;
            updated_at: components["schemas"]["Timestamp"];
        };
        /** @description A command that an app offers. */
        AppCommand: {
            /** @description Word by word. */
            command: string[];
            /** @description The same as one line for a shell. */
            line: string;
            name: string;
            title: string;
        };
        /** @description One app, resolved for one project: everything to choose, what is chosen so far, and what is wrong with it. */
        AppForm: {
            access: components["schemas"]["FormAccess"][];
            /**
             * @description What may run beside the app; off unless chosen.
             * @default []
             */
            addons: components["schemas"]["FormAddon"][];
            /** @description The one given, or the best that fits. */
            allocation_id?: components["schemas"]["AllocationId"] | null;
            /** @description Fitting ones first. */
            allocations: components["schemas"]["FormAllocation"][];
            app: components["schemas"]["FormApp"];
            /** @description The same launch from a shell. */
            command: string;
            /**
             * @description Every component, running or not.
             * @default []
             */
            components: components["schemas"]["FormComponent"][];
            /**
             * @description Whose default each parameter has.
             * @default {}
             */
            default_sources: {
                [key: string]: components["schemas"]["DefaultSource"];
            };
            /** @description What is wrong so far, by JSON pointers into the request. */
            errors: components["schemas"]["FormError"][];
            /**
             * @description Components with devices of their own.
             * @default []
             */
            lanes: components["schemas"]["FormLane"][];
            /** @description Whether a launch of exactly this would be accepted now. */
            launchable: boolean;
            mounts: components["schemas"]["FormMount"][];
            /** @description What could be requested instead. */
            offers: components["schemas"]["FormOffer"][];
            /**
             * @description Whether a plan of exactly this succeeds now. It is launchable too where an engine of this platform runs it.
             * @default false
             */
            plannable: boolean;
            /** @description What these choices make, ready for plan and launch. */
            request: components["schemas"]["LaunchRequest"];
            resources: components["schemas"]["FormResources"];
            /** @description JSON Schema 2020-12 of `values`. */
            schema: {
                [key: string]: unknown;
            };
            /** @description Hints in the style of React JSON Schema Form; empty is a working form. */
            ui_schema: {
                [key: string]: unknown;
            };
            /** @description Defaults, and over them what was given. */
            values: {
                [key: string]: unknown;
            };
            variants: components["schemas"]["FormVariant"][];
            /** @description Those the project may launch, the newest first. */
            versions: components["schemas"]["FormVersion"][];
        };
        /** @description A version without its document. */
        AppVersion: {
            app_version: string;
            artifact_kind: string;
            /** @description By digest: what runs can be traced to this. */
            artifact_ref: string;
            created_at: components["schemas"]["Timestamp"];
            /** @default null */
            description: string | null;
            display_name: string;
            id: components["schemas"]["AppVersionId"];
            manifest_digest: string;
            notes?: string | null;
            publisher?: string | null;
            slug: string;
            status: components["schemas"]["VersionState"];
            support_level?: string | null;
            /**
             * @description How its page appears in the shell; absent where it has none.
             * @default null
             */
            ui: components["schemas"]["FormUi"] | null;
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        /** @description A version without its document. */
        AppVersionDetail: {
            app_version: string;
            artifact_kind: string;
            /** @description By digest: what runs can be traced to this. */
            artifact_ref: string;
            created_at: components["schemas"]["Timestamp"];
            /** @default null */
            description: string | null;
            display_name: string;
            /** @description Why new launches are refused although the version's own state would allow them. */
            findings?: components["schemas"]["Finding"][];
            id: components["schemas"]["AppVersionId"];
            /** @description The document as it was registered. */
            manifest: unknown;
            manifest_digest: string;
            notes?: string | null;
            publisher?: string | null;
            slug: string;
            status: components["schemas"]["VersionState"];
            support_level?: string | null;
            /**
             * @description How its page appears in the shell; absent where it has none.
             * @default null
             */
            ui: components["schemas"]["FormUi"] | null;
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        /**
         * Format: uuid
         * @description A registered manifest.
         */
        AppVersionId: string;
        Artifact: {
            /** @description Whether it counts as active here: verified, and promoted to this environment's channel. */
            active: boolean;
            app_slug: string;
            /** @description The furthest channel it was promoted to. */
            channel?: string | null;
            created_at: components["schemas"]["Timestamp"];
            created_by_id: string;
            created_by_kind: string;
            digest: string;
            id: components["schemas"]["ArtifactId"];
            media_type: string;
            project_id: components["schemas"]["ProjectId"];
            /** @description `host/repository@sha256:…`: what stands in a manifest. */
            reference: string;
            /** @description Canonical, without the host. */
            repository: string;
            /** Format: int64 */
            size_bytes: number;
            source: unknown;
            status: components["schemas"]["ArtifactState"];
            tag?: string | null;
            trust: components["schemas"]["ArtifactTrust"];
            updated_at: components["schemas"]["Timestamp"];
            variant?: string | null;
            /** Format: int64 */
            version: number;
            visibility: components["schemas"]["Visibility"];
        };
        ArtifactDetail: {
            /** @description Whether it counts as active here: verified, and promoted to this environment's channel. */
            active: boolean;
            app_slug: string;
            /** @description The furthest channel it was promoted to. */
            channel?: string | null;
            created_at: components["schemas"]["Timestamp"];
            created_by_id: string;
            created_by_kind: string;
            digest: string;
            id: components["schemas"]["ArtifactId"];
            media_type: string;
            project_id: components["schemas"]["ProjectId"];
            promotions: components["schemas"]["Promotion"][];
            /** @description `host/repository@sha256:…`: what stands in a manifest. */
            reference: string;
            /** @description Canonical, without the host. */
            repository: string;
            /** Format: int64 */
            size_bytes: number;
            source: unknown;
            status: components["schemas"]["ArtifactState"];
            tag?: string | null;
            trust: components["schemas"]["ArtifactTrust"];
            updated_at: components["schemas"]["Timestamp"];
            /** @description Versions of apps that name it, and where each is on its ladder. */
            used_by: components["schemas"]["ArtifactUse"][];
            variant?: string | null;
            /** Format: int64 */
            version: number;
            visibility: components["schemas"]["Visibility"];
        };
        /**
         * Format: uuid
         * @description A published image.
         */
        ArtifactId: string;
        /** @description Filters of the list. */
        ArtifactQuery: {
            /** @description Only this app's. */
            app?: string | null;
            cursor?: string | null;
            /** Format: uint32 */
            limit?: number | null;
            /** @description Also those of others that this project may pull. */
            visible?: boolean | null;
        };
        ArtifactState: "published" | "promoted" | "deprecated" | "retired";
        ArtifactTrust: {
            key_id?: components["schemas"]["TrustKeyId"] | null;
            /** @description Of the statement about how it was built, if one held too. */
            provenance_digest?: string | null;
            /** @description Why it is not verified. */
            reason?: string | null;
            /** @description The hash of the public key whose signature held. */
            signer?: string | null;
            state: components["schemas"]["TrustState"];
            /** @description Of the bytes that were signed. */
            statement_digest?: string | null;
            verified_at?: components["schemas"]["Timestamp"] | null;
        };
        ArtifactUse: {
            app_slug: string;
            app_version: string;
            status: string;
        };
        AssertionExchange: {
            /**
             * @description A JWT signed with the account's Ed25519 key: `typ` `gpuaas-assertion+jwt`, `kid` the key's id, `iss` and
             *     `sub` the account's id, `aud` the platform's id, `jti` a nonce used once, `exp` at most 300 s after `iat`.
             */
            assertion: string;
            /**
             * Format: uint32
             * @description How long the token shall live; capped by `auth.service_account_token_ttl_seconds`.
             */
            ttl_seconds?: number | null;
        };
        /** @description That an instance holds a volume. */
        Attachment: {
            held_at: components["schemas"]["Timestamp"];
            instance_id: components["schemas"]["InstanceId"];
            instance_name: string;
            /** @description The place in the profile where it stands. */
            mount: string;
            read_only: boolean;
            volume_id: components["schemas"]["VolumeId"];
        };
        AuditEntry: {
            action: string;
            actor_id: string;
            actor_kind: string;
            after?: unknown;
            at: components["schemas"]["Timestamp"];
            before?: unknown;
            correlation_id: string;
            /** @description SHA-256 over the row and the one before it, in hex. */
            hash: string;
            id: components["schemas"]["AuditId"];
            object_id: string;
            object_kind: string;
            org_id?: components["schemas"]["TenantId"] | null;
            /** @description `done` or `denied`. */
            outcome: string;
            project_id?: components["schemas"]["ProjectId"] | null;
            reason?: string | null;
            /** Format: int64 */
            sequence: number;
            /** @description The tenant; `org_id` is the same value under its other name. */
            tenant_id?: components["schemas"]["TenantId"] | null;
            trace_id: string;
        };
        /**
         * Format: uuid
         * @description One recorded decision.
         */
        AuditId: string;
        AuditQuery: {
            /** @description Only rows with exactly this action. */
            action?: string | null;
            /** @description Only rows of this actor (a user's or service account's id). */
            actor_id?: string | null;
            /** @description Only rows of one request's story. */
            correlation_id?: string | null;
            cursor?: string | null;
            /** Format: uint32 */
            limit?: number | null;
            /** @description Only rows about this object. */
            object_id?: string | null;
        };
        /** @description Why something is done; kept in the audit row. */
        Because: {
            reason?: string | null;
        };
        Binding: {
            created_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["BindingId"];
            principal: components["schemas"]["PrincipalRef"];
            role: string;
            role_id: components["schemas"]["RoleId"];
            scope: components["schemas"]["ScopeRef"];
        };
        /**
         * Format: uuid
         * @description A role given to somebody at a scope.
         */
        BindingId: string;
        BrokenLink: {
            /** @description What is wrong with it, in a sentence. */
            problem: string;
            row_id: string;
            /** Format: int64 */
            sequence: number;
        };
        /**
         * @description A state of the ladder from which may be launched.
         * @enum {string}
         */
        Channel: "canary" | "active";
        /** @description What a probe does. */
        Check: {
            /** @constant */
            kind: "http";
            /** @description Where on the port. */
            path: string;
            /**
             * Format: uint16
             * @description The container's port.
             */
            port: number;
        } | {
            /** @constant */
            kind: "tcp";
            /**
             * Format: uint16
             * @description The container's port.
             */
            port: number;
        } | {
            /** @description The program and its arguments; no shell reads them. */
            command: string[];
            /** @constant */
            kind: "exec";
        } | {
            /** @constant */
            kind: "heartbeat";
        };
        /**
         * @description The checks of a launch, in the order in which they are made (B-06). The first that fails ends it: nothing after it is
         *     looked at, and nothing is rendered or sent.
         */
        CheckName: "entitlement" | "quota" | "values" | "allocation" | "compatibility" | "capabilities" | "gpus" | "resources" | "storage" | "artifacts" | "exposure" | "secrets" | "security" | "engine";
        /** @description One container as last seen. */
        Component: {
            container_id?: string | null;
            /** Format: int64 */
            exit_code?: number | null;
            name: string;
            ready: boolean;
            /** Format: int64 */
            restarts: number;
            running: boolean;
            started_at?: components["schemas"]["Timestamp"] | null;
        };
        /** @description Decides what a component may do and what its loss means. */
        ComponentClass: "primary" | "gateway" | "sidecar" | "addon";
        ComponentReport: {
            /** @default null */
            container_id: string | null;
            /**
             * Format: int64
             * @default null
             */
            exit_code: number | null;
            name: string;
            ready: boolean;
            /** Format: uint32 */
            restarts: number;
            running: boolean;
            /**
             * Format: int64
             * @description Microseconds since 1970, by the engine.
             * @default null
             */
            started_at: number | null;
        };
        /** @description One container. */
        ComponentSpec: {
            /**
             * @description Replaces the image's command; empty keeps it.
             * @default []
             */
            command: string[];
            /** Format: uint32 */
            cpu_millis: number;
            /** @default platform */
            egress: components["schemas"]["Egress"];
            /** @default [] */
            env: components["schemas"]["EnvVar"][];
            /** @default [] */
            gpus: components["schemas"]["GpuBinding"][];
            image: components["schemas"]["ImageGrant"];
            /** @default null */
            liveness: components["schemas"]["Probe"] | null;
            /** Format: uint32 */
            memory_mib: number;
            name: string;
            /** Format: uint32 */
            pids: number;
            /** @default [] */
            ports: components["schemas"]["Port"][];
            /** @default false */
            read_only_root: boolean;
            /** @default null */
            readiness: components["schemas"]["Probe"] | null;
            /** @default [] */
            scratch: components["schemas"]["Scratch"][];
            /** @default [] */
            tmpfs: components["schemas"]["Tmpfs"][];
            /**
             * @default {
             *       "as": "image"
             *     }
             */
            user: components["schemas"]["RunAs"];
            volumes?: components["schemas"]["VolumeMount"][];
        };
        ComponentStats: {
            /**
             * Format: uint64
             * @description Thousandths of one processor, over the last second or so.
             */
            cpu_millis: number;
            /** Format: uint64 */
            memory_bytes: number;
            /** Format: uint64 */
            memory_limit_bytes: number;
            name: string;
            /** Format: uint64 */
            network_rx_bytes: number;
            /** Format: uint64 */
            network_tx_bytes: number;
            /** Format: uint64 */
            pids: number;
        };
        /**
         * @description How far the control plane of an app reaches.
         * @enum {string}
         */
        ControlPlaneScope: "project" | "tenant" | "platform";
        /** @description A token that opens one endpoint: `Authorization: Bearer …` at the endpoint's own address. */
        CreatedEndpointToken: {
            created_at: components["schemas"]["Timestamp"];
            created_by: components["schemas"]["Requester"];
            expires_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["EndpointTokenId"];
            name: string;
            secret_redacted: boolean;
            /** @description Shown once. */
            token?: string | null;
        };
        CreatedJoinToken: {
            expires_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["JoinTokenId"];
            secret_redacted: boolean;
            /** @description Where agents dial, for `gpuaas-agent join --server`. */
            server: string;
            /** @description `id.secret.pin`, for `gpuaas-agent join --token`; shown now and never again. */
            token?: string | null;
        };
        CreatedPersonalToken: {
            created_at: components["schemas"]["Timestamp"];
            expires_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["PersonalTokenId"];
            name: string;
            /** @description The token itself: shown now and never again. A repeated request gets `null` and `secret_redacted`. */
            secret?: string | null;
            secret_redacted: boolean;
        };
        CreatedUser: {
            created_at: components["schemas"]["Timestamp"];
            display_name: string;
            /** @description Empty once the person is erased. */
            email: string;
            id: components["schemas"]["UserId"];
            /** @description The password the platform made, if it made one: shown now and never again. */
            initial_password?: string | null;
            secret_redacted: boolean;
            state: components["schemas"]["Standing"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        /** @description How a credential comes: as a token that opens it once. */
        CredentialDelivery: {
            /** @description `wrapped`: open it with `POST /api/v1/custody/unwrap`; the value is `{"username", "password"}`. */
            mode: string;
            unwrap_url: string;
            wrap_expires_at: components["schemas"]["Timestamp"];
            wrap_token?: string | null;
        };
        /** @enum {string} */
        CredentialKind: "session" | "personal_token" | "service_account_token";
        /**
         * @description Who said a default.
         * @enum {string}
         */
        DefaultSource: "app" | "project" | "site";
        /** @description Where a component may connect to beyond its own instance. */
        Egress: "none" | "platform" | "internet";
        /**
         * @description What an app may say about its members (H-20).
         * @enum {string}
         */
        Emission: "member-add" | "member-remove" | "member-failed";
        /** @description A declared port of a component. */
        Endpoint: {
            component: string;
            expose: string;
            /**
             * Format: int64
             * @description On the node's own 127.0.0.1.
             */
            host_port?: number | null;
            /** @description The first part of its host name at the gateway. */
            label?: components["schemas"]["Label"] | null;
            /** @description How it is reached (J-12). */
            mode: components["schemas"]["AccessMode"];
            name: string;
            /** Format: int64 */
            port: number;
            /** @description Who comes in besides those with access, where the mode is `public`. */
            public_access: components["schemas"]["PublicAccess"];
        };
        /** @description Whether something answers there. */
        EndpointHealth: ("ready" | "starting") | "down";
        /** @description Whose endpoint a host name is. */
        EndpointPlace: {
            app_instance_id: components["schemas"]["InstanceId"];
            component: string;
            endpoint: string;
            instance_name: string;
            label: string;
            mode: components["schemas"]["AccessMode"];
            project_id: components["schemas"]["ProjectId"];
            public_access: components["schemas"]["PublicAccess"];
            /** Format: int64 */
            version: number;
        };
        /** @description A token that opens one endpoint: `Authorization: Bearer …` at the endpoint's own address. */
        EndpointToken: {
            created_at: components["schemas"]["Timestamp"];
            created_by: components["schemas"]["Requester"];
            expires_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["EndpointTokenId"];
            name: string;
        };
        /**
         * Format: uuid
         * @description A program's token for one endpoint.
         */
        EndpointTokenId: string;
        /** @description A declared port and how it is reached (J-10). */
        EndpointView: {
            component: string;
            expose: string;
            health: components["schemas"]["EndpointHealth"];
            /**
             * Format: int64
             * @description On the node's own 127.0.0.1.
             */
            host_port?: number | null;
            /** @description The first part of its host name at the gateway. */
            label?: components["schemas"]["Label"] | null;
            /** @description How it is reached (J-12). */
            mode: components["schemas"]["AccessMode"];
            name: string;
            /** @description Where the app's page opens. */
            path: string;
            /** Format: int64 */
            port: number;
            /** @description Who comes in besides those with access, where the mode is `public`. */
            public_access: components["schemas"]["PublicAccess"];
            title?: string | null;
            /** @description Its own address at the gateway; absent where it has none. */
            url?: string | null;
        };
        /** @description What holds for one app, and by whose word. */
        Entitlement: {
            /** @description Said for this project by somebody above it. */
            allowed?: components["schemas"]["Terms"] | null;
            app_slug: string;
            /** @description Whether the app may be launched at all. */
            enabled: boolean;
            /** @description Said by the project itself: only ever less. */
            narrowed?: components["schemas"]["Terms"] | null;
            /** @description Said for the whole tenant. */
            tenant?: components["schemas"]["Terms"] | null;
        };
        Entitlements: {
            items: components["schemas"]["Entitlement"][];
        };
        EnvVar: {
            name: string;
            value: string;
        };
        /** @description What every error looks like. */
        ErrorBody: {
            error: components["schemas"]["ErrorDetail"];
        };
        ErrorDetail: {
            /** @description Stable; never changes its meaning. Each has a page under `docs/errors/`. */
            code: string;
            /** @description Finds this request in logs, events and audit rows. */
            correlation_id: string;
            /**
             * @description The fields that are wrong, if it was about fields.
             * @default []
             */
            fields: components["schemas"]["FieldDetail"][];
            /** @description One sentence in English that says what to do. */
            message: string;
            /**
             * @description The values behind the message, for clients that translate it.
             * @default {}
             */
            params: {
                [key: string]: unknown;
            };
        };
        /** @description CloudEvents 1.0 with the platform's extensions. */
        Event: {
            actor_id: string;
            actor_kind: string;
            correlation_id: string;
            data: unknown;
            datacontenttype: string;
            event_id: components["schemas"]["EventId"];
            id: components["schemas"]["EventId"];
            org_id?: components["schemas"]["TenantId"] | null;
            project_id?: components["schemas"]["ProjectId"] | null;
            /**
             * Format: int64
             * @description Position in the platform's one order of events; never reused, never reordered.
             */
            sequence: number;
            source: string;
            specversion: string;
            subject: string;
            time: components["schemas"]["Timestamp"];
            trace_id: string;
            type: string;
        };
        /**
         * Format: uuid
         * @description One thing that happened, told to the outside world.
         */
        EventId: string;
        EventQuery: {
            /**
             * Format: int64
             * @description Only events after this sequence number; an alternative to `cursor`.
             */
            after?: number | null;
            cursor?: string | null;
            /** Format: uint32 */
            limit?: number | null;
        };
        /** @description What runs containers. */
        ExecutionEngine: "node_agent" | "docker_compose" | "kubernetes" | "helm" | "dstack";
        /** @description How an app appears in the web shell. */
        ExtensionKind: "embedded";
        /** @description Why a launch or an operation failed. */
        FailureReason: "image_not_found" | "image_digest_mismatch" | "image_not_allowed" | "image_untrusted" | "image_pull_failed" | "image_pull_timeout" | "registry_unreachable" | "engine_unavailable" | "disk_full" | "network_exhausted" | "port_taken" | "gpu_unavailable" | "container_create_failed" | "container_start_failed" | "container_exited" | "out_of_memory" | "readiness_timeout" | "health_lost" | "spec_refused" | "task_refused" | "secret_unavailable" | "volume_unusable" | "stop_failed" | "node_forgotten" | "deadline_exceeded" | "internal";
        FieldDetail: {
            code: string;
            message: string;
            /** @description JSON pointer into the request body, or `/name` of a query parameter. */
            path: string;
        };
        Finding: {
            code: string;
            message: string;
        };
        FollowQuery: {
            /**
             * Format: int64
             * @description Start after this sequence number; without it (and without `Last-Event-ID`) only new events come.
             */
            after?: number | null;
        };
        ForceDecommission: {
            /** @description Why nobody can ask the node. */
            reason: string;
        };
        /** @description How people may reach one port. */
        FormAccess: {
            component: string;
            endpoint: string;
            modes: components["schemas"]["FormAccessMode"][];
            /** Format: uint16 */
            port: number;
            title?: string | null;
            value: components["schemas"]["AccessMode"];
        };
        FormAccessMode: {
            allowed: boolean;
            mode: components["schemas"]["AccessMode"];
            reason?: string | null;
        };
        /** @description Something that may run beside the app, and what that takes (C-07). */
        FormAddon: {
            chosen: boolean;
            components: string[];
            description?: string | null;
            display_name: string;
            /** @description Its own; what comes with it has its own entry. */
            effect: components["schemas"]["AddonEffect"];
            /** @description Whether the chosen allocation carries the launch with it. */
            fits: boolean;
            kind: components["schemas"]["AddonKind"];
            name: string;
            /** @description What keeps the launch from it. */
            reasons: components["schemas"]["FormReason"][];
            /** @description Chosen add-ons that bring it; empty where it was chosen itself. */
            required_by: string[];
            /** @description Add-ons that come with it. */
            requires: string[];
        };
        FormAllocation: {
            fits: boolean;
            free: components["schemas"]["FormFree"];
            /** Format: int64 */
            gpu_count: number;
            gpu_model?: string | null;
            id: components["schemas"]["AllocationId"];
            /** Format: int64 */
            memory_mib: number;
            name: string;
            node_name?: string | null;
            /** @description Those that hold now. */
            prices: components["schemas"]["Price"][];
            /** @description Everything that keeps the launch from it. */
            reasons: components["schemas"]["FormReason"][];
            shape: components["schemas"]["Shape"];
            /** @description Whether the node or any of the devices is made up. */
            simulated: boolean;
            /** @description By slug. */
            sku: string;
            state: components["schemas"]["AllocationState"];
            /** Format: int64 */
            vcpu: number;
        };
        FormApp: {
            description?: string | null;
            display_name: string;
            notes?: string | null;
            publisher?: string | null;
            slug: string;
            ui?: components["schemas"]["FormUi"] | null;
            version: string;
            version_state: components["schemas"]["VersionState"];
        };
        /** @description A component, and what it would get. */
        FormComponent: {
            addon?: string | null;
            class: components["schemas"]["ComponentClass"];
            /**
             * Format: int64
             * @description Of each replica; nothing where it does not run.
             */
            cpu_millis: number;
            /** Format: uint32 */
            gpu_count: number;
            lane?: string | null;
            /** Format: int64 */
            memory_mib: number;
            name: string;
            /** Format: uint32 */
            replicas: number;
            runs: boolean;
            why_not?: string | null;
        };
        /** @description One fault of the request so far. */
        FormError: {
            code: string;
            message: string;
            path: string;
        };
        /** @description What instances leave of an allocation. */
        FormFree: {
            /** Format: int64 */
            cpu_millis: number;
            /** Format: int64 */
            gpu_count: number;
            /** Format: int64 */
            memory_mib: number;
        };
        FormGpu: {
            /** Format: int64 */
            memory_mib: number;
            model: string;
            simulated: boolean;
            /**
             * Format: uint32
             * @description Which of the allocation's it is, counted from 0.
             */
            slot: number;
            uuid: string;
        };
        /** @description A component with devices of its own (C-09). */
        FormLane: {
            component: string;
            gpu_count: components["schemas"]["ResourceField"];
            /** @description Those it would get now. */
            gpus: components["schemas"]["FormGpu"][];
            /** Format: uint32 */
            min_gpu_memory_mib?: number | null;
            /** @description What to send in `lanes`. */
            name: string;
            runs: boolean;
            tensor_parallel: components["schemas"]["ResourceField"];
        };
        /** @description A place for storage in the containers. */
        FormMount: {
            /** @description Scratch, and every volume of the project. */
            choices: components["schemas"]["MountChoice"][];
            kind: components["schemas"]["MountKind"];
            name: string;
            path: string;
            read_only: boolean;
            required: boolean;
            value: components["schemas"]["MountSource"];
        };
        /** @description A SKU that could be requested. */
        FormOffer: {
            display_name: string;
            fits: boolean;
            /** Format: int64 */
            gpu_count: number;
            gpu_model?: string | null;
            gpu_vendor?: components["schemas"]["Vendor"] | null;
            grant_policy: components["schemas"]["GrantPolicy"];
            /** Format: int64 */
            memory_mib: number;
            reasons: components["schemas"]["FormReason"][];
            shape: components["schemas"]["Shape"];
            sku_id: components["schemas"]["SkuId"];
            slug: string;
            /** Format: int64 */
            vcpu: number;
        };
        FormReason: {
            code: string;
            message: string;
        };
        FormResources: {
            cpu_millis: components["schemas"]["ResourceField"];
            gpu_count: components["schemas"]["ResourceField"];
            memory_mib: components["schemas"]["ResourceField"];
        };
        /** @description How the app appears in the shell, and where its page opens (A-15). */
        FormUi: {
            extension_kind: components["schemas"]["ExtensionKind"];
            path: string;
        };
        /** @description An image of the app (F-26). */
        FormVariant: {
            /** @description The first of `accelerators`. */
            accelerator?: components["schemas"]["Vendor"] | null;
            /** @description What it is made for; empty: it needs none. */
            accelerators: components["schemas"]["Vendor"][];
            channel?: string | null;
            chosen: boolean;
            component: string;
            digest: string;
            /** @description Whether it is made for the devices of the chosen allocation. */
            fits: boolean;
            /** @description What to send as `variant`; absent where the app has one image only. */
            name?: string | null;
            /** @description Release notes of this variant. */
            notes?: string | null;
            reasons: components["schemas"]["FormReason"][];
            reference: string;
            /** @description The hash of the public key that stands for it. */
            signer?: string | null;
            /** @description Absent where nothing is registered, or not for this project. */
            trust?: components["schemas"]["TrustState"] | null;
            /** @description Verified, and published or promoted as far as this version asks. */
            usable: boolean;
        };
        FormVersion: {
            /** @description It is taken where none is asked for. */
            recommended: boolean;
            state: components["schemas"]["VersionState"];
            version: string;
        };
        ForwardQuery: {
            /** @description The first component with such a port if absent. */
            component?: string | null;
            /**
             * Format: uint16
             * @description A declared port of the container; the first one if absent.
             */
            port?: number | null;
        };
        /** @description What instances leave of an allocation. */
        FreeShare: {
            /** Format: int64 */
            cpu_millis: number;
            /** Format: int64 */
            gpus: number;
            /** Format: int64 */
            memory_mib: number;
        };
        Gpu: {
            /** @default null */
            bus_id: string | null;
            /** @default null */
            driver_version: string | null;
            /** Format: uint32 */
            index: number;
            /** Format: uint32 */
            memory_mib: number;
            model: string;
            /** @description Declared in the agent's configuration; no such device exists. */
            simulated: boolean;
            /** @description The vendor's own id, stable over reboots. */
            uuid: string;
            vendor: components["schemas"]["Vendor"];
        };
        /** @description One device, exactly this one. */
        GpuBinding: {
            /** @description No such device exists; nothing is passed to the container but its environment says so. */
            simulated: boolean;
            /** @description The vendor's own id, stable over reboots. */
            uuid: string;
            vendor: components["schemas"]["Vendor"];
        };
        /** @description A device of a node and who has it. */
        GpuDevice: {
            /** @description The vendor's own id. */
            device_uuid: string;
            id: components["schemas"]["GpuId"];
            /** Format: int64 */
            index: number;
            /** Format: int64 */
            memory_mib: number;
            model: string;
            node_id: components["schemas"]["NodeId"];
            /** @description Seen in the newest inventory. */
            present: boolean;
            /** @description Kept from everybody until the node has swept up after a forced end. */
            quarantined: boolean;
            simulated: boolean;
            vendor: components["schemas"]["Vendor"];
        };
        /**
         * Format: uuid
         * @description A device of a node.
         */
        GpuId: string;
        GrantAllocation: {
            /** @description On this node; the platform chooses if absent. */
            node_id?: components["schemas"]["NodeId"] | null;
        };
        /** @description Who says yes to a request. */
        GrantPolicy: "auto" | "admin";
        GrantView: {
            permissions: string[];
            role: string;
            role_id: components["schemas"]["RoleId"];
            scope: components["schemas"]["ScopeRef"];
        };
        Health: {
            checks: components["schemas"]["HealthCheck"][];
            /** @description `ok`, or `unavailable` with the reason in `checks`. */
            status: string;
        };
        Health2: ("healthy" | "unhealthy") | "unknown";
        HealthCheck: {
            detail: string;
            name: string;
            ok: boolean;
        };
        /** @description Who the instance is from now on; its former key has ended. */
        IdentityGranted: {
            app_instance_id: components["schemas"]["InstanceId"];
            /** @description The `aud` of assertions. */
            audience: string;
            /** @description The `kid` of assertions. */
            key_id: components["schemas"]["KeyId"];
            service_account_id: components["schemas"]["ServiceAccountId"];
        };
        IdentityKey: {
            alg: string;
            crv: string;
            kid: string;
            kty: string;
            use: string;
            /** @description The public key, base64url. */
            x: string;
        };
        /** @description The keys that sign what apps are told about who is there, as a JSON Web Key Set. */
        IdentityKeys: {
            keys: components["schemas"]["IdentityKey"][];
        };
        /** @description A node shows the key it made for one launch. */
        IdentityRequest: {
            /** Format: int64 */
            generation: number;
            /** @description Raw Ed25519 public key, base64url without padding. The private half stays on the node. */
            public_key: string;
        };
        /** @description The way to one image, for one node, while its order stands. */
        ImageAccess: {
            expires_at: components["schemas"]["Timestamp"];
            /** @description Base address of the registry; absent, it is the platform's own, at the address the node calls anyway. */
            registry_url?: string | null;
            /** @description A bearer token for the registry: this repository, reading, what belongs to this digest, a few minutes. */
            token: string;
            trust: components["schemas"]["ImageTrust"];
        };
        /** @description A node asks for an image that an order of its own names, each time before it uses it, pulled or not. */
        ImageAccessRequest: {
            app_instance_id: components["schemas"]["InstanceId"];
            /** Format: int64 */
            generation: number;
            /** @description `registry/repository@sha256:…`, exactly as in the order. */
            reference: string;
        };
        /** @description An image this task may pull, and where its bytes come from. */
        ImageGrant: {
            /**
             * @description In canonical form. Where its registry is reached, and whether this node may have it now, the platform says when
             *     the node asks: an order may lie for a while.
             */
            reference: string;
        };
        ImageKey: {
            /** @description In PEM. */
            public_key: string;
            valid_until?: components["schemas"]["Timestamp"] | null;
        };
        /** @description What must hold before the image is started. */
        ImageTrust: {
            /** @description Whether a signature that names no repository counts, as cosign 3 makes them. */
            accept_unnamed: boolean;
            /**
             * @description Whether an image without a signature that holds is refused. A platform marked local may only warn; bytes that do
             *     not fit the digest are refused always.
             */
            enforce: boolean;
            keys: components["schemas"]["ImageKey"][];
            /** @description Every name (`host/repository`) under which it may have been signed. */
            names: string[];
        };
        Instance: {
            activated_at?: components["schemas"]["Timestamp"] | null;
            app_slug: string;
            app_version: string;
            app_version_id: components["schemas"]["AppVersionId"];
            artifact_digest: string;
            control_plane_scope: components["schemas"]["ControlPlaneScope"];
            correlation_id?: string | null;
            created_at: components["schemas"]["Timestamp"];
            current_operation?: components["schemas"]["Operation"] | null;
            decommissioned_at?: components["schemas"]["Timestamp"] | null;
            /** Format: int64 */
            desired_generation: number;
            execution_engine: string;
            /** @description What the reason means, and the engine's own words. */
            failure_message?: string | null;
            failure_reason?: components["schemas"]["FailureReason"] | null;
            health: components["schemas"]["Health2"];
            id: components["schemas"]["InstanceId"];
            name: string;
            node_id: components["schemas"]["NodeId"];
            /** Format: int64 */
            observed_generation: number;
            /** @description Decided by the platform; may differ from the hint. */
            operating_mode: components["schemas"]["OperatingMode"];
            placement_intent: components["schemas"]["PlacementIntent"];
            previous_version?: string | null;
            project_id: components["schemas"]["ProjectId"];
            requested_by: components["schemas"]["Requester"];
            revision_id: components["schemas"]["RevisionId"];
            runtime_backend: components["schemas"]["RuntimeBackend"];
            status: components["schemas"]["Status"];
            target_allocation_id: components["schemas"]["AllocationId"];
            tenant_boundary_mode: string;
            tenant_id: components["schemas"]["TenantId"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        /** @description An instance with everything around it. */
        InstanceDetail: {
            access: components["schemas"]["Access"];
            activated_at?: components["schemas"]["Timestamp"] | null;
            app_slug: string;
            app_version: string;
            app_version_id: components["schemas"]["AppVersionId"];
            artifact_digest: string;
            components: components["schemas"]["Component"][];
            control_plane_scope: components["schemas"]["ControlPlaneScope"];
            correlation_id?: string | null;
            created_at: components["schemas"]["Timestamp"];
            current_operation?: components["schemas"]["Operation"] | null;
            decommissioned_at?: components["schemas"]["Timestamp"] | null;
            /** Format: int64 */
            desired_generation: number;
            execution_engine: string;
            /** @description What the reason means, and the engine's own words. */
            failure_message?: string | null;
            failure_reason?: components["schemas"]["FailureReason"] | null;
            gpus: string[];
            health: components["schemas"]["Health2"];
            id: components["schemas"]["InstanceId"];
            /**
             * @description What it runs from.
             * @default null
             */
            image: components["schemas"]["InstanceImage"] | null;
            members: components["schemas"]["Member"][];
            /**
             * @description Places for storage that its profile declares.
             * @default []
             */
            mounts: components["schemas"]["InstanceMount"][];
            name: string;
            node_id: components["schemas"]["NodeId"];
            node_name: string;
            /** Format: int64 */
            observed_generation: number;
            /** @description Decided by the platform; may differ from the hint. */
            operating_mode: components["schemas"]["OperatingMode"];
            placement_intent: components["schemas"]["PlacementIntent"];
            previous_version?: string | null;
            project_id: components["schemas"]["ProjectId"];
            recent_events: components["schemas"]["TimelineEntry"][];
            requested_by: components["schemas"]["Requester"];
            revision_id: components["schemas"]["RevisionId"];
            runtime_backend: components["schemas"]["RuntimeBackend"];
            /** @description Whether its node or any of its devices is made up. */
            simulated: boolean;
            status: components["schemas"]["Status"];
            target_allocation_id: components["schemas"]["AllocationId"];
            tenant_boundary_mode: string;
            tenant_id: components["schemas"]["TenantId"];
            /**
             * @description How its page appears in the shell; absent where it has none.
             * @default null
             */
            ui: components["schemas"]["FormUi"] | null;
            updated_at: components["schemas"]["Timestamp"];
            /**
             * @description What was chosen at the launch, and the defaults of the rest.
             * @default {}
             */
            values: {
                [key: string]: unknown;
            };
            /** Format: int64 */
            version: number;
        };
        /**
         * Format: uuid
         * @description A running (or once running) app.
         */
        InstanceId: string;
        /** @description The image of an instance, and what is known about it today. */
        InstanceImage: {
            channel?: string | null;
            digest: string;
            /** @description By digest. */
            reference: string;
            /** @description The hash of the public key that stands for it. */
            signer?: string | null;
            /** @description Absent where it is not registered any more. */
            trust?: components["schemas"]["TrustState"] | null;
            variant?: string | null;
        };
        InstanceMount: {
            kind: components["schemas"]["MountKind"];
            name: string;
            path: string;
            read_only: boolean;
            /** @description What stands there. */
            source: components["schemas"]["MountSource"];
            /** @description Of the volume, if one stands there. */
            volume_name?: string | null;
        };
        InstanceQuery: {
            allocation?: components["schemas"]["AllocationId"] | null;
            /** @description An app's slug. */
            app?: string | null;
            cursor?: string | null;
            /** @description Decommissioned ones too. */
            ended?: boolean | null;
            /** Format: uint32 */
            limit?: number | null;
            status?: components["schemas"]["Status"] | null;
        };
        InstanceReport: {
            /** @default [] */
            components: components["schemas"]["ComponentReport"][];
            /**
             * @description The engine's own words, cut to 2 000 characters.
             * @default null
             */
            detail: string | null;
            /**
             * Format: uint64
             * @description The era of the order that it comes from: after a restore of the control plane's database the same generation may
             *     mean something else.
             */
            era: number;
            /**
             * Format: uint64
             * @description The generation this is about.
             */
            generation: number;
            /** @default unknown */
            health: components["schemas"]["Health2"];
            /**
             * Format: uuid
             * @description The instance, or the volume whose removal was ordered: of such a one there is only accepted, removing, removed.
             */
            instance_id: string;
            /**
             * Format: int64
             * @description The node's idea of server time, microseconds since 1970.
             */
            observed_at: number;
            phase: components["schemas"]["Phase"];
            /** @default null */
            pull: components["schemas"]["PullProgress"] | null;
            /** @default null */
            reason: components["schemas"]["FailureReason"] | null;
            /** @default null */
            receipt: components["schemas"]["SignedReceipt"] | null;
        };
        InstanceStats: {
            components: components["schemas"]["ComponentStats"][];
            /** @description True where the figures are invented. */
            simulated: boolean;
        };
        /** @description A machine asks to become a node. */
        JoinRequest: {
            inventory: components["schemas"]["NodeInventory"];
            /** @description How people call the node; the token may fix it. */
            name?: string | null;
            /** @description The node's own Ed25519 public key, base64url without padding. The private half never leaves the node. */
            public_key: string;
            /** @description `id.secret`: the join token without its pin, which never leaves the node. */
            token: string;
        };
        /**
         * Format: uuid
         * @description A one-time token that lets a machine join.
         */
        JoinTokenId: string;
        /** @description A machine that has become a node. */
        Joined: {
            /** @description The platform's CA certificate, to be the node's only root. */
            ca_pem: string;
            name: string;
            node_id: components["schemas"]["NodeId"];
            trust: components["schemas"]["Trust"];
        };
        /** @description How the private key of a new pair reaches the caller. */
        KeyDelivery: "inline" | "wrapped";
        /**
         * Format: uuid
         * @description One public key of a service account; the `kid` of its assertions.
         */
        KeyId: string;
        /** @description The first part of an endpoint's host name: 26 characters that nobody guesses and nothing else has (129 bits). */
        Label: string;
        /** @description What is asked for one lane; what is left out is as the profile has it. */
        LaneWish: {
            /** Format: uint32 */
            gpu_count?: number | null;
            /** @description Which of the allocation's GPUs, counted from 0. A device's own number on its node is nobody's to choose (U-12). */
            slots?: number[] | null;
            /**
             * Format: uint32
             * @description How many devices hold one model together.
             */
            tensor_parallel?: number | null;
        };
        /**
         * @description What to launch and where. What is not listed here is refused, and what the platform decides (`runtime_backend`,
         *     `control_plane_scope`, `tenant_boundary_mode`) cannot be asserted: read it back.
         */
        LaunchRequest: {
            /** @description How endpoints are to be reached, by their names; the others as the app has it. */
            access?: {
                [key: string]: components["schemas"]["AccessMode"];
            };
            /** @description Add-ons that are to run; those that they need come with them. */
            addons?: string[];
            /** @description The newest one the project may launch if absent. */
            app_version?: string | null;
            /**
             * Format: uint16
             * @description Publish the first private port on this port of the node's own 127.0.0.1.
             */
            host_port?: number | null;
            /** @description What is asked for lanes, by their names; the rest is as the app has it. */
            lanes?: {
                [key: string]: components["schemas"]["LaneWish"];
            };
            /**
             * @description What stands at the places for storage that the app declares, by their names; at the others scratch. Read by hand, so
             *     that what has no business there is refused by name.
             */
            mounts?: {
                [key: string]: components["schemas"]["MountSource"];
            };
            /** @description Made from the app if absent. */
            name?: string | null;
            /** @description A hint: the platform decides. */
            operating_mode?: components["schemas"]["OperatingMode"] | null;
            placement_intent?: components["schemas"]["PlacementIntent"] | null;
            /** @description From a plan: refuse if the world has moved since. */
            plan_digest?: string | null;
            resources?: components["schemas"]["ResourceWish"] | null;
            /** @description The app. */
            slug?: string | null;
            /** @description Short for a placement on this one allocation. */
            target_allocation_id?: components["schemas"]["AllocationId"] | null;
            /** @description The profile's parameters. */
            values?: {
                [key: string]: unknown;
            };
            /** @description Another image of the app than the one that fits best. */
            variant?: string | null;
        };
        LaunchableApp: {
            created_at: components["schemas"]["Timestamp"];
            /**
             * @description Of the newest of `versions`, like all that follows.
             * @default null
             */
            description: string | null;
            display_name: string;
            /**
             * @description Whether the project may launch it; what it may not is not listed here.
             * @default false
             */
            entitled: boolean;
            /** @description Set while a version of it is being made. */
            preparing?: components["schemas"]["Preparing"] | null;
            /** @default null */
            publisher: string | null;
            slug: string;
            /** @default null */
            support_level: string | null;
            /** @default null */
            ui: components["schemas"]["FormUi"] | null;
            updated_at: components["schemas"]["Timestamp"];
            /** @description The newest first; empty while there is none to launch. */
            versions: components["schemas"]["AppVersion"][];
        };
        LimitSet: {
            /** Format: int64 */
            value: number;
        };
        LimitView: {
            about: string;
            /** @description Whether this is the platform's default, not a number set here. */
            is_default: boolean;
            name: string;
            /** Format: int64 */
            value: number;
        };
        /** @description A page of a list. */
        ListOfAllocation: {
            items: components["schemas"]["Allocation"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfApp: {
            items: components["schemas"]["App"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfAppVersion: {
            items: components["schemas"]["AppVersion"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfArtifact: {
            items: components["schemas"]["Artifact"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfAuditEntry: {
            items: components["schemas"]["AuditEntry"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfBinding: {
            items: components["schemas"]["Binding"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfEndpointToken: {
            items: components["schemas"]["EndpointToken"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfEvent: {
            items: components["schemas"]["Event"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfInstance: {
            items: components["schemas"]["Instance"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfLimitView: {
            items: components["schemas"]["LimitView"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfNode: {
            items: components["schemas"]["Node"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfPermissionView: {
            items: components["schemas"]["PermissionView"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfPersonalToken: {
            items: components["schemas"]["PersonalToken"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfPreset: {
            items: components["schemas"]["Preset"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfProject: {
            items: components["schemas"]["Project"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfRegistryCredential: {
            items: components["schemas"]["RegistryCredential"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfRole: {
            items: components["schemas"]["Role"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfServiceAccount: {
            items: components["schemas"]["ServiceAccount"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfSkuView: {
            items: components["schemas"]["SkuView"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfTenant: {
            items: components["schemas"]["Tenant"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfTimelineEntry: {
            items: components["schemas"]["TimelineEntry"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfTrustKey: {
            items: components["schemas"]["TrustKey"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfUser: {
            items: components["schemas"]["User"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        /** @description A page of a list. */
        ListOfVolume: {
            items: components["schemas"]["Volume"][];
            /** @description Pass as `cursor` to read on; absent at the end. */
            next_cursor?: string | null;
        };
        LoginLinkQuery: {
            code: string;
        };
        LoginRequest: {
            email: string;
            /** Format: password */
            password: string;
        };
        LogsQuery: {
            component?: string | null;
            /** @description Go on with what comes. */
            follow?: boolean | null;
            since?: components["schemas"]["Timestamp"] | null;
            /**
             * Format: uint32
             * @description The last so many lines; all if absent.
             */
            tail?: number | null;
        };
        /** @description An instance's share of one allocation (H-13). */
        Member: {
            allocation_id: components["schemas"]["AllocationId"];
            id: components["schemas"]["MemberId"];
            role: components["schemas"]["MemberRole"];
            status: string;
        };
        /** @description A line for the timeline about one of the app's members. */
        MemberEmission: {
            detail?: string | null;
            event: components["schemas"]["Emission"];
            /** @description How the app calls the member. */
            member: string;
            role?: components["schemas"]["MemberRole"] | null;
        };
        /**
         * Format: uuid
         * @description An instance's share of one allocation.
         */
        MemberId: string;
        MemberIntent: {
            allocation_id: components["schemas"]["AllocationId"];
            role: components["schemas"]["MemberRole"];
        };
        /** @enum {string} */
        MemberRole: "controller" | "worker" | "head" | "node";
        MeteringBatch: {
            records: components["schemas"]["MeteringRecord"][];
        };
        /** @description So much was used in a window of time. */
        MeteringRecord: {
            /** @description Names the record within instance and meter: told twice, it counts once. Without it the window does. */
            key?: string | null;
            /** @description The one that the app's manifest declares: `session_seconds`, `tokens` or `requests`. */
            meter: string;
            /** Format: int64 */
            quantity: number;
            /** @description At most 24 hours after its start, and not in the future. */
            window_end: components["schemas"]["Timestamp"];
            window_start: components["schemas"]["Timestamp"];
        };
        /** @description All records of the batch are kept. */
        MeteringTaken: {
            /** Format: uint32 */
            accepted: number;
            /**
             * Format: uint32
             * @description So many of them had been told before; they are kept once.
             */
            known_before: number;
        };
        /** @description What stands at a place for storage. */
        MountChoice: {
            /** @description Whether it can stand there now, on the chosen allocation. */
            fits: boolean;
            /** @description Everything that keeps it from there. */
            reasons: components["schemas"]["FormReason"][];
            title: string;
        } & ({
            /** @constant */
            kind: "scratch";
        } | {
            /** @constant */
            kind: "volume";
            /** @description For reading only, where the profile would let it be written. */
            read_only?: boolean;
            volume_id: components["schemas"]["VolumeId"];
        });
        /** @description What a place for storage is for. */
        MountKind: "workspace" | "data" | "model";
        /** @description What stands at a place for storage. */
        MountSource: {
            /** @constant */
            kind: "scratch";
        } | {
            /** @constant */
            kind: "volume";
            /** @description For reading only, where the profile would let it be written. */
            read_only?: boolean;
            volume_id: components["schemas"]["VolumeId"];
        };
        MoveVersion: {
            reason?: string | null;
            to: components["schemas"]["VersionState"];
        };
        NewAllocation: {
            /** @description Made from the SKU if absent. */
            name?: string | null;
            /** @description Why it is needed, for whoever grants it. */
            note?: string | null;
            /** @description By slug. */
            sku: string;
        };
        /** @description Registers an image that was pushed. */
        NewArtifact: {
            /** @description `sha256:` and 64 hexadecimal digits. */
            digest: string;
            /** @description Of the manifest. Taken from the registry if left out; refused if the registry says otherwise. */
            media_type?: string | null;
            /** @description As the intent named it; with or without the host. */
            repository: string;
            /**
             * @description Where it comes from: repository, commit, pipeline. Names, never secrets.
             * @default {}
             */
            source: {
                [key: string]: string;
            };
            tag?: string | null;
            /** @description `cpu`, `nvidia-h200`, `amd-rocm`, … */
            variant?: string | null;
        };
        /** @description Give a role to exactly one of: a person by id, a person by e-mail, a service account by id. */
        NewBinding: {
            email?: string | null;
            /** @description A role's slug (`project-admin`) or id. */
            role: string;
            service_account_id?: components["schemas"]["ServiceAccountId"] | null;
            user_id?: components["schemas"]["UserId"] | null;
        };
        NewEndpointToken: {
            name: string;
            /**
             * Format: int64
             * @description Thirty days if absent, ninety at most.
             */
            ttl_seconds?: number | null;
        };
        NewJoinToken: {
            /**
             * Format: int64
             * @description One hour unless given, one day at most.
             */
            expires_in_seconds?: number | null;
            /** @description The name the node will have; the machine chooses if absent. */
            name?: string | null;
        };
        NewPersonalToken: {
            /**
             * Format: uint32
             * @description 30 days unless given; 90 at most.
             */
            expires_in_days?: number | null;
            name: string;
        };
        NewPreset: {
            app_slug: string;
            /** @default {} */
            choices: components["schemas"]["PresetChoices"];
            /**
             * @description Its values are what the project's forms of this app begin with; another default steps back.
             * @default false
             */
            is_default: boolean;
            /** @description Unique for the app in the project. */
            name: string;
        };
        /** @description So many millionths of a currency per so many units. */
        NewPrice: {
            /** Format: int64 */
            amount_micros: number;
            /** @description ISO 4217. */
            currency: string;
            /**
             * Format: int64
             * @description 3600 with `allocation_seconds` is a price per hour.
             */
            per_units: number;
            /** @default allocation_seconds */
            unit: string;
            /** @description Now if absent; never in the past. */
            valid_from?: components["schemas"]["Timestamp"] | null;
        };
        NewProject: {
            display_name?: string | null;
            /** @description Unique on the platform, also among deleted projects; never changes. */
            slug: string;
        };
        /** @description Asks for the way to push. */
        NewPublishIntent: {
            app_slug: string;
            /** Format: int64 */
            expires_in_seconds?: number | null;
            /** @description The label that will be pushed. */
            tag?: string | null;
            /** @description Who may pull, for a repository that is not there yet. `platform` needs the right to publish apps. */
            visibility?: components["schemas"]["Visibility"] | null;
        };
        /** @description Asks for the way to pull one image. */
        NewPullIntent: {
            artifact_id: components["schemas"]["ArtifactId"];
            /** Format: int64 */
            expires_in_seconds?: number | null;
        };
        NewRole: {
            display_name?: string | null;
            /** @description Permission keys; see `GET /api/v1/permissions`. */
            permissions: string[];
            slug: string;
        };
        NewServiceAccount: {
            /** @default inline */
            key_delivery: components["schemas"]["KeyDelivery"];
            name: string;
            /** @description Bring your own raw Ed25519 public key (base64url, no padding) and the private half never leaves you. */
            public_key?: string | null;
            /** @description Roles to hold in the project, by slug or id; none beyond the creator's own permissions. */
            roles?: string[];
        };
        NewSku: {
            display_name?: string | null;
            /** Format: int64 */
            gpu_count: number;
            gpu_model?: string | null;
            gpu_vendor?: components["schemas"]["Vendor"] | null;
            /** @default admin */
            grant_policy: components["schemas"]["GrantPolicy"];
            /** Format: int64 */
            memory_mib: number;
            /** @description The first price, if it has one from the start. */
            price?: components["schemas"]["NewPrice"] | null;
            shape: components["schemas"]["Shape"];
            slug: string;
            /** Format: int64 */
            vcpu: number;
        };
        NewTenant: {
            /** @description The slug unless given. */
            display_name?: string | null;
            /** @description Unique on the platform, also among deleted tenants; never changes. */
            slug: string;
        };
        NewTrustKey: {
            name: string;
            /** @description In PEM: P-256 or Ed25519, as `cosign generate-key-pair` writes `cosign.pub`. */
            public_key: string;
            valid_until?: components["schemas"]["Timestamp"] | null;
        };
        NewUser: {
            /** @default null */
            display_name: string | null;
            email: string;
            /**
             * Format: password
             * @description At least 12 characters. Without one the platform makes one and shows it once.
             */
            password?: string | null;
        };
        NewVolume: {
            /**
             * @description An active allocation of the project: the volume will lie on its node, and can be mounted there only. The volume outlives
             *     the allocation.
             */
            allocation_id: components["schemas"]["AllocationId"];
            name: string;
            /**
             * Format: int64
             * @description What it is meant to hold. A word to people and to apps that ask for a least size; nothing enforces it.
             */
            size_mib?: number | null;
        };
        Node: {
            /** @description Since when the agent is connected; `null` while it is away. At most two seconds old. */
            agent_connected_at?: components["schemas"]["Timestamp"] | null;
            agent_version: string;
            capabilities: string[];
            cordoned: boolean;
            created_at: components["schemas"]["Timestamp"];
            draining: boolean;
            id: components["schemas"]["NodeId"];
            inventory: components["schemas"]["NodeInventory"];
            inventory_at: components["schemas"]["Timestamp"];
            last_seen_at?: components["schemas"]["Timestamp"] | null;
            name: string;
            /** @description Whether new work may be placed here. */
            ready: boolean;
            /** @description Why not, if not. */
            reasons: components["schemas"]["Reason"][];
            /** @description Whether the runtime or any device is made up. */
            simulated: boolean;
            standing: components["schemas"]["NodeStanding"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        NodeDetail: {
            /** @description Since when the agent is connected; `null` while it is away. At most two seconds old. */
            agent_connected_at?: components["schemas"]["Timestamp"] | null;
            agent_version: string;
            /** @description Allocations on this node. */
            allocations: components["schemas"]["AllocationId"][];
            capabilities: string[];
            cordoned: boolean;
            created_at: components["schemas"]["Timestamp"];
            draining: boolean;
            gpus: components["schemas"]["GpuDevice"][];
            id: components["schemas"]["NodeId"];
            /** @description Instances on this node that are not decommissioned. */
            instances: components["schemas"]["InstanceId"][];
            inventory: components["schemas"]["NodeInventory"];
            inventory_at: components["schemas"]["Timestamp"];
            last_seen_at?: components["schemas"]["Timestamp"] | null;
            name: string;
            /** @description Whether new work may be placed here. */
            ready: boolean;
            /** @description Why not, if not. */
            reasons: components["schemas"]["Reason"][];
            /** @description Whether the runtime or any device is made up. */
            simulated: boolean;
            standing: components["schemas"]["NodeStanding"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
            /**
             * @description Lost if the node is revoked or forgotten.
             * @default []
             */
            volumes: components["schemas"]["VolumeId"][];
        };
        /**
         * Format: uuid
         * @description A machine that runs workloads.
         */
        NodeId: string;
        NodeInventory: {
            agent_version: string;
            /** @description As images name it: `amd64`, `arm64`. */
            architecture: string;
            /** Format: uint32 */
            cpus: number;
            /** Format: uint64 */
            disk_free_mib: number;
            /** Format: uint64 */
            disk_total_mib: number;
            gpus: components["schemas"]["Gpu"][];
            hostname: string;
            kernel: string;
            /** Format: uint32 */
            memory_mib: number;
            os: string;
            /**
             * @description What keeps the node from taking work although its engine answers, in sentences for the operator.
             * @default []
             */
            problems: string[];
            /** Format: uint16 */
            protocol: number;
            runtime: components["schemas"]["Runtime"];
            /**
             * @description What went wrong while looking, in sentences for the operator.
             * @default []
             */
            warnings: string[];
        };
        NodeReport: {
            /** @description Whether `instances` is everything the node has: what is missing is not there. */
            full: boolean;
            instances: components["schemas"]["InstanceReport"][];
            /**
             * Format: uuid
             * @description This run of the agent.
             */
            run_id: string;
        };
        /** @description Whether the platform still knows and trusts a node. */
        NodeStanding: "active" | "revoked" | "forgotten";
        NodeToken: {
            access_token: string;
            /** Format: uint32 */
            expires_in: number;
            token_type: string;
        };
        /** @description A node asks for a token. */
        NodeTokenRequest: {
            assertion: string;
        };
        /** @description Where to go on inside the app. */
        OpenRequest: {
            /** @description A path of the app with its query, as in `/lab?reset`. The app's own start page if absent. */
            next?: string | null;
        };
        /** @description An address that opens the app once. */
        OpenedEndpoint: {
            expires_at: components["schemas"]["Timestamp"];
            secret_redacted: boolean;
            /** @description Go there at once, in a frame of the platform's pages or in a tab; it is good for one use. */
            url?: string | null;
        };
        /**
         * @description Who operates an app: its tenant, or the platform for all.
         * @enum {string}
         */
        OperatingMode: "tenant_dedicated" | "platform_managed";
        /**
         * @description Why it is doing it (H-32).
         * @enum {string}
         */
        Operation: "deploy" | "upgrade" | "rollback" | "start" | "stop" | "decommission";
        /** @description What an instance may know about itself. */
        OwnStatus: {
            app_instance_id: components["schemas"]["InstanceId"];
            app_slug: string;
            app_version: string;
            /** Format: int64 */
            generation: number;
            health: components["schemas"]["Health2"];
            /** @description When it last sent a heartbeat to the platform itself; those to its node are not counted here. */
            last_heartbeat_at?: components["schemas"]["Timestamp"] | null;
            name: string;
            project_id: components["schemas"]["ProjectId"];
            /** @description Always `app`. */
            role: string;
            service_account_id: components["schemas"]["ServiceAccountId"];
            status: components["schemas"]["Status"];
        };
        /** @description The query of every plain list. */
        PageQuery: {
            /** @description `next_cursor` of the page before. */
            cursor?: string | null;
            /**
             * Format: uint32
             * @description At most this many items.
             */
            limit?: number | null;
        };
        PasswordChange: {
            /** Format: password */
            current_password: string;
            /**
             * Format: password
             * @description At least 12 characters.
             */
            new_password: string;
        };
        PermissionView: {
            about: string;
            key: string;
            /** @description Service accounts are refused it whatever their roles say. */
            needs_human: boolean;
        };
        PersonalToken: {
            created_at: components["schemas"]["Timestamp"];
            expires_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["PersonalTokenId"];
            name: string;
        };
        /**
         * Format: uuid
         * @description A person's access token for command line and scripts.
         */
        PersonalTokenId: string;
        Phase: ("pulling" | "running" | "stopping" | "removing") | "accepted" | "creating" | "starting" | "stopped" | "failed" | "removed";
        PlacementIntent: {
            allocation_id?: components["schemas"]["AllocationId"] | null;
            members?: components["schemas"]["MemberIntent"][] | null;
        };
        /** @description What a launch will do. */
        Plan: {
            /**
             * @description Add-ons that are on.
             * @default []
             */
            addons: components["schemas"]["PlannedAddon"][];
            allocation_id: components["schemas"]["AllocationId"];
            app_slug: string;
            app_version: string;
            app_version_id: components["schemas"]["AppVersionId"];
            artifact: components["schemas"]["PlannedArtifact"];
            artifact_digest: string;
            /**
             * @description The checks that were made, in their order.
             * @default []
             */
            checks: components["schemas"]["PlanCheck"][];
            /**
             * @description What runs, in the manifest's order.
             * @default []
             */
            components: components["schemas"]["PlannedComponent"][];
            control_plane_scope: components["schemas"]["ControlPlaneScope"];
            /** Format: int64 */
            cpu_millis: number;
            endpoints: components["schemas"]["Endpoint"][];
            /**
             * @description How each engine of the profile would take it.
             * @default []
             */
            engines: components["schemas"]["PlannedEngine"][];
            execution_engine: string;
            gpu_ids: components["schemas"]["GpuId"][];
            gpus: string[];
            /**
             * Format: int64
             * @description What is held of the allocation: more than the container gets where the app wants the node to itself.
             */
            held_cpu_millis: number;
            /** Format: int64 */
            held_memory_mib: number;
            /** Format: uint16 */
            host_port?: number | null;
            /** Format: int64 */
            memory_mib: number;
            /**
             * @description What stands at each place for storage.
             * @default []
             */
            mounts: components["schemas"]["PlannedMount"][];
            node_id: components["schemas"]["NodeId"];
            node_name: string;
            operating_mode: components["schemas"]["OperatingMode"];
            /** @description The allocation's prices; a launch adds nothing to them. */
            prices: components["schemas"]["Price"][];
            quote: components["schemas"]["Quote"];
            /** @description What a node is told; absent where another engine runs it. */
            rendered?: components["schemas"]["WorkloadSpec"] | null;
            rendered_digest: string;
            runtime_backend: components["schemas"]["RuntimeBackend"];
            /** @description Whether the node or any bound device is made up. */
            simulated: boolean;
            tenant_boundary_mode: string;
            /** @description What was chosen, and the defaults of the rest. */
            values: {
                [key: string]: unknown;
            };
        };
        /** @description One check, and what was found. */
        PlanCheck: {
            /** @description What was looked at, by name. */
            evidence: {
                [key: string]: unknown;
            };
            message: string;
            name: components["schemas"]["CheckName"];
            /** @description Of a plan only `engine` can have failed: everything else would have refused it. */
            passed: boolean;
        };
        /** @description What a launch would do. */
        PlanView: {
            plan: components["schemas"]["Plan"];
            plan_digest: string;
        };
        /** @description An add-on that is on. */
        PlannedAddon: {
            /** @description The chosen add-ons that bring it; empty where it was chosen itself. */
            brought_by: string[];
            components: string[];
            name: string;
            /** Format: uint32 */
            storage_mib?: number | null;
        };
        /** @description The artifact a launch runs from. */
        PlannedArtifact: {
            artifact_id: components["schemas"]["ArtifactId"];
            channel?: string | null;
            reference: string;
            /** @description The hash of the public key that stands for it. */
            signer?: string | null;
            trust: components["schemas"]["TrustState"];
            variant?: string | null;
        };
        /** @description A component as it will run. */
        PlannedComponent: {
            /** @description The add-on that brings it. */
            addon?: string | null;
            artifact: components["schemas"]["PlannedArtifact"];
            class: components["schemas"]["ComponentClass"];
            /**
             * Format: int64
             * @description Of each replica.
             */
            cpu_millis: number;
            /** @description Components that are ready before it starts. */
            depends_on: string[];
            gpu_ids: components["schemas"]["GpuId"][];
            gpus: string[];
            lane?: string | null;
            /** Format: int64 */
            memory_mib: number;
            name: string;
            /** Format: uint32 */
            replicas: number;
            /**
             * Format: uint32
             * @description How many devices hold one model together; nothing without devices.
             */
            tensor_parallel: number;
        };
        /** @description How an engine that the profile lists would take it. */
        PlannedEngine: {
            /** @description Whether this platform runs it. */
            available: boolean;
            /** @description Of what it would be given, apart from the names that an instance gets when it is made. */
            digest?: string | null;
            engine: components["schemas"]["ExecutionEngine"];
            /** @description What it takes otherwise than written, or not at all. */
            gaps: components["schemas"]["PlannedGap"][];
            /** @description Whether everything could be said in its words. */
            renders: boolean;
        };
        /** @description Something that an engine takes otherwise than written, or not at all. */
        PlannedGap: {
            code: string;
            message: string;
            /** @description A JSON pointer into what is rendered. */
            path: string;
            severity: components["schemas"]["Severity"];
        };
        /** @description A place for storage, and what a launch puts there. */
        PlannedMount: {
            kind: components["schemas"]["MountKind"];
            name: string;
            path: string;
            read_only: boolean;
            source: components["schemas"]["MountSource"];
            volume_name?: string | null;
        };
        Port: {
            /** Format: uint16 */
            container: number;
            /**
             * Format: uint16
             * @description Published on the node's 127.0.0.1, nowhere else.
             * @default null
             */
            host: number | null;
            name: string;
        };
        Preparing: {
            failure?: string | null;
            /** Format: uint8 */
            percent: number;
            stage: string;
            updated_at: components["schemas"]["Timestamp"];
        };
        /** @description A preset of one app in one project. */
        Preset: {
            app_slug: string;
            choices: components["schemas"]["PresetChoices"];
            created_at: components["schemas"]["Timestamp"];
            created_by_id: string;
            created_by_kind: string;
            id: components["schemas"]["PresetId"];
            /** @description Its values are what the project's forms of this app begin with. */
            is_default: boolean;
            name: string;
            project_id: components["schemas"]["ProjectId"];
            tenant_id: components["schemas"]["TenantId"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        /** @description What somebody keeps of a form. It is judged when it is used: the app may have another version by then. */
        PresetChoices: {
            access?: {
                [key: string]: components["schemas"]["AccessMode"];
            };
            addons?: string[];
            lanes?: {
                [key: string]: components["schemas"]["LaneWish"];
            };
            mounts?: {
                [key: string]: components["schemas"]["MountSource"];
            };
            resources?: components["schemas"]["ResourceWish"];
            values?: {
                [key: string]: unknown;
            };
            variant?: string | null;
        };
        /**
         * Format: uuid
         * @description Choices of a launch form under a name.
         */
        PresetId: string;
        PresetQuery: {
            /** @description Of one app only. */
            app?: string | null;
            cursor?: string | null;
            /** Format: uint32 */
            limit?: number | null;
        };
        /** @description What is left out stays. */
        PresetUpdate: {
            choices?: components["schemas"]["PresetChoices"] | null;
            is_default?: boolean | null;
            name?: string | null;
        };
        /** @description A price: so many millionths of a currency per so many units. Never changed; a newer one takes over from its time on. */
        Price: {
            /** Format: int64 */
            amount_micros: number;
            /** @description ISO 4217, such as `EUR`. */
            currency: string;
            id: components["schemas"]["PriceId"];
            /** Format: int64 */
            per_units: number;
            sku_id: components["schemas"]["SkuId"];
            /** @description What is counted: `allocation_seconds`. */
            unit: string;
            valid_from: components["schemas"]["Timestamp"];
        };
        /**
         * Format: uuid
         * @description One immutable price of a SKU.
         */
        PriceId: string;
        /** @description So much in an hour. */
        PriceShare: {
            /** Format: int64 */
            amount_micros: number;
            currency: string;
        };
        /** @enum {string} */
        PrincipalKind: "user" | "service_account";
        PrincipalRef: {
            /** Format: uuid */
            id: string;
            kind: components["schemas"]["PrincipalKind"];
        };
        Probe: {
            check: components["schemas"]["Check"];
            /**
             * Format: uint32
             * @description So many failures in a row mean unhealthy.
             */
            failures: number;
            /** Format: uint32 */
            interval_ms: number;
            /** Format: uint32 */
            timeout_ms: number;
        };
        Project: {
            created_at: components["schemas"]["Timestamp"];
            display_name: string;
            id: components["schemas"]["ProjectId"];
            slug: string;
            state: components["schemas"]["Standing"];
            tenant_id: components["schemas"]["TenantId"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        /** @description The apps a project may launch, with the versions it may launch. */
        ProjectCatalog: {
            items: components["schemas"]["LaunchableApp"][];
        };
        /**
         * Format: uuid
         * @description Where things run and are charged; belongs to one tenant.
         */
        ProjectId: string;
        Promote: {
            channel: string;
            reason?: string | null;
        };
        Promotion: {
            actor_id: string;
            actor_kind: string;
            channel: string;
            promoted_at: components["schemas"]["Timestamp"];
        };
        /** @description Who comes in at a public endpoint without being one of us (J-04). */
        PublicAccess: "off" | "api_key" | "open";
        PublicAccessChange: {
            public_access: components["schemas"]["PublicAccess"];
        };
        PublishIntent: {
            actions: string[];
            credential: components["schemas"]["CredentialDelivery"];
            /** @description What registration will ask for. */
            digest_requirement: string;
            expires_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["RegistryCredentialId"];
            /** @description `host/repository`. */
            name: string;
            /** @description Base address of the distribution protocol. */
            registry_url: string;
            /** @description Canonical, without the host. */
            repository: string;
            /**
             * @description Set in a repeated answer: the wrap is shown once.
             * @default false
             */
            secret_redacted: boolean;
            service: string;
            /** @description The label to push under, if any. */
            tag_hint?: string | null;
            token_url: string;
        };
        PullIntent: {
            actions: string[];
            artifact_id: components["schemas"]["ArtifactId"];
            credential: components["schemas"]["CredentialDelivery"];
            digest: string;
            expires_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["RegistryCredentialId"];
            media_type: string;
            /** @description `host/repository@sha256:…`. */
            reference: string;
            registry_url: string;
            repository: string;
            /** @default false */
            secret_redacted: boolean;
            service: string;
            /** Format: int64 */
            size_bytes: number;
            tag?: string | null;
            token_url: string;
        };
        PullProgress: {
            /** Format: uint64 */
            done_bytes: number;
            /**
             * Format: uint64
             * @description Known once the image's own description is read.
             * @default null
             */
            total_bytes: number | null;
        };
        /**
         * @description What the launch stands for in money. The allocation is charged as a whole, whatever runs on it: a line says how much of
         *     it a component takes.
         */
        Quote: {
            /** Format: int64 */
            allocation_micros_per_hour?: number | null;
            /** @description Absent where the allocation has no price. */
            currency?: string | null;
            lines: components["schemas"]["QuoteLine"][];
            note: string;
        };
        QuoteLine: {
            addon?: string | null;
            component: string;
            /** Format: int64 */
            cpu_millis: number;
            /**
             * Format: uint32
             * @description Of all its replicas.
             */
            gpu_count: number;
            /** Format: int64 */
            memory_mib: number;
            /**
             * Format: int64
             * @description The part of the allocation's price that stands for it: the largest of its parts of GPUs, processors and memory.
             */
            share_micros_per_hour?: number | null;
        };
        Reason: {
            code: string;
            message: string;
        };
        /** @description A receipt, with what it takes to check it. */
        ReceiptView: {
            /** @description Whether the node itself looked and signed. */
            attested: boolean;
            created_at: components["schemas"]["Timestamp"];
            instance_id: components["schemas"]["InstanceId"];
            node_id: components["schemas"]["NodeId"];
            /** @description The node's Ed25519 key, base64url. `signature` is over `gpuaas-receipt-v1`, a zero byte, and `payload`. */
            node_public_key?: string | null;
            /** @description The exact text that was signed (JSON). */
            payload: string;
            /** @description Why it was ended without the node. */
            reason?: string | null;
            /** @description Ed25519 by the node's key, base64url; absent where nobody looked. */
            signature?: string | null;
        };
        /** @description A credential that was issued, without what it opens with. */
        RegistryCredential: {
            actor_id: string;
            actor_kind: string;
            created_at: components["schemas"]["Timestamp"];
            digest?: string | null;
            expires_at: components["schemas"]["Timestamp"];
            first_used_at?: components["schemas"]["Timestamp"] | null;
            id: components["schemas"]["RegistryCredentialId"];
            /** @description `publish` or `pull`. */
            purpose: string;
            repository: string;
            revoked_at?: components["schemas"]["Timestamp"] | null;
            /** Format: int64 */
            version: number;
        };
        /**
         * Format: uuid
         * @description What opens one repository for a short while.
         */
        RegistryCredentialId: string;
        /** @description What a project needs to know to push and pull with any client. */
        RegistryInfo: {
            /** @description In the order of promotion. */
            channels: string[];
            /** @description The channel that counts here: what is not promoted to it is not active. */
            environment: string;
            /** @description As it stands in references: `docker login <host>`. */
            host: string;
            /** @description Where this project's own repositories lie: `<root>/<project>`. */
            namespace: string;
            /**
             * Format: int64
             * @description Bytes that this project's images may take, and take now.
             */
            quota_bytes: number;
            repositories: components["schemas"]["RepositoryView"][];
            /** @description Folder under which all repositories lie. */
            root: string;
            service: string;
            /** @description Where registry clients get their tokens. */
            token_url: string;
            trust: components["schemas"]["TrustMode"];
            /** @description Base address of the distribution protocol. */
            url: string;
            /** Format: int64 */
            used_bytes: number;
        };
        /** @description A token for the registry. Both names are there because clients look for either. */
        RegistryToken: {
            access_token: string;
            /** Format: uint32 */
            expires_in: number;
            issued_at: components["schemas"]["Timestamp"];
            token: string;
        };
        /** @description A new name for a tenant or a project. */
        Rename: {
            display_name: string;
        };
        RenderedFile: {
            bytes: string;
            media_type: string;
            name: string;
        };
        RenderedQuery: {
            /** @description The instance's own if absent. */
            engine?: components["schemas"]["ExecutionEngine"] | null;
        };
        /** @description What the engine of an instance was given, or another would be. */
        RenderedView: {
            /** @description Of the true bytes; those shown may be masked. */
            digest: string;
            engine: components["schemas"]["ExecutionEngine"];
            files: components["schemas"]["RenderedFile"][];
            /** @description What the engine takes otherwise than written. */
            gaps: components["schemas"]["PlannedGap"][];
            /** @description JSON pointers into the input to what is not shown. */
            masked: string[];
            /** Format: int64 */
            renderer_version: number;
            /**
             * Format: int64
             * @description The instance's revision that this is of.
             */
            revision: number;
            /** @description Whether this is what the instance runs from. */
            stored: boolean;
            /** @description How that is known. */
            verification: string;
            /** @description Whether the stored bytes are what they should be; true for what was rendered just now. */
            verified: boolean;
        };
        /**
         * Format: uuid
         * @description A place for the images of one app.
         */
        RepositoryId: string;
        RepositoryView: {
            app_slug: string;
            created_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["RepositoryId"];
            /** @description Canonical, without the host. */
            name: string;
            project_id: components["schemas"]["ProjectId"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
            visibility: components["schemas"]["Visibility"];
        };
        /** @description Who asked for it: `user` or `service_account`. */
        Requester: {
            id: string;
            kind: string;
        };
        ResourceField: {
            /** Format: int64 */
            default: number;
            /**
             * Format: int64
             * @description The least of what the manifest and the chosen allocation allow; open if absent.
             */
            max?: number | null;
            /** Format: int64 */
            min: number;
            /** Format: int64 */
            value: number;
        };
        /** @description The amounts that are asked for; what is left out is as the profile has it. */
        ResourceWish: {
            /**
             * Format: uint32
             * @description Thousandths of a processor.
             */
            cpu_millis?: number | null;
            /** Format: uint32 */
            gpu_count?: number | null;
            /** Format: uint32 */
            memory_mib?: number | null;
        };
        /** @description How often the agent may restart what ended by itself. */
        RestartBudget: {
            /**
             * Format: uint32
             * @description So many times within the window.
             */
            max_restarts: number;
            /**
             * Format: uint32
             * @description Seconds that are looked back.
             */
            window_seconds: number;
        };
        /**
         * Format: uuid
         * @description An instance's immutable description at one time.
         */
        RevisionId: string;
        Role: {
            /** @description Built-in roles cannot be changed. */
            builtin: boolean;
            created_at: components["schemas"]["Timestamp"];
            display_name: string;
            id: components["schemas"]["RoleId"];
            permissions: string[];
            slug: string;
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        /**
         * Format: uuid
         * @description A named set of permissions.
         */
        RoleId: string;
        RoleUpdate: {
            display_name?: string | null;
            permissions?: string[] | null;
        };
        RotateKey: {
            /** @default inline */
            key_delivery: components["schemas"]["KeyDelivery"];
            /**
             * Format: uint32
             * @description How long the old key still works: 300 unless given, 3600 at most, 0 to end it at once.
             */
            overlap_seconds?: number | null;
            public_key?: string | null;
        };
        /** @description Who the process is. Root only where the profile says so. */
        RunAs: {
            /** @constant */
            as: "image";
        } | {
            /** @constant */
            as: "user";
            /**
             * Format: uint32
             * @description The group's number.
             */
            gid: number;
            /**
             * Format: uint32
             * @description The user's number.
             */
            uid: number;
        } | {
            /** @constant */
            as: "root";
        };
        /** @description What starts containers. */
        Runtime: {
            api_version: string;
            /** @constant */
            kind: "docker";
            /** @description `--gpus` works: the engine knows the NVIDIA runtime hook or CDI. */
            nvidia: boolean;
            /** @default null */
            runc_version: string | null;
            version: string;
        } | {
            /** @constant */
            kind: "simulated";
        } | {
            /** @constant */
            kind: "unavailable";
            reason: string;
        };
        /**
         * @description What family runs it; the spelling of `runtime_backend` (D-06).
         * @enum {string}
         */
        RuntimeBackend: "k8s" | "slurm" | "ray" | "bare_metal" | "launchable_oci" | "docker_compose";
        /** @enum {string} */
        ScopeName: "platform" | "tenant" | "project";
        /** @description A place where roles hold. */
        ScopeRef: {
            kind: components["schemas"]["ScopeName"];
            project_id?: components["schemas"]["ProjectId"] | null;
            tenant_id?: components["schemas"]["TenantId"] | null;
        };
        /** @description A folder below the node's scratch root that dies with the instance. */
        Scratch: {
            /** @description What it is called. */
            name: string;
            /** @description Where it appears in the container. */
            path: string;
        };
        ServiceAccount: {
            created_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["ServiceAccountId"];
            kind: components["schemas"]["AccountKind"];
            name: string;
            project_id: components["schemas"]["ProjectId"];
            state: components["schemas"]["AccountState"];
            tenant_id: components["schemas"]["TenantId"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        ServiceAccountDetail: {
            created_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["ServiceAccountId"];
            keys: components["schemas"]["AccountKey"][];
            kind: components["schemas"]["AccountKind"];
            name: string;
            project_id: components["schemas"]["ProjectId"];
            state: components["schemas"]["AccountState"];
            tenant_id: components["schemas"]["TenantId"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        /**
         * Format: uuid
         * @description A machine caller of one project.
         */
        ServiceAccountId: string;
        /** @description An account with the key it just got. */
        ServiceAccountWithKey: {
            created_at: components["schemas"]["Timestamp"];
            id: components["schemas"]["ServiceAccountId"];
            key: components["schemas"]["AccountKey"];
            kind: components["schemas"]["AccountKind"];
            name: string;
            /**
             * @description Ed25519 private key as PKCS#8 PEM: shown now and never again. `null` if the caller brought its own key,
             *     asked for wrapped delivery, or repeats a request.
             */
            private_key_pem?: string | null;
            project_id: components["schemas"]["ProjectId"];
            secret_redacted: boolean;
            state: components["schemas"]["AccountState"];
            tenant_id: components["schemas"]["TenantId"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
            /** @description Opens once at `POST /api/v1/custody/unwrap`. */
            wrapped_private_key?: components["schemas"]["WrapView"] | null;
        };
        /** @description How far the making of an app has come. */
        SetPreparing: {
            display_name: string;
            /** @description Set when it went wrong; says why. */
            failure?: string | null;
            /**
             * Format: uint8
             * @description Of the whole, in percent.
             */
            percent: number;
            /** @description What is being done: `building the image`. */
            stage: string;
        };
        /** @description Makes a repository, or says who may pull from it. */
        SetRepository: {
            /** @description Which one, where an app has two: one of the project and one of the platform. Canonical, without the host. */
            repository?: string | null;
            visibility: components["schemas"]["Visibility"];
        };
        Severity: "refuse" | "note";
        /**
         * @description What an allocation is: a whole machine, or some of its devices.
         * @enum {string}
         */
        Shape: "baremetal" | "gpu_slice";
        /** @description A receipt as it travels and is kept: the exact bytes that were signed. */
        SignedReceipt: {
            /** @description The JSON text of a [`Receipt`]. */
            payload: string;
            /** @description Ed25519 by the node's key over the context and the payload, base64url. */
            signature: string;
        };
        SkuChange: {
            display_name?: string | null;
            grant_policy?: components["schemas"]["GrantPolicy"] | null;
            /** @description A retired SKU is not offered any more; what is allocated stays. */
            retired?: boolean | null;
        };
        /**
         * Format: uuid
         * @description Something that can be allocated, with a price.
         */
        SkuId: string;
        /** @description A SKU with its price book, oldest first, and the prices that hold now. */
        SkuView: {
            created_at: components["schemas"]["Timestamp"];
            current_price_ids: components["schemas"]["PriceId"][];
            display_name: string;
            /** Format: int64 */
            gpu_count: number;
            /** @description Only devices whose model has exactly this name; any if absent. */
            gpu_model?: string | null;
            /** @description Only devices of this vendor; any if absent. */
            gpu_vendor?: components["schemas"]["Vendor"] | null;
            grant_policy: components["schemas"]["GrantPolicy"];
            id: components["schemas"]["SkuId"];
            /** Format: int64 */
            memory_mib: number;
            prices: components["schemas"]["Price"][];
            retired: boolean;
            shape: components["schemas"]["Shape"];
            slug: string;
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            vcpu: number;
            /** Format: int64 */
            version: number;
        };
        /** @enum {string} */
        Standing: "active" | "suspended" | "deleting" | "tombstone";
        /**
         * @description What an instance is doing (H-12).
         * @enum {string}
         */
        Status: "created" | "starting" | "running" | "stopping" | "stopped" | "failed";
        /** @enum {string} */
        Stream: "audit" | "events";
        Tenant: {
            created_at: components["schemas"]["Timestamp"];
            display_name: string;
            id: components["schemas"]["TenantId"];
            slug: string;
            state: components["schemas"]["Standing"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        /**
         * Format: uuid
         * @description A customer of the operator; owns projects.
         */
        TenantId: string;
        /** @description Which versions of an app: all of those in these channels, or exactly these. */
        Terms: {
            /** @description States of the ladder a version must be in: `active`, `canary`; `active` if absent. */
            channels?: components["schemas"]["Channel"][] | null;
            enabled: boolean;
            /** @description Exactly these versions; any if absent. */
            versions?: string[] | null;
        };
        /** @description A line of an instance's timeline (H-14). */
        TimelineEntry: {
            event_type: string;
            id: components["schemas"]["TimelineId"];
            occurred_at: components["schemas"]["Timestamp"];
            payload: unknown;
        };
        /**
         * Format: uuid
         * @description A line of an instance's timeline.
         */
        TimelineId: string;
        /**
         * Format: date-time
         * @description A moment in UTC, RFC 3339, cut to microseconds.
         */
        Timestamp: string;
        /** @description A folder in memory. */
        Tmpfs: {
            /** @description Where it appears in the container. */
            path: string;
            /**
             * Format: uint32
             * @description Mebibytes that fit in.
             */
            size_mib: number;
        };
        /** @description What a registry client asks of the token server (the distribution project's token protocol). */
        TokenQuery: {
            account?: string | null;
            client_id?: string | null;
            offline_token?: string | null;
            /** @description `repository:<name>:<actions>`, several with spaces between. */
            scope?: string | null;
            service?: string | null;
        };
        /** @description What a node has to believe, fetched over its pinned connection. */
        Trust: {
            /** Format: uint64 */
            era: number;
            /**
             * Format: int64
             * @description Server time, microseconds since 1970; the agent counts on from here with its monotonic clock.
             */
            server_time: number;
            verifiers: components["schemas"]["Verifier"][];
        };
        TrustKey: {
            algorithm: string;
            created_at: components["schemas"]["Timestamp"];
            /** @description The hash of the public key, as signatures name it. */
            fingerprint: string;
            id: components["schemas"]["TrustKeyId"];
            name: string;
            /** @description Absent: the platform's. */
            project_id?: components["schemas"]["ProjectId"] | null;
            /** @description In PEM. */
            public_key: string;
            revoked_at?: components["schemas"]["Timestamp"] | null;
            revoked_reason?: string | null;
            valid_until?: components["schemas"]["Timestamp"] | null;
            /** Format: int64 */
            version: number;
        };
        /**
         * Format: uuid
         * @description A key that may stand for images.
         */
        TrustKeyId: string;
        /**
         * @description Whether an image without a good signature is refused. `Warn` is for a platform marked local, and lets neither a revoked
         *     artifact nor other bytes pass.
         * @enum {string}
         */
        TrustMode: "enforce" | "warn";
        TrustState: ("unverified" | "verified") | "revoked";
        UnwrapRequest: {
            token: string;
        };
        Unwrapped: {
            /** @description What was wrapped. Opening it again is refused and raises an alarm in the audit trail. */
            value: string;
        };
        User: {
            created_at: components["schemas"]["Timestamp"];
            display_name: string;
            /** @description Empty once the person is erased. */
            email: string;
            id: components["schemas"]["UserId"];
            state: components["schemas"]["Standing"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        /**
         * Format: uuid
         * @description A person.
         */
        UserId: string;
        UserUpdate: {
            display_name?: string | null;
            email?: string | null;
        };
        /**
         * @description Who made an accelerator.
         * @enum {string}
         */
        Vendor: "nvidia" | "amd";
        /** @description A public key that orders may be signed with. */
        Verifier: {
            /**
             * Format: int64
             * @description Server time in microseconds after which it is no longer accepted; none while it is current.
             * @default null
             */
            accepted_until: number | null;
            /** Format: uuid */
            key_id: string;
            /** @description Ed25519, base64url. */
            public_key: string;
        };
        VerifyQuery: {
            /**
             * Format: int64
             * @description First sequence number to check; 1 unless given.
             */
            from?: number | null;
            /** @description Which chain; `audit` unless given. */
            stream?: components["schemas"]["Stream"] | null;
        };
        /** @description What a check of one stretch found. Go on with `from = next_from` until it is absent. */
        VerifyReport: {
            broken?: components["schemas"]["BrokenLink"] | null;
            /** Format: int64 */
            checked: number;
            head_hash: string;
            /**
             * Format: int64
             * @description The last number of the chain and its hash: keep it elsewhere to notice a cut end.
             */
            head_sequence: number;
            /** Format: int64 */
            next_from?: number | null;
            ok: boolean;
            /**
             * Format: int64
             * @description Rows that are committed but not numbered yet.
             */
            pending: number;
            stream: components["schemas"]["Stream"];
        };
        Version: {
            api: string;
            name: string;
            /**
             * Format: uuid
             * @description The `aud` of assertions and the `iss` of tokens.
             */
            platform_id: string;
            version: string;
        };
        /** @enum {string} */
        VersionState: "draft" | "staged" | "canary" | "active" | "deprecated" | "retired";
        /** @description Who may pull from a repository. Pushing is always the owning project's. */
        Visibility: "platform" | "tenant" | "project";
        /** @description A volume as the platform knows it. */
        Volume: {
            created_at: components["schemas"]["Timestamp"];
            created_by_id: string;
            created_by_kind: string;
            deleting_at?: components["schemas"]["Timestamp"] | null;
            /** @description Since when it is deleted or lost. */
            ended_at?: components["schemas"]["Timestamp"] | null;
            id: components["schemas"]["VolumeId"];
            name: string;
            /** @description The node whose disk it lies on; only there it can be mounted. */
            node_id: components["schemas"]["NodeId"];
            /** @description What keeps it from being removed for the moment. */
            problem?: string | null;
            project_id: components["schemas"]["ProjectId"];
            /**
             * Format: int64
             * @description What it is meant to hold. A word to people and to apps that ask for a least size; nothing enforces it.
             */
            size_mib?: number | null;
            state: components["schemas"]["VolumeState"];
            tenant_id: components["schemas"]["TenantId"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        /** @description A volume with its node and what holds it. */
        VolumeDetail: {
            /** @description Instances that hold it, from their launch until their containers are gone. */
            attachments: components["schemas"]["Attachment"][];
            created_at: components["schemas"]["Timestamp"];
            created_by_id: string;
            created_by_kind: string;
            deleting_at?: components["schemas"]["Timestamp"] | null;
            /** @description Since when it is deleted or lost. */
            ended_at?: components["schemas"]["Timestamp"] | null;
            id: components["schemas"]["VolumeId"];
            name: string;
            /** @description Whether the node can be asked right now: a deletion waits for it. */
            node_connected: boolean;
            /** @description The node whose disk it lies on; only there it can be mounted. */
            node_id: components["schemas"]["NodeId"];
            node_name: string;
            /** @description What keeps it from being removed for the moment. */
            problem?: string | null;
            project_id: components["schemas"]["ProjectId"];
            /** @description The node's signed statement that nothing of it is left; absent until it is deleted, and where nobody could look. */
            receipt?: components["schemas"]["SignedReceipt"] | null;
            /**
             * Format: int64
             * @description What it is meant to hold. A word to people and to apps that ask for a least size; nothing enforces it.
             */
            size_mib?: number | null;
            state: components["schemas"]["VolumeState"];
            tenant_id: components["schemas"]["TenantId"];
            updated_at: components["schemas"]["Timestamp"];
            /** Format: int64 */
            version: number;
        };
        /**
         * Format: uuid
         * @description Storage of a project on one node.
         */
        VolumeId: string;
        /** @description A folder below the node's volumes root that outlives the instance. Which folder follows from the id alone. */
        VolumeMount: {
            /** Format: uuid */
            id: string;
            path: string;
            /** @default false */
            read_only: boolean;
        };
        VolumeQuery: {
            cursor?: string | null;
            /** Format: uint32 */
            limit?: number | null;
            /** @description Those that are not deleted if absent. */
            state?: components["schemas"]["VolumeState"] | null;
        };
        VolumeState: "ready" | "deleting" | "deleted" | "lost";
        /** @description Who is calling. */
        Whoami: {
            /** @description How the caller proved who they are. */
            credential: components["schemas"]["CredentialKind"];
            display_name: string;
            expires_at?: components["schemas"]["Timestamp"] | null;
            grants: components["schemas"]["GrantView"][];
            id: string;
            kind: components["schemas"]["PrincipalKind"];
            /** @description E-mail of a person, name of a service account. */
            name: string;
            project_id?: components["schemas"]["ProjectId"] | null;
            /** @description Of a service account: the one tenant and project it belongs to. */
            tenant_id?: components["schemas"]["TenantId"] | null;
        };
        /** @description Everything of one instance that runs on this node. */
        WorkloadSpec: {
            components: components["schemas"]["ComponentSpec"][];
            /**
             * Format: uint32
             * @description From the start of the first container until every readiness probe has passed.
             */
            readiness_deadline_seconds: number;
            restart: components["schemas"]["RestartBudget"];
            /**
             * Format: uint32
             * @description From SIGTERM until SIGKILL.
             */
            stop_grace_seconds: number;
        };
        WrapView: {
            expires_at: components["schemas"]["Timestamp"];
            token: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Access = components['schemas']['Access'];
export type AccessMode = components['schemas']['AccessMode'];
export type AccessToken = components['schemas']['AccessToken'];
export type AccountKey = components['schemas']['AccountKey'];
export type AccountKind = components['schemas']['AccountKind'];
export type AccountQuery = components['schemas']['AccountQuery'];
export type AccountState = components['schemas']['AccountState'];
export type AddonEffect = components['schemas']['AddonEffect'];
export type AddonKind = components['schemas']['AddonKind'];
export type Allocation = components['schemas']['Allocation'];
export type AllocationDetail = components['schemas']['AllocationDetail'];
export type AllocationId = components['schemas']['AllocationId'];
export type AllocationQuery = components['schemas']['AllocationQuery'];
export type AllocationState = components['schemas']['AllocationState'];
export type App = components['schemas']['App'];
export type AppCommand = components['schemas']['AppCommand'];
export type AppForm = components['schemas']['AppForm'];
export type AppVersion = components['schemas']['AppVersion'];
export type AppVersionDetail = components['schemas']['AppVersionDetail'];
export type AppVersionId = components['schemas']['AppVersionId'];
export type Artifact = components['schemas']['Artifact'];
export type ArtifactDetail = components['schemas']['ArtifactDetail'];
export type ArtifactId = components['schemas']['ArtifactId'];
export type ArtifactQuery = components['schemas']['ArtifactQuery'];
export type ArtifactState = components['schemas']['ArtifactState'];
export type ArtifactTrust = components['schemas']['ArtifactTrust'];
export type ArtifactUse = components['schemas']['ArtifactUse'];
export type AssertionExchange = components['schemas']['AssertionExchange'];
export type Attachment = components['schemas']['Attachment'];
export type AuditEntry = components['schemas']['AuditEntry'];
export type AuditId = components['schemas']['AuditId'];
export type AuditQuery = components['schemas']['AuditQuery'];
export type Because = components['schemas']['Because'];
export type Binding = components['schemas']['Binding'];
export type BindingId = components['schemas']['BindingId'];
export type BrokenLink = components['schemas']['BrokenLink'];
export type Channel = components['schemas']['Channel'];
export type Check = components['schemas']['Check'];
export type CheckName = components['schemas']['CheckName'];
export type Component = components['schemas']['Component'];
export type ComponentClass = components['schemas']['ComponentClass'];
export type ComponentReport = components['schemas']['ComponentReport'];
export type ComponentSpec = components['schemas']['ComponentSpec'];
export type ComponentStats = components['schemas']['ComponentStats'];
export type ControlPlaneScope = components['schemas']['ControlPlaneScope'];
export type CreatedEndpointToken = components['schemas']['CreatedEndpointToken'];
export type CreatedJoinToken = components['schemas']['CreatedJoinToken'];
export type CreatedPersonalToken = components['schemas']['CreatedPersonalToken'];
export type CreatedUser = components['schemas']['CreatedUser'];
export type CredentialDelivery = components['schemas']['CredentialDelivery'];
export type CredentialKind = components['schemas']['CredentialKind'];
export type DefaultSource = components['schemas']['DefaultSource'];
export type Egress = components['schemas']['Egress'];
export type Emission = components['schemas']['Emission'];
export type Endpoint = components['schemas']['Endpoint'];
export type EndpointHealth = components['schemas']['EndpointHealth'];
export type EndpointPlace = components['schemas']['EndpointPlace'];
export type EndpointToken = components['schemas']['EndpointToken'];
export type EndpointTokenId = components['schemas']['EndpointTokenId'];
export type EndpointView = components['schemas']['EndpointView'];
export type Entitlement = components['schemas']['Entitlement'];
export type Entitlements = components['schemas']['Entitlements'];
export type EnvVar = components['schemas']['EnvVar'];
export type ErrorBody = components['schemas']['ErrorBody'];
export type ErrorDetail = components['schemas']['ErrorDetail'];
export type Event = components['schemas']['Event'];
export type EventId = components['schemas']['EventId'];
export type EventQuery = components['schemas']['EventQuery'];
export type ExecutionEngine = components['schemas']['ExecutionEngine'];
export type ExtensionKind = components['schemas']['ExtensionKind'];
export type FailureReason = components['schemas']['FailureReason'];
export type FieldDetail = components['schemas']['FieldDetail'];
export type Finding = components['schemas']['Finding'];
export type FollowQuery = components['schemas']['FollowQuery'];
export type ForceDecommission = components['schemas']['ForceDecommission'];
export type FormAccess = components['schemas']['FormAccess'];
export type FormAccessMode = components['schemas']['FormAccessMode'];
export type FormAddon = components['schemas']['FormAddon'];
export type FormAllocation = components['schemas']['FormAllocation'];
export type FormApp = components['schemas']['FormApp'];
export type FormComponent = components['schemas']['FormComponent'];
export type FormError = components['schemas']['FormError'];
export type FormFree = components['schemas']['FormFree'];
export type FormGpu = components['schemas']['FormGpu'];
export type FormLane = components['schemas']['FormLane'];
export type FormMount = components['schemas']['FormMount'];
export type FormOffer = components['schemas']['FormOffer'];
export type FormReason = components['schemas']['FormReason'];
export type FormResources = components['schemas']['FormResources'];
export type FormUi = components['schemas']['FormUi'];
export type FormVariant = components['schemas']['FormVariant'];
export type FormVersion = components['schemas']['FormVersion'];
export type ForwardQuery = components['schemas']['ForwardQuery'];
export type FreeShare = components['schemas']['FreeShare'];
export type Gpu = components['schemas']['Gpu'];
export type GpuBinding = components['schemas']['GpuBinding'];
export type GpuDevice = components['schemas']['GpuDevice'];
export type GpuId = components['schemas']['GpuId'];
export type GrantAllocation = components['schemas']['GrantAllocation'];
export type GrantPolicy = components['schemas']['GrantPolicy'];
export type GrantView = components['schemas']['GrantView'];
export type Health = components['schemas']['Health'];
export type Health2 = components['schemas']['Health2'];
export type HealthCheck = components['schemas']['HealthCheck'];
export type IdentityGranted = components['schemas']['IdentityGranted'];
export type IdentityKey = components['schemas']['IdentityKey'];
export type IdentityKeys = components['schemas']['IdentityKeys'];
export type IdentityRequest = components['schemas']['IdentityRequest'];
export type ImageAccess = components['schemas']['ImageAccess'];
export type ImageAccessRequest = components['schemas']['ImageAccessRequest'];
export type ImageGrant = components['schemas']['ImageGrant'];
export type ImageKey = components['schemas']['ImageKey'];
export type ImageTrust = components['schemas']['ImageTrust'];
export type Instance = components['schemas']['Instance'];
export type InstanceDetail = components['schemas']['InstanceDetail'];
export type InstanceId = components['schemas']['InstanceId'];
export type InstanceImage = components['schemas']['InstanceImage'];
export type InstanceMount = components['schemas']['InstanceMount'];
export type InstanceQuery = components['schemas']['InstanceQuery'];
export type InstanceReport = components['schemas']['InstanceReport'];
export type InstanceStats = components['schemas']['InstanceStats'];
export type JoinRequest = components['schemas']['JoinRequest'];
export type JoinTokenId = components['schemas']['JoinTokenId'];
export type Joined = components['schemas']['Joined'];
export type KeyDelivery = components['schemas']['KeyDelivery'];
export type KeyId = components['schemas']['KeyId'];
export type Label = components['schemas']['Label'];
export type LaneWish = components['schemas']['LaneWish'];
export type LaunchRequest = components['schemas']['LaunchRequest'];
export type LaunchableApp = components['schemas']['LaunchableApp'];
export type LimitSet = components['schemas']['LimitSet'];
export type LimitView = components['schemas']['LimitView'];
export type ListOfAllocation = components['schemas']['ListOfAllocation'];
export type ListOfApp = components['schemas']['ListOfApp'];
export type ListOfAppVersion = components['schemas']['ListOfAppVersion'];
export type ListOfArtifact = components['schemas']['ListOfArtifact'];
export type ListOfAuditEntry = components['schemas']['ListOfAuditEntry'];
export type ListOfBinding = components['schemas']['ListOfBinding'];
export type ListOfEndpointToken = components['schemas']['ListOfEndpointToken'];
export type ListOfEvent = components['schemas']['ListOfEvent'];
export type ListOfInstance = components['schemas']['ListOfInstance'];
export type ListOfLimitView = components['schemas']['ListOfLimitView'];
export type ListOfNode = components['schemas']['ListOfNode'];
export type ListOfPermissionView = components['schemas']['ListOfPermissionView'];
export type ListOfPersonalToken = components['schemas']['ListOfPersonalToken'];
export type ListOfPreset = components['schemas']['ListOfPreset'];
export type ListOfProject = components['schemas']['ListOfProject'];
export type ListOfRegistryCredential = components['schemas']['ListOfRegistryCredential'];
export type ListOfRole = components['schemas']['ListOfRole'];
export type ListOfServiceAccount = components['schemas']['ListOfServiceAccount'];
export type ListOfSkuView = components['schemas']['ListOfSkuView'];
export type ListOfTenant = components['schemas']['ListOfTenant'];
export type ListOfTimelineEntry = components['schemas']['ListOfTimelineEntry'];
export type ListOfTrustKey = components['schemas']['ListOfTrustKey'];
export type ListOfUser = components['schemas']['ListOfUser'];
export type ListOfVolume = components['schemas']['ListOfVolume'];
export type LoginLinkQuery = components['schemas']['LoginLinkQuery'];
export type LoginRequest = components['schemas']['LoginRequest'];
export type LogsQuery = components['schemas']['LogsQuery'];
export type Member = components['schemas']['Member'];
export type MemberEmission = components['schemas']['MemberEmission'];
export type MemberId = components['schemas']['MemberId'];
export type MemberIntent = components['schemas']['MemberIntent'];
export type MemberRole = components['schemas']['MemberRole'];
export type MeteringBatch = components['schemas']['MeteringBatch'];
export type MeteringRecord = components['schemas']['MeteringRecord'];
export type MeteringTaken = components['schemas']['MeteringTaken'];
export type MountChoice = components['schemas']['MountChoice'];
export type MountKind = components['schemas']['MountKind'];
export type MountSource = components['schemas']['MountSource'];
export type MoveVersion = components['schemas']['MoveVersion'];
export type NewAllocation = components['schemas']['NewAllocation'];
export type NewArtifact = components['schemas']['NewArtifact'];
export type NewBinding = components['schemas']['NewBinding'];
export type NewEndpointToken = components['schemas']['NewEndpointToken'];
export type NewJoinToken = components['schemas']['NewJoinToken'];
export type NewPersonalToken = components['schemas']['NewPersonalToken'];
export type NewPreset = components['schemas']['NewPreset'];
export type NewPrice = components['schemas']['NewPrice'];
export type NewProject = components['schemas']['NewProject'];
export type NewPublishIntent = components['schemas']['NewPublishIntent'];
export type NewPullIntent = components['schemas']['NewPullIntent'];
export type NewRole = components['schemas']['NewRole'];
export type NewServiceAccount = components['schemas']['NewServiceAccount'];
export type NewSku = components['schemas']['NewSku'];
export type NewTenant = components['schemas']['NewTenant'];
export type NewTrustKey = components['schemas']['NewTrustKey'];
export type NewUser = components['schemas']['NewUser'];
export type NewVolume = components['schemas']['NewVolume'];
export type Node = components['schemas']['Node'];
export type NodeDetail = components['schemas']['NodeDetail'];
export type NodeId = components['schemas']['NodeId'];
export type NodeInventory = components['schemas']['NodeInventory'];
export type NodeReport = components['schemas']['NodeReport'];
export type NodeStanding = components['schemas']['NodeStanding'];
export type NodeToken = components['schemas']['NodeToken'];
export type NodeTokenRequest = components['schemas']['NodeTokenRequest'];
export type OpenRequest = components['schemas']['OpenRequest'];
export type OpenedEndpoint = components['schemas']['OpenedEndpoint'];
export type OperatingMode = components['schemas']['OperatingMode'];
export type Operation = components['schemas']['Operation'];
export type OwnStatus = components['schemas']['OwnStatus'];
export type PageQuery = components['schemas']['PageQuery'];
export type PasswordChange = components['schemas']['PasswordChange'];
export type PermissionView = components['schemas']['PermissionView'];
export type PersonalToken = components['schemas']['PersonalToken'];
export type PersonalTokenId = components['schemas']['PersonalTokenId'];
export type Phase = components['schemas']['Phase'];
export type PlacementIntent = components['schemas']['PlacementIntent'];
export type Plan = components['schemas']['Plan'];
export type PlanCheck = components['schemas']['PlanCheck'];
export type PlanView = components['schemas']['PlanView'];
export type PlannedAddon = components['schemas']['PlannedAddon'];
export type PlannedArtifact = components['schemas']['PlannedArtifact'];
export type PlannedComponent = components['schemas']['PlannedComponent'];
export type PlannedEngine = components['schemas']['PlannedEngine'];
export type PlannedGap = components['schemas']['PlannedGap'];
export type PlannedMount = components['schemas']['PlannedMount'];
export type Port = components['schemas']['Port'];
export type Preparing = components['schemas']['Preparing'];
export type Preset = components['schemas']['Preset'];
export type PresetChoices = components['schemas']['PresetChoices'];
export type PresetId = components['schemas']['PresetId'];
export type PresetQuery = components['schemas']['PresetQuery'];
export type PresetUpdate = components['schemas']['PresetUpdate'];
export type Price = components['schemas']['Price'];
export type PriceId = components['schemas']['PriceId'];
export type PriceShare = components['schemas']['PriceShare'];
export type PrincipalKind = components['schemas']['PrincipalKind'];
export type PrincipalRef = components['schemas']['PrincipalRef'];
export type Probe = components['schemas']['Probe'];
export type Project = components['schemas']['Project'];
export type ProjectCatalog = components['schemas']['ProjectCatalog'];
export type ProjectId = components['schemas']['ProjectId'];
export type Promote = components['schemas']['Promote'];
export type Promotion = components['schemas']['Promotion'];
export type PublicAccess = components['schemas']['PublicAccess'];
export type PublicAccessChange = components['schemas']['PublicAccessChange'];
export type PublishIntent = components['schemas']['PublishIntent'];
export type PullIntent = components['schemas']['PullIntent'];
export type PullProgress = components['schemas']['PullProgress'];
export type Quote = components['schemas']['Quote'];
export type QuoteLine = components['schemas']['QuoteLine'];
export type Reason = components['schemas']['Reason'];
export type ReceiptView = components['schemas']['ReceiptView'];
export type RegistryCredential = components['schemas']['RegistryCredential'];
export type RegistryCredentialId = components['schemas']['RegistryCredentialId'];
export type RegistryInfo = components['schemas']['RegistryInfo'];
export type RegistryToken = components['schemas']['RegistryToken'];
export type Rename = components['schemas']['Rename'];
export type RenderedFile = components['schemas']['RenderedFile'];
export type RenderedQuery = components['schemas']['RenderedQuery'];
export type RenderedView = components['schemas']['RenderedView'];
export type RepositoryId = components['schemas']['RepositoryId'];
export type RepositoryView = components['schemas']['RepositoryView'];
export type Requester = components['schemas']['Requester'];
export type ResourceField = components['schemas']['ResourceField'];
export type ResourceWish = components['schemas']['ResourceWish'];
export type RestartBudget = components['schemas']['RestartBudget'];
export type RevisionId = components['schemas']['RevisionId'];
export type Role = components['schemas']['Role'];
export type RoleId = components['schemas']['RoleId'];
export type RoleUpdate = components['schemas']['RoleUpdate'];
export type RotateKey = components['schemas']['RotateKey'];
export type RunAs = components['schemas']['RunAs'];
export type Runtime = components['schemas']['Runtime'];
export type RuntimeBackend = components['schemas']['RuntimeBackend'];
export type ScopeName = components['schemas']['ScopeName'];
export type ScopeRef = components['schemas']['ScopeRef'];
export type Scratch = components['schemas']['Scratch'];
export type ServiceAccount = components['schemas']['ServiceAccount'];
export type ServiceAccountDetail = components['schemas']['ServiceAccountDetail'];
export type ServiceAccountId = components['schemas']['ServiceAccountId'];
export type ServiceAccountWithKey = components['schemas']['ServiceAccountWithKey'];
export type SetPreparing = components['schemas']['SetPreparing'];
export type SetRepository = components['schemas']['SetRepository'];
export type Severity = components['schemas']['Severity'];
export type Shape = components['schemas']['Shape'];
export type SignedReceipt = components['schemas']['SignedReceipt'];
export type SkuChange = components['schemas']['SkuChange'];
export type SkuId = components['schemas']['SkuId'];
export type SkuView = components['schemas']['SkuView'];
export type Standing = components['schemas']['Standing'];
export type Status = components['schemas']['Status'];
export type Stream = components['schemas']['Stream'];
export type Tenant = components['schemas']['Tenant'];
export type TenantId = components['schemas']['TenantId'];
export type Terms = components['schemas']['Terms'];
export type TimelineEntry = components['schemas']['TimelineEntry'];
export type TimelineId = components['schemas']['TimelineId'];
export type Timestamp = components['schemas']['Timestamp'];
export type Tmpfs = components['schemas']['Tmpfs'];
export type TokenQuery = components['schemas']['TokenQuery'];
export type Trust = components['schemas']['Trust'];
export type TrustKey = components['schemas']['TrustKey'];
export type TrustKeyId = components['schemas']['TrustKeyId'];
export type TrustMode = components['schemas']['TrustMode'];
export type TrustState = components['schemas']['TrustState'];
export type UnwrapRequest = components['schemas']['UnwrapRequest'];
export type Unwrapped = components['schemas']['Unwrapped'];
export type User = components['schemas']['User'];
export type UserId = components['schemas']['UserId'];
export type UserUpdate = components['schemas']['UserUpdate'];
export type Vendor = components['schemas']['Vendor'];
export type Verifier = components['schemas']['Verifier'];
export type VerifyQuery = components['schemas']['VerifyQuery'];
export type VerifyReport = components['schemas']['VerifyReport'];
export type Version = components['schemas']['Version'];
export type VersionState = components['schemas']['VersionState'];
export type Visibility = components['schemas']['Visibility'];
export type Volume = components['schemas']['Volume'];
export type VolumeDetail = components['schemas']['VolumeDetail'];
export type VolumeId = components['schemas']['VolumeId'];
export type VolumeMount = components['schemas']['VolumeMount'];
export type VolumeQuery = components['schemas']['VolumeQuery'];
export type VolumeState = components['schemas']['VolumeState'];
export type Whoami = components['schemas']['Whoami'];
export type WorkloadSpec = components['schemas']['WorkloadSpec'];
export type WrapView = components['schemas']['WrapView'];
export type $defs = Record<string, never>;
export interface operations {
    ManifestRegisterAlias: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppVersionDetail"];
                };
            };
        };
    };
    Docs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The contract browser. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    DocsAsset: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                asset: "docs.js" | "docs.css";
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/css": string;
                    "text/javascript": string;
                };
            };
        };
    };
    AppPreparingSet: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                app_slug: string;
            };
            cookie?: never;
        };
        /** @description How far the making of an app has come. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetPreparing"];
            };
        };
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    AppPreparingClear: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                app_slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    AppDeprecate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                app_slug: string;
                app_version: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppVersion"];
                };
            };
        };
    };
    AppMove: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                app_slug: string;
                app_version: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MoveVersion"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppVersion"];
                };
            };
        };
    };
    AppPublish: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                app_slug: string;
                app_version: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppVersion"];
                };
            };
        };
    };
    ManifestRegister: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppVersionDetail"];
                };
            };
        };
    };
    AllocationListAll: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
                state?: components["schemas"]["AllocationState"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfAllocation"];
                };
            };
        };
    };
    AllocationDeny: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                allocation_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Allocation"];
                };
            };
        };
    };
    AllocationGrant: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                allocation_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["GrantAllocation"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Allocation"];
                };
            };
        };
    };
    EndpointResolve: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                label: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointPlace"];
                };
            };
        };
    };
    OwnHeartbeat: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                app_instance_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    OwnMemberEmit: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                app_instance_id: string;
            };
            cookie?: never;
        };
        /** @description A line for the timeline about one of the app's members. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemberEmission"];
            };
        };
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    OwnMetering: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                app_instance_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MeteringBatch"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MeteringTaken"];
                };
            };
        };
    };
    OwnStatus: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                app_instance_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnStatus"];
                };
            };
        };
    };
    CatalogList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfApp"];
                };
            };
        };
    };
    CatalogVersionList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path: {
                app_slug: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfAppVersion"];
                };
            };
        };
    };
    CatalogVersionGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                app_slug: string;
                app_version: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppVersionDetail"];
                };
            };
        };
    };
    ManifestSchema: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The schema. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/schema+json": Record<string, never>;
                };
            };
        };
    };
    AsyncApi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    PlatformAuditList: {
        parameters: {
            query?: {
                /** @description Only rows with exactly this action. */
                action?: string;
                /** @description Only rows of this actor (a user's or service account's id). */
                actor_id?: string;
                /** @description Only rows of one request's story. */
                correlation_id?: string;
                cursor?: string;
                limit?: number;
                /** @description Only rows about this object. */
                object_id?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfAuditEntry"];
                };
            };
        };
    };
    AuditVerify: {
        parameters: {
            query?: {
                /** @description First sequence number to check; 1 unless given. */
                from?: number;
                /** @description Which chain; `audit` unless given. */
                stream?: components["schemas"]["Stream"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerifyReport"];
                };
            };
        };
    };
    IdentityKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdentityKeys"];
                };
            };
        };
    };
    Login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginRequest"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    Logout: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    NodeTokenExchange: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description A node asks for a token. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NodeTokenRequest"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeToken"];
                };
            };
        };
    };
    PasswordChange: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PasswordChange"];
            };
        };
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    ServiceAccountToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssertionExchange"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccessToken"];
                };
            };
        };
    };
    TokenList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfPersonalToken"];
                };
            };
        };
    };
    TokenCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPersonalToken"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedPersonalToken"];
                };
            };
        };
    };
    TokenRevoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                token_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    Whoami: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Whoami"];
                };
            };
        };
    };
    PlatformBindingList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfBinding"];
                };
            };
        };
    };
    PlatformBindingCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description Give a role to exactly one of: a person by id, a person by e-mail, a service account by id. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewBinding"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Binding"];
                };
            };
        };
    };
    PlatformBindingDelete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                binding_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    Unwrap: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UnwrapRequest"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Unwrapped"];
                };
            };
        };
    };
    PlatformEventList: {
        parameters: {
            query?: {
                /** @description Only events after this sequence number; an alternative to `cursor`. */
                after?: number;
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfEvent"];
                };
            };
        };
    };
    PlatformEventSocket: {
        parameters: {
            query?: {
                /** @description Start after this sequence number; without it (and without `Last-Event-ID`) only new events come. */
                after?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    PlatformEventStream: {
        parameters: {
            query?: {
                /** @description Start after this sequence number; without it (and without `Last-Event-ID`) only new events come. */
                after?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events as they happen. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
        };
    };
    NodeImageAccess: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /** @description A node asks for an image that an order of its own names, each time before it uses it, pulled or not. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["ImageAccessRequest"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageAccess"];
                };
            };
        };
    };
    InstanceIdentityRegister: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                app_instance_id: string;
            };
            cookie?: never;
        };
        /** @description A node shows the key it made for one launch. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["IdentityRequest"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IdentityGranted"];
                };
            };
        };
    };
    NodeInventoryPut: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NodeInventory"];
            };
        };
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    NodeReportPost: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NodeReport"];
            };
        };
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    NodeTrust: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trust"];
                };
            };
        };
    };
    NodeList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfNode"];
                };
            };
        };
    };
    NodeJoin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description A machine asks to become a node. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["JoinRequest"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Joined"];
                };
            };
        };
    };
    JoinTokenCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewJoinToken"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedJoinToken"];
                };
            };
        };
    };
    TaskKeyRotate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    NodeGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                node_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodeDetail"];
                };
            };
        };
    };
    NodeForget: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                node_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    NodeCordon: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                node_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
        };
    };
    NodeDrain: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                node_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
        };
    };
    NodeRevoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                node_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
        };
    };
    NodeUncordon: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                node_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Node"];
                };
            };
        };
    };
    OpenApi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The contract. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    PermissionList: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfPermissionView"];
                };
            };
        };
    };
    ProjectListMine: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfProject"];
                };
            };
        };
    };
    ProjectGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    ProjectDelete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    ProjectUpdate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        /** @description A new name for a tenant or a project. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["Rename"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    AllocationList: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
                state?: components["schemas"]["AllocationState"];
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfAllocation"];
                };
            };
        };
    };
    AllocationRequest: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAllocation"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Allocation"];
                };
            };
        };
    };
    AllocationGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
                allocation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AllocationDetail"];
                };
            };
        };
    };
    AllocationRelease: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                allocation_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Allocation"];
                };
            };
        };
    };
    ArtifactList: {
        parameters: {
            query?: {
                /** @description Only this app's. */
                app?: string;
                cursor?: string;
                limit?: number;
                /** @description Also those of others that this project may pull. */
                visible?: boolean;
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfArtifact"];
                };
            };
        };
    };
    ArtifactRegister: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        /** @description Registers an image that was pushed. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewArtifact"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"];
                };
            };
        };
    };
    PublishIntentCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        /** @description Asks for the way to push. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPublishIntent"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublishIntent"];
                };
            };
        };
    };
    PullIntentCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        /** @description Asks for the way to pull one image. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPullIntent"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PullIntent"];
                };
            };
        };
    };
    ArtifactGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
                artifact_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArtifactDetail"];
                };
            };
        };
    };
    ArtifactDeprecate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                artifact_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"];
                };
            };
        };
    };
    ArtifactPromote: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                artifact_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Promote"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"];
                };
            };
        };
    };
    ArtifactRetire: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                artifact_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"];
                };
            };
        };
    };
    ArtifactRevoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                artifact_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"];
                };
            };
        };
    };
    ArtifactVerify: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                artifact_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifact"];
                };
            };
        };
    };
    InstanceList: {
        parameters: {
            query?: {
                allocation?: components["schemas"]["AllocationId"];
                /** @description An app's slug. */
                app?: string;
                cursor?: string;
                /** @description Decommissioned ones too. */
                ended?: boolean;
                limit?: number;
                status?: components["schemas"]["Status"];
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfInstance"];
                };
            };
        };
    };
    InstanceCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        /**
         * @description What to launch and where. What is not listed here is refused, and what the platform decides (`runtime_backend`,
         *     `control_plane_scope`, `tenant_boundary_mode`) cannot be asserted: read it back.
         */
        requestBody: {
            content: {
                "application/json": components["schemas"]["LaunchRequest"];
            };
        };
        responses: {
            /** @description It is on its way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    InstancePlan: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        /**
         * @description What to launch and where. What is not listed here is refused, and what the platform decides (`runtime_backend`,
         *     `control_plane_scope`, `tenant_boundary_mode`) cannot be asserted: read it back.
         */
        requestBody: {
            content: {
                "application/json": components["schemas"]["LaunchRequest"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanView"];
                };
            };
        };
    };
    InstanceGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
                app_instance_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InstanceDetail"];
                };
            };
        };
    };
    InstanceDecommission: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                app_instance_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description It is on its way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    EndpointOpen: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                app_instance_id: string;
                endpoint: string;
            };
            cookie?: never;
        };
        /** @description Where to go on inside the app. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OpenRequest"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenedEndpoint"];
                };
            };
        };
    };
    EndpointPublicSet: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                app_instance_id: string;
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PublicAccessChange"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointPlace"];
                };
            };
        };
    };
    EndpointTokenList: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
                app_instance_id: string;
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfEndpointToken"];
                };
            };
        };
    };
    EndpointTokenCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                app_instance_id: string;
                endpoint: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEndpointToken"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedEndpointToken"];
                };
            };
        };
    };
    EndpointTokenRevoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                project_id: string;
                app_instance_id: string;
                endpoint: string;
                token_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    InstanceEvents: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path: {
                project_id: string;
                app_instance_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfTimelineEntry"];
                };
            };
        };
    };
    InstanceForceDecommission: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                app_instance_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ForceDecommission"];
            };
        };
        responses: {
            /** @description It is on its way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    InstanceForward: {
        parameters: {
            query?: {
                /** @description The first component with such a port if absent. */
                component?: string;
                /** @description A declared port of the container; the first one if absent. */
                port?: number;
            };
            header?: never;
            path: {
                project_id: string;
                app_instance_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    InstanceLogs: {
        parameters: {
            query?: {
                component?: string;
                /** @description Go on with what comes. */
                follow?: boolean;
                since?: components["schemas"]["Timestamp"];
                /** @description The last so many lines; all if absent. */
                tail?: number;
            };
            header?: never;
            path: {
                project_id: string;
                app_instance_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Lines of the log, one JSON text each. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    InstanceReceipt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
                app_instance_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReceiptView"];
                };
            };
        };
    };
    InstanceRendered: {
        parameters: {
            query?: {
                /** @description The instance's own if absent. */
                engine?: components["schemas"]["ExecutionEngine"];
            };
            header?: never;
            path: {
                project_id: string;
                app_instance_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RenderedView"];
                };
            };
        };
    };
    InstanceStart: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                app_instance_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is on its way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    InstanceStats: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
                app_instance_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InstanceStats"];
                };
            };
        };
    };
    InstanceStop: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                app_instance_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description It is on its way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    ProjectCatalog: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectCatalog"];
                };
            };
        };
    };
    EntitlementList: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entitlements"];
                };
            };
        };
    };
    EntitlementSet: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                app_slug: string;
            };
            cookie?: never;
        };
        /** @description Which versions of an app: all of those in these channels, or exactly these. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["Terms"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entitlement"];
                };
            };
        };
    };
    AppForm: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                app_slug: string;
            };
            cookie?: never;
        };
        /**
         * @description What to launch and where. What is not listed here is refused, and what the platform decides (`runtime_backend`,
         *     `control_plane_scope`, `tenant_boundary_mode`) cannot be asserted: read it back.
         */
        requestBody: {
            content: {
                "application/json": components["schemas"]["LaunchRequest"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppForm"];
                };
            };
        };
    };
    ProjectAuditList: {
        parameters: {
            query?: {
                /** @description Only rows with exactly this action. */
                action?: string;
                /** @description Only rows of this actor (a user's or service account's id). */
                actor_id?: string;
                /** @description Only rows of one request's story. */
                correlation_id?: string;
                cursor?: string;
                limit?: number;
                /** @description Only rows about this object. */
                object_id?: string;
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfAuditEntry"];
                };
            };
        };
    };
    ProjectBindingList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfBinding"];
                };
            };
        };
    };
    ProjectBindingCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        /** @description Give a role to exactly one of: a person by id, a person by e-mail, a service account by id. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewBinding"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Binding"];
                };
            };
        };
    };
    ProjectBindingDelete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                project_id: string;
                binding_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    ProjectEventList: {
        parameters: {
            query?: {
                /** @description Only events after this sequence number; an alternative to `cursor`. */
                after?: number;
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfEvent"];
                };
            };
        };
    };
    ProjectEventSocket: {
        parameters: {
            query?: {
                /** @description Start after this sequence number; without it (and without `Last-Event-ID`) only new events come. */
                after?: number;
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    ProjectEventStream: {
        parameters: {
            query?: {
                /** @description Start after this sequence number; without it (and without `Last-Event-ID`) only new events come. */
                after?: number;
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events as they happen. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
        };
    };
    PresetList: {
        parameters: {
            query?: {
                /** @description Of one app only. */
                app?: string;
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfPreset"];
                };
            };
        };
    };
    PresetCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPreset"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Preset"];
                };
            };
        };
    };
    PresetDelete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                project_id: string;
                preset_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    PresetUpdate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                project_id: string;
                preset_id: string;
            };
            cookie?: never;
        };
        /** @description What is left out stays. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["PresetUpdate"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Preset"];
                };
            };
        };
    };
    ProjectLimitList: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfLimitView"];
                };
            };
        };
    };
    ProjectLimitSet: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                limit: "projects" | "service_accounts" | "personal_tokens" | "allocations" | "gpus" | "instances" | "registry_mib" | "repositories" | "trust_keys" | "endpoint_tokens" | "volumes" | "presets" | "bindings";
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LimitSet"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitView"];
                };
            };
        };
    };
    RegistryInfo: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegistryInfo"];
                };
            };
        };
    };
    RegistryCredentialList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfRegistryCredential"];
                };
            };
        };
    };
    RegistryCredentialRevoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                credential_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegistryCredential"];
                };
            };
        };
    };
    TrustKeyList: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfTrustKey"];
                };
            };
        };
    };
    TrustKeyAdd: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTrustKey"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrustKey"];
                };
            };
        };
    };
    TrustKeyRevoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                key_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrustKey"];
                };
            };
        };
    };
    RepositorySet: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                app_slug: string;
            };
            cookie?: never;
        };
        /** @description Makes a repository, or says who may pull from it. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetRepository"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RepositoryView"];
                };
            };
        };
    };
    ProjectResume: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    ServiceAccountList: {
        parameters: {
            query?: {
                cursor?: string;
                /** @description `operator` (those that people made) unless said; `instance` for the accounts of app instances. */
                kind?: components["schemas"]["AccountKind"];
                limit?: number;
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfServiceAccount"];
                };
            };
        };
    };
    ServiceAccountCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewServiceAccount"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceAccountWithKey"];
                };
            };
        };
    };
    ServiceAccountGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
                service_account_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceAccountDetail"];
                };
            };
        };
    };
    ServiceAccountDelete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                project_id: string;
                service_account_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    ServiceAccountDisable: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                service_account_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceAccount"];
                };
            };
        };
    };
    ServiceAccountRotateKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
                service_account_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RotateKey"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServiceAccountWithKey"];
                };
            };
        };
    };
    ProjectSuspend: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    VolumeList: {
        parameters: {
            query?: {
                cursor?: string;
                limit?: number;
                /** @description Those that are not deleted if absent. */
                state?: components["schemas"]["VolumeState"];
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfVolume"];
                };
            };
        };
    };
    VolumeCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewVolume"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Volume"];
                };
            };
        };
    };
    VolumeGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
                volume_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VolumeDetail"];
                };
            };
        };
    };
    VolumeDelete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                project_id: string;
                volume_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description It is on its way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Volume"];
                };
            };
        };
    };
    RegistryCertificate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The certificates, newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-pem-file": string;
                };
            };
        };
    };
    PlatformTrustKeyList: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfTrustKey"];
                };
            };
        };
    };
    PlatformTrustKeyAdd: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTrustKey"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrustKey"];
                };
            };
        };
    };
    PlatformTrustKeyRevoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                key_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrustKey"];
                };
            };
        };
    };
    RegistryTokenGet: {
        parameters: {
            query?: {
                account?: string;
                client_id?: string;
                offline_token?: string;
                /** @description `repository:<name>:<actions>`, several with spaces between. */
                scope?: string;
                service?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegistryToken"];
                };
            };
        };
    };
    RoleList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfRole"];
                };
            };
        };
    };
    RoleCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRole"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Role"];
                };
            };
        };
    };
    RoleGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                role_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Role"];
                };
            };
        };
    };
    RoleDelete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                role_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    RoleUpdate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                role_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RoleUpdate"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Role"];
                };
            };
        };
    };
    SkuList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfSkuView"];
                };
            };
        };
    };
    SkuCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSku"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkuView"];
                };
            };
        };
    };
    SkuGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sku: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkuView"];
                };
            };
        };
    };
    SkuUpdate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                sku: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SkuChange"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkuView"];
                };
            };
        };
    };
    SkuPriceAdd: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                sku: string;
            };
            cookie?: never;
        };
        /** @description So many millionths of a currency per so many units. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPrice"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SkuView"];
                };
            };
        };
    };
    TenantList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfTenant"];
                };
            };
        };
    };
    TenantCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTenant"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
        };
    };
    TenantGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
        };
    };
    TenantDelete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    TenantUpdate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        /** @description A new name for a tenant or a project. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["Rename"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
        };
    };
    TenantEntitlementList: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entitlements"];
                };
            };
        };
    };
    TenantEntitlementSet: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                tenant_id: string;
                app_slug: string;
            };
            cookie?: never;
        };
        /** @description Which versions of an app: all of those in these channels, or exactly these. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["Terms"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Entitlement"];
                };
            };
        };
    };
    TenantAuditList: {
        parameters: {
            query?: {
                /** @description Only rows with exactly this action. */
                action?: string;
                /** @description Only rows of this actor (a user's or service account's id). */
                actor_id?: string;
                /** @description Only rows of one request's story. */
                correlation_id?: string;
                cursor?: string;
                limit?: number;
                /** @description Only rows about this object. */
                object_id?: string;
            };
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfAuditEntry"];
                };
            };
        };
    };
    TenantBindingList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfBinding"];
                };
            };
        };
    };
    TenantBindingCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        /** @description Give a role to exactly one of: a person by id, a person by e-mail, a service account by id. */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewBinding"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Binding"];
                };
            };
        };
    };
    TenantBindingDelete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                tenant_id: string;
                binding_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    TenantEventList: {
        parameters: {
            query?: {
                /** @description Only events after this sequence number; an alternative to `cursor`. */
                after?: number;
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfEvent"];
                };
            };
        };
    };
    TenantEventSocket: {
        parameters: {
            query?: {
                /** @description Start after this sequence number; without it (and without `Last-Event-ID`) only new events come. */
                after?: number;
            };
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    TenantEventStream: {
        parameters: {
            query?: {
                /** @description Start after this sequence number; without it (and without `Last-Event-ID`) only new events come. */
                after?: number;
            };
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events as they happen. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": unknown;
                };
            };
        };
    };
    TenantLimitList: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfLimitView"];
                };
            };
        };
    };
    TenantLimitSet: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                tenant_id: string;
                limit: "projects" | "service_accounts" | "personal_tokens" | "allocations" | "gpus" | "instances" | "registry_mib" | "repositories" | "trust_keys" | "endpoint_tokens" | "volumes" | "presets" | "bindings";
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LimitSet"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitView"];
                };
            };
        };
    };
    ProjectList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfProject"];
                };
            };
        };
    };
    ProjectCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewProject"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Project"];
                };
            };
        };
    };
    TenantResume: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
        };
    };
    TenantSuspend: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                tenant_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tenant"];
                };
            };
        };
    };
    UserList: {
        parameters: {
            query?: {
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                /** @description At most this many items. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListOfUser"];
                };
            };
        };
    };
    UserCreate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewUser"];
            };
        };
        responses: {
            /** @description It was created. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedUser"];
                };
            };
        };
    };
    UserGet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    UserDelete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                user_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description It is done. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    UserUpdate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
                /** @description The ETag of the object as it was read; another version is refused with 412. */
                "If-Match"?: string;
            };
            path: {
                user_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserUpdate"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    UserResetPassword: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                user_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedUser"];
                };
            };
        };
    };
    UserResume: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                user_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    UserSuspend: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                user_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
        };
    };
    Version: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Version"];
                };
            };
        };
    };
    InstanceCreateAlias: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        /**
         * @description What to launch and where. What is not listed here is refused, and what the platform decides (`runtime_backend`,
         *     `control_plane_scope`, `tenant_boundary_mode`) cannot be asserted: read it back.
         */
        requestBody: {
            content: {
                "application/json": components["schemas"]["LaunchRequest"];
            };
        };
        responses: {
            /** @description It is on its way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    InstanceStopAlias: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes repeating safe: the same key and body give the first answer for 24 hours. */
                "Idempotency-Key"?: string;
            };
            path: {
                app_instance_id: string;
            };
            cookie?: never;
        };
        /** @description Why something is done; kept in the audit row. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Because"];
            };
        };
        responses: {
            /** @description It is on its way. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Instance"];
                };
            };
        };
    };
    LoginLink: {
        parameters: {
            query: {
                code: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    ServiceAccountTokenAlias: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssertionExchange"];
            };
        };
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccessToken"];
                };
            };
        };
    };
    Healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    Metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metrics. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text": string;
                };
            };
        };
    };
    Readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Here it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
}
