//! The machine-readable contracts: OpenAPI from the table of routes and the handlers' types, AsyncAPI from the
//! list of events.

use std::sync::OnceLock;

use gpuaas_api::{Access, ErrorBody, Method, Route, Row, ScopeKind};
use gpuaas_domain::event::EventType;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::http;

const TITLE: &str = "GPUaaS App Platform";

/// OpenAPI 3.1.
pub fn openapi() -> Value {
    let mut api = serde_json::to_value(http::schemas()).unwrap_or_default();
    api["openapi"] = json!("3.1.0");
    api["info"] = json!({
        "title": TITLE,
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Errors are `{\"error\":{code,message,params,correlation_id,fields}}`; lists are \
            `{\"items\",\"next_cursor\"}`; every mutation takes an `Idempotency-Key`. Somebody else's object looks missing.",
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    });
    api["servers"] = json!([{"url": "/"}]);
    api["tags"] = tags();
    let components = &mut api["components"];
    components["securitySchemes"] = json!({
        "bearer": {"type": "http", "scheme": "bearer", "description": "A personal token or a service account's access token."},
        "session": {"type": "apiKey", "in": "cookie", "name": "gpuaas_session", "description": "The browser's session. The real name ends in the platform's short id."},
    });
    add_error_schema(components);
    for route in Route::ALL.iter().copied() {
        let row = route.row();
        let method = row.method.name().to_lowercase();
        if let Some(operation) = api["paths"][row.path].get_mut(&method) {
            describe(operation, route, &row);
        }
    }
    api
}

fn tags() -> Value {
    let mut names: Vec<&str> = Vec::new();
    for route in Route::ALL {
        if !names.contains(&route.row().tag) {
            names.push(route.row().tag);
        }
    }
    names.into_iter().map(|name| json!({ "name": name })).collect()
}

fn add_error_schema(components: &mut Value) {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let _ = generator.subschema_for::<ErrorBody>();
    for (name, schema) in generator.take_definitions(true) {
        components["schemas"][name] = schema;
    }
}

fn describe(operation: &mut Value, route: Route, row: &Row) {
    operation["operationId"] = json!(route.name());
    operation["summary"] = json!(row.summary);
    operation["tags"] = json!([row.tag]);
    let (permission, scope) = match row.access {
        Access::Public => ("public", None),
        Access::SignedIn => ("signed-in", None),
        Access::Person => ("person", None),
        Access::Node => ("node", None),
        Access::Instance => ("instance", None),
        Access::Needs(permission, scope) => (permission.key(), Some(scope)),
    };
    operation["x-permission"] = json!(permission);
    if let Some(scope) = scope {
        operation["x-scope"] = json!(match scope {
            ScopeKind::Platform => "platform",
            ScopeKind::Tenant => "tenant",
            ScopeKind::Project => "project",
        });
    }
    if let Some(action) = row.audit {
        operation["x-audit-action"] = json!(action);
    }
    if row.streaming {
        operation["x-streaming"] = json!(true);
    }
    operation["security"] =
        if row.access == Access::Public { json!([]) } else { json!([{"bearer": []}, {"session": []}]) };
    add_parameters(operation, row);
    add_responses(operation, route);
}

fn add_parameters(operation: &mut Value, row: &Row) {
    let mut parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    for name in row.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        let schema = match name {
            "asset" => json!({"type": "string", "enum": ["docs.js", "docs.css"]}),
            "limit" => {
                let names: Vec<_> =
                    gpuaas_domain::limit::Limit::ALL.iter().map(|limit| limit.name()).collect();
                json!({"type": "string", "enum": names})
            }
            "sku" | "app_slug" => {
                json!({"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 40})
            }
            "app_version" => json!({"type": "string", "pattern": "^[0-9A-Za-z.+-]+$", "maxLength": 64}),
            _ => json!({"type": "string", "format": "uuid"}),
        };
        parameters.push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
    }
    if row.method.is_mutation() && row.access != Access::Public {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "Makes repeating safe: the same key and body give the first answer for 24 hours.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
        }));
    }
    if matches!(row.method, Method::Patch | Method::Delete) && row.access != Access::Public {
        parameters.push(json!({
            "name": "If-Match", "in": "header", "required": false,
            "description": "The ETag of the object as it was read; another version is refused with 412.",
            "schema": {"type": "string", "pattern": "^(\\*|\"[0-9]{1,18}\")$"},
        }));
    }
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
}

fn add_responses(operation: &mut Value, route: Route) {
    let mut responses = operation["responses"].as_object().cloned().unwrap_or_default();
    responses.remove("default");
    let plain = |kind: &str, what: &str| json!({"description": what, "content": {kind: {"schema": {"type": "string"}}}});
    let any_json = |what: &str| json!({"description": what, "content": {"application/json": {"schema": {"type": "object"}}}});
    match route {
        Route::RegistryCertificate => {
            responses
                .insert("200".into(), plain("application/x-pem-file", "The certificates, newest first."));
        }
        Route::Metrics => {
            responses.insert("200".into(), plain("application/openmetrics-text", "The metrics."));
        }
        Route::OpenApi => {
            responses.insert("200".into(), any_json("The contract."));
        }
        Route::AsyncApi => {
            responses.insert("200".into(), any_json("The events."));
        }
        Route::Docs => {
            responses.insert("200".into(), plain("text/html", "The contract browser."));
        }
        Route::DocsAsset => {
            let asset = json!({"description": "The file.", "content": {
                "text/javascript": {"schema": {"type": "string"}}, "text/css": {"schema": {"type": "string"}}}});
            responses.insert("200".into(), asset);
        }
        Route::ManifestSchema => {
            let schema = json!({"description": "The schema.", "content": {
                "application/schema+json": {"schema": {"type": "object"}}}});
            responses.insert("200".into(), schema);
        }
        Route::InstanceLogs => {
            responses
                .insert("200".into(), plain("application/x-ndjson", "Lines of the log, one JSON text each."));
        }
        Route::InstanceForward => {
            let open = "The WebSocket is open; binary messages are the bytes of the connection, an empty one ends a side.";
            responses.insert("101".into(), json!({ "description": open }));
        }
        Route::PlatformEventSocket | Route::TenantEventSocket | Route::ProjectEventSocket => {
            responses.insert(
                "101".into(),
                json!({"description": "The WebSocket is open; each text message is an event."}),
            );
        }
        _ => {}
    }
    if route == Route::Readyz {
        let ready = responses.get("200").cloned().unwrap_or_default();
        responses.insert(
            "503".into(),
            json!({"description": "Not ready; `checks` says why.", "content": ready["content"]}),
        );
    }
    let error = json!({"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}});
    for (status, what) in http::error_statuses() {
        responses.entry(status.to_string()).or_insert_with(|| json!({"description": what, "content": error}));
    }
    operation["responses"] = Value::Object(responses);
}

/// AsyncAPI 3.0: the events a project, a tenant or the platform can be followed by.
pub fn asyncapi() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into())
        .into_generator();
    let _ = generator.subschema_for::<gpuaas_api::observe::Event>();
    let schemas: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    let mut messages = Map::new();
    for kind in EventType::ALL {
        messages.insert(
            kind.name().into(),
            json!({
                "name": kind.name(), "title": kind.about(), "contentType": "application/cloudevents+json",
                "payload": {"allOf": [{"$ref": "#/components/schemas/Event"}, {"properties": {"type": {"const": kind.name()}}}]},
            }),
        );
    }
    let references: Map<String, Value> = messages
        .keys()
        .map(|name| (name.clone(), json!({"$ref": format!("#/components/messages/{name}")})))
        .collect();
    let mut channels = Map::new();
    let mut operations = Map::new();
    for route in Route::ALL.iter().filter(|route| route.row().streaming) {
        let row = route.row();
        let parameters: Map<String, Value> = row
            .path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .map(|name| (name.to_owned(), json!({"description": "A UUID."})))
            .collect();
        channels.insert(
            route.name().into(),
            json!({"address": row.path, "description": row.summary, "messages": references, "parameters": parameters}),
        );
        operations.insert(
            format!("follow{}", route.name()),
            json!({"action": "send", "channel": {"$ref": format!("#/channels/{}", route.name())}, "summary": row.summary}),
        );
    }
    json!({
        "asyncapi": "3.0.0",
        "info": {"title": format!("{TITLE}: events"), "version": env!("CARGO_PKG_VERSION"),
                 "description": "CloudEvents 1.0 in one order without gaps; `sequence` is the cursor. Delivered at least once: deduplicate by `event_id`."},
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": schemas},
    })
}

/// As served: made once.
pub(crate) fn openapi_text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| openapi().to_string())
}

pub(crate) fn asyncapi_text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| asyncapi().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T-14, A03: the contract has exactly the routes of the table, each with its permission.
    #[test]
    fn the_contract_lists_exactly_the_routes_of_the_table() {
        let api = openapi();
        let mut listed = 0;
        for (path, item) in api["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let id =
                    operation["operationId"].as_str().unwrap_or_else(|| panic!("{method} {path} has no row"));
                let route = Route::ALL.iter().find(|route| route.name() == id).unwrap();
                assert_eq!(route.row().path, path);
                assert_eq!(route.row().method.name().to_lowercase(), *method);
                assert!(operation["x-permission"].is_string());
                assert!(
                    operation["responses"].as_object().unwrap().keys().any(|status| status.as_str() < "400"),
                    "{id}"
                );
                listed += 1;
            }
        }
        assert_eq!(listed, Route::ALL.len());
    }

    #[test]
    fn every_reference_of_the_contracts_leads_somewhere() {
        fn walk(root: &Value, node: &Value) {
            match node {
                Value::Object(map) => {
                    if let Some(Value::String(reference)) = map.get("$ref") {
                        assert!(root.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
                    }
                    map.values().for_each(|value| walk(root, value));
                }
                Value::Array(items) => items.iter().for_each(|value| walk(root, value)),
                _ => {}
            }
        }
        for contract in [openapi(), asyncapi()] {
            walk(&contract, &contract);
        }
    }
}
