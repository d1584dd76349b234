//! Somebody who calls the API, and what they get.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gpuaas_api::Route;
use gpuaas_domain::ids::{KeyId, ServiceAccountId};
use gpuaas_domain::machine_token::{Assertion, sign_assertion};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

/// An answer of the API.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Value,
    pub text: String,
}

impl Answer {
    /// Demands a status; shows the whole answer otherwise.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "a demand may be all a test wants")]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// Demands an error of this status and code, in the envelope.
    #[track_caller]
    #[expect(clippy::return_self_not_must_use, reason = "a demand may be all a test wants")]
    pub fn expect_error(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status, self.code()), (status, code), "{}", self.text);
        assert!(
            self.body["error"]["correlation_id"].as_str().is_some_and(|id| !id.is_empty()),
            "{}",
            self.text
        );
        assert!(self.body["error"]["message"].as_str().is_some_and(|text| text.len() > 10), "{}", self.text);
        self
    }

    pub fn code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_default()
    }

    /// The id of what was created or read.
    #[track_caller]
    pub fn id(&self) -> String {
        self.body["id"].as_str().unwrap_or_else(|| panic!("no id in {}", self.text)).to_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// A caller with (or without) a credential.
#[derive(Clone)]
pub struct Caller {
    http: reqwest::Client,
    url: String,
    headers: Vec<(String, String)>,
}

impl Caller {
    pub fn new(url: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(std::time::Duration::from_mins(1))
            .no_proxy()
            .build()
            .expect("a client can be built");
        Self { http, url: url.to_owned(), headers: Vec::new() }
    }

    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn with_bearer(self, token: &str) -> Self {
        self.with_header("authorization", &format!("Bearer {token}"))
    }

    /// Somebody without a credential, over the same connections.
    #[must_use]
    pub fn stranger(&self) -> Self {
        Self { headers: Vec::new(), ..self.clone() }
    }

    /// The same caller at another address.
    #[must_use]
    pub fn at(&self, url: &str) -> Self {
        Self { url: url.to_owned(), ..self.clone() }
    }

    /// A header this caller sends.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn http(&self) -> &reqwest::Client {
        &self.http
    }

    pub async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.send_raw(method, path, body.map(|body| (body.to_string().into_bytes(), "application/json")))
            .await
    }

    pub async fn send_raw(&self, method: &str, path: &str, body: Option<(Vec<u8>, &str)>) -> Answer {
        let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some((bytes, kind)) = body {
            request = request.header("content-type", kind).body(bytes);
        }
        let response = request.send().await.expect("the server answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap_or_default();
        Answer { status, headers, body: serde_json::from_str(&text).unwrap_or(Value::Null), text }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None).await
    }

    /// Calls a route of the table.
    pub async fn call(&self, route: Route, parameters: &[&str], body: Option<&Value>) -> Answer {
        let path = {
            let parameters: Vec<&dyn std::fmt::Display> =
                parameters.iter().map(|text| text as &dyn std::fmt::Display).collect();
            route.path(&parameters)
        };
        self.send(route.row().method.name(), &path, body).await
    }

    pub async fn create_tenant(&self, slug: &str) -> String {
        self.call(Route::TenantCreate, &[], Some(&json!({ "slug": slug }))).await.expect(201).id()
    }

    pub async fn create_project(&self, tenant: &str, slug: &str) -> String {
        self.call(Route::ProjectCreate, &[tenant], Some(&json!({ "slug": slug }))).await.expect(201).id()
    }

    /// A service account with a key made here. `roles` hold in the project.
    pub async fn create_service_account(
        &self,
        project: &str,
        name: &str,
        roles: &[&str],
    ) -> (String, KeyPair) {
        let mut pair = KeyPair::generate();
        let body = json!({"name": name, "roles": roles, "public_key": pair.public_key()});
        let answer = self.call(Route::ServiceAccountCreate, &[project], Some(&body)).await.expect(201);
        answer.body["key"]["id"].as_str().expect("a key id").clone_into(&mut pair.key_id);
        (answer.id(), pair)
    }
}

/// An Ed25519 pair of a machine.
pub struct KeyPair {
    pub pair: Ed25519KeyPair,
    pub key_id: String,
}

impl KeyPair {
    pub fn generate() -> Self {
        let seed = gpuaas_custody::Entropy::bytes32(&gpuaas_custody::SystemEntropy::new());
        let pair = Ed25519KeyPair::from_seed_unchecked(seed.expose()).expect("a seed");
        Self { pair, key_id: String::new() }
    }

    pub fn public_key(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.public_key().as_ref())
    }

    /// A well-formed assertion; tests change what they want to be wrong.
    pub fn assertion(&self, account: &str, audience: &str, now_seconds: i64) -> Assertion {
        let account: ServiceAccountId = account.parse().expect("an account id");
        let nonce = gpuaas_domain::chain::hex(&gpuaas_custody::Entropy::bytes16(
            &gpuaas_custody::SystemEntropy::new(),
        ));
        Assertion {
            iss: account,
            sub: account,
            aud: audience.to_owned(),
            jti: nonce,
            iat: now_seconds,
            exp: now_seconds + 60,
        }
    }

    pub fn sign(&self, assertion: &Assertion) -> String {
        let id: KeyId = self.key_id.parse().expect("a key id");
        sign_assertion(&self.pair, id, assertion)
    }
}
