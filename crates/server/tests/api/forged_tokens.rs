//! Forged, stale and misplaced credentials at every place that takes one.
//!
//! The forger of these tests is given more than any real one: the platform's own signing key. So each forged
//! token is wrong in exactly one thing, and a check that is missing shows as a token that passes. That the same
//! token without the fault is taken is shown first.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use futures_util::future::join_all;
use gpuaas_api::Route;
use gpuaas_control_plane::operations::bootstrap;
use gpuaas_custody::SecretClass;
use gpuaas_domain::text::Email;
use gpuaas_testkit::{Answer, Caller, Database, Home, KeyPair, TestPlatform, both_databases};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::hostile_input::{percent, raw_status};

const ACCESS_TYPE: &str = "gpuaas-access+jwt";
const ASSERTION_TYPE: &str = "gpuaas-assertion+jwt";
const NODE_ACCESS_TYPE: &str = "gpuaas-node-access+jwt";
const NODE_ASSERTION_TYPE: &str = "gpuaas-node-assertion+jwt";
/// The order of the curve's group, little-endian: a signature stays good arithmetic when it is added.
const GROUP_ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verifier {
    Bearer,
    Cookie,
    Exchange,
    ExchangeAlias,
    Link,
    Unwrap,
    NodeBearer,
    NodeExchange,
}

impl Verifier {
    const ALL: [Self; 8] = [
        Self::Bearer,
        Self::Cookie,
        Self::Exchange,
        Self::ExchangeAlias,
        Self::Link,
        Self::Unwrap,
        Self::NodeBearer,
        Self::NodeExchange,
    ];

    /// One code for every way to be wrong: a forger learns nothing from the answer.
    fn code(self) -> &'static str {
        match self {
            Self::Bearer | Self::Cookie | Self::NodeBearer => "invalid_token",
            Self::Exchange | Self::ExchangeAlias | Self::NodeExchange => "invalid_assertion",
            Self::Link => "invalid_link",
            Self::Unwrap => "invalid_wrap",
        }
    }

    async fn ask(self, scene: &Scene, value: &str) -> Answer {
        let anonymous = &scene.anonymous;
        match self {
            Self::Bearer => anonymous.clone().with_bearer(value).call(Route::Whoami, &[], None).await,
            Self::Cookie => {
                let cookie = format!("{}={value}", scene.cookie_name);
                anonymous.clone().with_header("cookie", &cookie).call(Route::Whoami, &[], None).await
            }
            Self::Exchange => {
                anonymous.call(Route::ServiceAccountToken, &[], Some(&json!({ "assertion": value }))).await
            }
            Self::ExchangeAlias => {
                anonymous
                    .call(Route::ServiceAccountTokenAlias, &[], Some(&json!({ "assertion": value })))
                    .await
            }
            Self::Link => {
                anonymous.get(&format!("{}?code={}", Route::LoginLink.row().path, percent(value))).await
            }
            Self::Unwrap => anonymous.call(Route::Unwrap, &[], Some(&json!({ "token": value }))).await,
            Self::NodeBearer => anonymous.clone().with_bearer(value).call(Route::NodeTrust, &[], None).await,
            Self::NodeExchange => {
                anonymous.call(Route::NodeTokenExchange, &[], Some(&json!({ "assertion": value }))).await
            }
        }
    }
}

/// A value that must open nothing, except where it is what it says it is.
struct Forged {
    name: String,
    value: String,
    genuine_at: &'static [Verifier],
}

/// A platform with one of everything that signs in, and the keys behind it.
struct Scene {
    anonymous: Caller,
    cookie_name: String,
    session: String,
    personal: String,
    other_personal: String,
    link: String,
    wrap: String,
    home: Home,
    other_home: Home,
    account: String,
    pair: KeyPair,
    other_account: String,
    other_pair: KeyPair,
    user: String,
    platform_id: String,
    node: String,
    node_pair: KeyPair,
    signer: Ed25519KeyPair,
    signer_id: String,
    now: i64,
}

/// The key that signs access tokens, opened the way only the platform itself can.
async fn platform_signer(p: &TestPlatform) -> (Ed25519KeyPair, String) {
    let mut session = p.store().read().await.expect("the database reads");
    let keys = session.list_token_keys().await.expect("the keys are listed");
    let key = keys.iter().find(|key| key.retired_at.is_none()).expect("one key signs");
    let secret =
        session.find_secret(key.secret_id).await.expect("the secret is read").expect("the secret is there");
    drop(session);
    let seed = p.plane().open_secret(SecretClass::Operator, &secret).await.expect("the secret opens");
    let pair =
        Ed25519KeyPair::from_seed_and_public_key(seed.expose(), &key.public_key).expect("the halves fit");
    (pair, key.id.to_string())
}

impl Scene {
    async fn set(p: &TestPlatform) -> Self {
        let anonymous = p.anonymous();
        let (home, other_home) = (p.home("acme").await, p.home("rival").await);
        let (account, pair) =
            p.admin.create_service_account(&home.project, "robot", &["project-admin"]).await;
        let (other_account, other_pair) =
            p.admin.create_service_account(&other_home.project, "rival", &[]).await;
        let login = json!({"email": p.admin_email, "password": p.admin_password});
        let signed_in = anonymous.call(Route::Login, &[], Some(&login)).await.expect(200);
        let cookie =
            signed_in.header("set-cookie").and_then(|text| text.split(';').next()).expect("a cookie");
        let (cookie_name, session) = cookie.split_once('=').expect("a name and a value");
        let token = |answer: Answer| answer.body["secret"].as_str().expect("a token").to_owned();
        let personal =
            token(p.admin.call(Route::TokenCreate, &[], Some(&json!({"name": "one"}))).await.expect(201));
        let (person, user) = p.person("mallory").await;
        let other_personal =
            token(person.call(Route::TokenCreate, &[], Some(&json!({"name": "two"}))).await.expect(201));
        let email = Email::parse(&p.admin_email).expect("an address");
        let link = bootstrap::make_login_link(p.plane(), &email).await.expect("a link").expose().clone();
        let wrapped = json!({"name": "wrapped", "key_delivery": "wrapped"});
        let wrapped =
            p.admin.call(Route::ServiceAccountCreate, &[&home.project], Some(&wrapped)).await.expect(201);
        let wrap = wrapped.body["wrapped_private_key"]["token"].as_str().expect("a wrap token").to_owned();
        let (signer, signer_id) = platform_signer(p).await;
        let node_pair = KeyPair::generate();
        let node = crate::nodes::join(p, &node_pair, "edge").await;
        Self {
            node,
            node_pair,
            anonymous,
            cookie_name: cookie_name.to_owned(),
            session: session.to_owned(),
            personal,
            other_personal,
            link,
            wrap,
            home,
            other_home,
            account,
            pair,
            other_account,
            other_pair,
            user,
            platform_id: p.platform_id(),
            signer,
            signer_id,
            now: p.now_seconds(),
        }
    }

    fn access(&self) -> Token<'_> {
        let claims = json!({
            "iss": self.platform_id, "aud": "gpuaas-api", "sub": self.account, "tenant_id": self.home.tenant,
            "project_id": self.home.project, "key_id": self.pair.key_id, "jti": "0123456789abcdef",
            "iat": self.now, "exp": self.now + 600,
        });
        let header = json!({"alg": "EdDSA", "typ": ACCESS_TYPE, "kid": self.signer_id});
        Token { family: "access", key: &self.signer, header, claims, genuine_at: &[Verifier::Bearer] }
    }

    fn assertion(&self, nonce: &str) -> Token<'_> {
        let claims = json!({
            "iss": self.account, "sub": self.account, "aud": self.platform_id, "jti": nonce,
            "iat": self.now, "exp": self.now + 240,
        });
        let header = json!({"alg": "EdDSA", "typ": ASSERTION_TYPE, "kid": self.pair.key_id});
        let genuine_at = &[Verifier::Exchange, Verifier::ExchangeAlias];
        Token { family: "assertion", key: &self.pair.pair, header, claims, genuine_at }
    }

    fn node_access(&self) -> Token<'_> {
        let claims = json!({
            "iss": self.platform_id, "aud": "gpuaas-node", "sub": self.node, "jti": "0123456789abcdef",
            "iat": self.now, "exp": self.now + 600,
        });
        let header = json!({"alg": "EdDSA", "typ": NODE_ACCESS_TYPE, "kid": self.signer_id});
        Token {
            family: "node access",
            key: &self.signer,
            header,
            claims,
            genuine_at: &[Verifier::NodeBearer],
        }
    }

    fn node_assertion(&self, nonce: &str) -> Token<'_> {
        let claims = json!({
            "iss": self.node, "sub": self.node, "aud": "gpuaas-node-token", "jti": nonce,
            "iat": self.now, "exp": self.now + 240,
        });
        let header = json!({"alg": "EdDSA", "typ": NODE_ASSERTION_TYPE, "kid": self.node});
        let genuine_at = &[Verifier::NodeExchange];
        Token { family: "node assertion", key: &self.node_pair.pair, header, claims, genuine_at }
    }
}

/// A token before it is written down, right in everything.
struct Token<'s> {
    family: &'static str,
    key: &'s Ed25519KeyPair,
    header: Value,
    claims: Value,
    genuine_at: &'static [Verifier],
}

fn part(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn with(object: &Value, name: &str, value: Value) -> String {
    let mut changed = object.clone();
    changed[name] = value;
    changed.to_string()
}

fn without(object: &Value, name: &str) -> String {
    let mut changed = object.clone();
    changed.as_object_mut().expect("an object").remove(name);
    changed.to_string()
}

/// The object with one more member in front, which may be there already.
fn twice(object: &Value, name: &str, value: &Value) -> String {
    object.to_string().replacen('{', &format!("{{{}:{value},", json!(name)), 1)
}

impl Token<'_> {
    fn is_access(&self) -> bool {
        self.family.ends_with("access")
    }

    /// Signed over exactly these texts.
    fn written(&self, header: impl AsRef<[u8]>, claims: impl AsRef<[u8]>) -> String {
        let signed = format!("{}.{}", part(header), part(claims));
        format!("{signed}.{}", part(self.key.sign(signed.as_bytes())))
    }

    fn genuine(&self) -> String {
        self.written(self.header.to_string(), self.claims.to_string())
    }

    fn with_header(&self, header: String) -> String {
        self.written(header, self.claims.to_string())
    }

    fn with_claims(&self, claims: String) -> String {
        self.written(self.header.to_string(), claims)
    }

    fn hmac(&self, key: &[u8]) -> String {
        let signed =
            format!("{}.{}", part(with(&self.header, "alg", json!("HS256"))), part(self.claims.to_string()));
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key);
        format!("{signed}.{}", part(ring::hmac::sign(&key, signed.as_bytes())))
    }

    fn named(&self, forged: Vec<(&str, String)>) -> Vec<Forged> {
        let named =
            |(name, value)| Forged { name: format!("{} with {name}", self.family), value, genuine_at: &[] };
        forged.into_iter().map(named).collect()
    }

    /// Algorithms and types that are not ours to accept.
    fn wrong_algorithms(&self) -> Vec<Forged> {
        let public = self.key.public_key().as_ref();
        let alg = |value: Value| self.with_header(with(&self.header, "alg", value));
        let typ = |value: Value| self.with_header(with(&self.header, "typ", value));
        let unsigned = |name: &str| {
            format!("{}.{}.", part(with(&self.header, "alg", json!(name))), part(self.claims.to_string()))
        };
        let other_type = if self.is_access() { ASSERTION_TYPE } else { ACCESS_TYPE };
        self.named(vec![
            ("alg none and no signature", unsigned("none")),
            ("alg None and no signature", unsigned("None")),
            ("alg NONE and no signature", unsigned("NONE")),
            ("alg none and a good signature", alg(json!("none"))),
            ("alg HS256 keyed with the public key", self.hmac(public)),
            ("alg HS256 keyed with the public key's text", self.hmac(part(public).as_bytes())),
            ("alg HS256 keyed with nothing", self.hmac(b"")),
            ("alg RS256", alg(json!("RS256"))),
            ("alg ES256", alg(json!("ES256"))),
            ("alg PS512", alg(json!("PS512"))),
            ("alg Ed25519", alg(json!("Ed25519"))),
            ("alg EdDSA and a space", alg(json!("EdDSA "))),
            ("alg eddsa", alg(json!("eddsa"))),
            ("alg empty", alg(json!(""))),
            ("alg null", alg(Value::Null)),
            ("alg a list", alg(json!(["EdDSA"]))),
            ("no alg", self.with_header(without(&self.header, "alg"))),
            ("no typ", self.with_header(without(&self.header, "typ"))),
            ("typ JWT", typ(json!("JWT"))),
            ("typ at+jwt", typ(json!("at+jwt"))),
            ("typ of the other kind", typ(json!(other_type))),
            ("typ in capitals", typ(json!(self.header["typ"].as_str().map(str::to_uppercase)))),
            (
                "typ as a media type",
                typ(json!(format!("application/{}", self.header["typ"].as_str().expect("a type")))),
            ),
            ("typ a list", typ(json!([self.header["typ"]]))),
        ])
    }

    /// Keys the token would like to be checked with, and headers that bring their own rules.
    fn wrong_keys(&self, scene: &Scene) -> Vec<Forged> {
        let kid = |value: Value| self.with_header(with(&self.header, "kid", value));
        let extra = |name: &str, value: Value| self.with_header(with(&self.header, name, value));
        let own = KeyPair::generate();
        let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": own.public_key()});
        let signed_by_own =
            Token { key: &own.pair, header: self.header.clone(), claims: self.claims.clone(), ..*self };
        let foreign_key = if self.is_access() { &scene.pair.key_id } else { &scene.other_pair.key_id };
        let header = self.header.to_string();
        self.named(vec![
            ("no kid", self.with_header(without(&self.header, "kid"))),
            ("kid of nobody", kid(json!("01890000-0000-7000-8000-000000000000"))),
            ("kid of another key", kid(json!(foreign_key))),
            ("kid that climbs", kid(json!("../../../../dev/null"))),
            ("kid with SQL", kid(json!("' OR '1'='1' --"))),
            ("kid that drops", kid(json!("x'; DROP TABLE service_accounts; --"))),
            ("kid empty", kid(json!(""))),
            ("kid very long", kid(json!("k".repeat(2000)))),
            ("kid in capitals", kid(json!(self.header["kid"].as_str().map(str::to_uppercase)))),
            ("kid in braces", kid(json!(format!("{{{}}}", self.header["kid"].as_str().expect("a kid"))))),
            ("kid with NUL inside", kid(json!("\0"))),
            ("kid a number", kid(json!(1))),
            ("kid null", kid(Value::Null)),
            ("own jwk and own signature", signed_by_own.with_header(with(&self.header, "jwk", jwk.clone()))),
            ("own jwk and a good signature", extra("jwk", jwk)),
            ("jku", extra("jku", json!("https://attacker.example/keys.json"))),
            ("x5u", extra("x5u", json!("https://attacker.example/chain.pem"))),
            ("x5c", extra("x5c", json!(["MIIB"]))),
            ("crit", extra("crit", json!(["exp"]))),
            ("b64 false", extra("b64", json!(false))),
            ("zip", extra("zip", json!("DEF"))),
            ("alg none before alg", self.with_header(twice(&self.header, "alg", &json!("none")))),
            ("alg twice alike", self.with_header(twice(&self.header, "alg", &json!("EdDSA")))),
            ("kid twice", self.with_header(twice(&self.header, "kid", &json!(scene.other_pair.key_id)))),
            ("a header in a list", self.with_header(format!("[{header}]"))),
            ("a header that is text", self.with_header(json!(header).to_string())),
            ("a header and more", self.with_header(format!("{header}{{}}"))),
            ("a header with a byte-order mark", self.with_header(format!("\u{feff}{header}"))),
            ("an empty header", self.with_header(String::new())),
            ("a header that is not UTF-8", self.written([b'{', 0xff, 0xfe, b'}'], self.claims.to_string())),
        ])
    }

    /// Claims that are wrong although the right key signed them.
    fn wrong_claims(&self, scene: &Scene) -> Vec<Forged> {
        let claim = |name: &str, value: Value| self.with_claims(with(&self.claims, name, value));
        let no = |name: &str| self.with_claims(without(&self.claims, name));
        let (iat, text) = (scene.now, self.claims.to_string());
        let longest = if self.is_access() { 900 } else { 300 };
        let times = |iat: i64, exp: i64| {
            let mut claims = self.claims.clone();
            claims["iat"] = json!(iat);
            claims["exp"] = json!(exp);
            self.with_claims(claims.to_string())
        };
        let other_audience = if self.is_access() { scene.platform_id.as_str() } else { "gpuaas-api" };
        self.named(vec![
            ("aud of somebody else", claim("aud", json!("someone-else"))),
            ("aud of another platform", claim("aud", json!("01890000-0000-7000-8000-00000000000a"))),
            ("aud of the other kind", claim("aud", json!(other_audience))),
            ("aud a list", claim("aud", json!([self.claims["aud"]]))),
            ("aud empty", claim("aud", json!(""))),
            (
                "aud and a space",
                claim("aud", json!(format!("{} ", self.claims["aud"].as_str().expect("text")))),
            ),
            ("no aud", no("aud")),
            ("iss of somebody else", claim("iss", json!(scene.other_account))),
            ("iss an address", claim("iss", json!("https://attacker.example"))),
            ("iss null", claim("iss", Value::Null)),
            ("no iss", no("iss")),
            ("sub of another account", claim("sub", json!(scene.other_account))),
            ("sub of a person", claim("sub", json!(scene.user))),
            ("sub in capitals", claim("sub", json!(scene.account.to_uppercase()))),
            ("sub of nobody", claim("sub", json!("01890000-0000-7000-8000-00000000000b"))),
            ("no sub", no("sub")),
            ("no exp", no("exp")),
            ("exp text", claim("exp", json!((iat + 60).to_string()))),
            ("exp a fraction", claim("exp", json!(60.5))),
            ("exp negative", claim("exp", json!(-1))),
            ("exp at the end of time", claim("exp", json!(i64::MAX))),
            (
                "exp beyond the end of time",
                self.with_claims(text.replace(&format!("\"exp\":{}", self.claims["exp"]), "\"exp\":1e300")),
            ),
            ("exp at iat", claim("exp", json!(iat))),
            ("exp before iat", claim("exp", json!(iat - 1))),
            ("exp long past", times(iat - 700, iat - 500)),
            ("a life one second too long", times(iat, iat + longest + 1)),
            ("a life of a year", times(iat, iat + 31_536_000)),
            ("an overflowing life", times(i64::MIN, i64::MAX)),
            ("iat in the future", times(iat + 600, iat + 700)),
            ("iat text", claim("iat", json!(iat.to_string()))),
            ("no iat", no("iat")),
            ("nbf", claim("nbf", json!(iat))),
            ("a claim of its own", claim("admin", json!(true))),
            ("no jti", no("jti")),
            ("sub twice", self.with_claims(twice(&self.claims, "sub", &json!(scene.other_account)))),
            ("exp twice", self.with_claims(twice(&self.claims, "exp", &json!(iat + 60)))),
            ("claims in a list", self.with_claims(format!("[{text}]"))),
            ("claims that are text", self.with_claims(json!(text).to_string())),
            ("claims null", self.with_claims("null".into())),
            ("claims empty", self.with_claims(String::new())),
            ("claims and more", self.with_claims(format!("{text} {text}"))),
            ("claims nested deep", self.with_claims("[".repeat(1500))),
        ])
    }

    /// Signatures of something else, by somebody else, or not quite.
    fn wrong_signatures(&self, scene: &Scene) -> Vec<Forged> {
        let genuine = self.genuine();
        let (signed, signature) = genuine.rsplit_once('.').expect("three parts");
        let bytes = URL_SAFE_NO_PAD.decode(signature).expect("base64url");
        let and = |signature: &[u8]| format!("{signed}.{}", part(signature));
        let flipped = |index: usize| {
            let mut bytes = bytes.clone();
            bytes[index] ^= 1;
            and(&bytes)
        };
        let over = |other: &str| and(self.key.sign(other.as_bytes()).as_ref());
        let other_claims = with(&self.claims, "exp", json!(scene.now + 61));
        let header = part(self.header.to_string());
        let mut swapped = bytes[32..].to_vec();
        swapped.extend_from_slice(&bytes[..32]);
        self.named(vec![
            ("an empty signature", format!("{signed}.")),
            ("a signature one byte short", and(&bytes[..63])),
            ("a signature one byte long", and(&[bytes.as_slice(), &[0]].concat())),
            ("half a signature", and(&bytes[..32])),
            ("a signature of zeroes", and(&[0; 64])),
            ("a signature by another key", and(scene.other_pair.pair.sign(signed.as_bytes()).as_ref())),
            ("the first bit flipped", flipped(0)),
            ("a middle bit flipped", flipped(31)),
            ("the last bit flipped", flipped(63)),
            ("its halves swapped", and(&swapped)),
            ("its other, non-canonical form", and(&plus_order(&bytes))),
            ("stray bits in the last letter", stray_bits(&genuine)),
            (
                "a signature over another header",
                over(&format!("{}.{}", part("{}"), part(self.claims.to_string()))),
            ),
            ("a signature over other claims", over(&format!("{header}.{}", part(&other_claims)))),
            ("other claims under its signature", format!("{header}.{}.{signature}", part(&other_claims))),
            ("a signature over the plain claims", over(&self.claims.to_string())),
            ("a signature over nothing", over("")),
        ])
    }

    /// The right token, written the wrong way.
    fn wrong_spelling(&self) -> Vec<Forged> {
        let genuine = self.genuine();
        let parts: Vec<&str> = genuine.split('.').collect();
        let [header, claims, signature] = parts.as_slice() else { panic!("three parts") };
        let raw = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("base64url");
        let padded = |text: &str| URL_SAFE.encode(raw(text));
        // Some bytes whose standard spelling differs, signed as written.
        let odd = part(with(&self.header, "kid", json!("???>>>~~~")));
        let standard = |text: &str| STANDARD_NO_PAD.encode(raw(text));
        let signed_standard = format!("{}.{}", standard(&odd), standard(claims));
        let mut forms = vec![
            ("one part", (*header).to_owned()),
            ("two parts", format!("{header}.{claims}")),
            ("four parts", format!("{genuine}.{signature}")),
            ("five parts", format!("{header}..{claims}..{signature}")),
            ("an empty part", format!("{header}..{signature}")),
            ("a dot in front", format!(".{genuine}")),
            ("a dot behind", format!("{genuine}.")),
            ("padding behind the header", format!("{header}=.{claims}.{signature}")),
            ("padding behind the claims", format!("{header}.{claims}=.{signature}")),
            ("padding behind the signature", format!("{header}.{claims}.{}", padded(signature))),
            (
                "the standard alphabet",
                format!("{signed_standard}.{}", part(self.key.sign(signed_standard.as_bytes()))),
            ),
            ("the standard alphabet in the signature", format!("{header}.{claims}.{}+/", &signature[..84])),
            (
                "standard base64 all over",
                format!(
                    "{}.{}.{}",
                    STANDARD.encode(raw(header)),
                    STANDARD.encode(raw(claims)),
                    STANDARD.encode(raw(signature))
                ),
            ),
            ("a space inside", format!("{header}. {claims}.{signature}")),
            ("a tab inside", format!("{header}.{claims}.\t{signature}")),
            ("plain JSON parts", format!("{}.{}.{signature}", self.header, self.claims)),
            (
                "the JSON form",
                json!({"protected": header, "payload": claims, "signature": signature}).to_string(),
            ),
            ("ten thousand bytes", self.with_claims(with(&self.claims, "jti", json!("j".repeat(7500))))),
            ("ten thousand letters behind", format!("{genuine}{}", "A".repeat(10_000))),
            ("Bearer in front", format!("Bearer {genuine}")),
            ("quotes around", format!("\"{genuine}\"")),
        ];
        if let Some(upper) = Some(genuine.to_uppercase()).filter(|upper| *upper != genuine) {
            forms.push(("capitals", upper));
        }
        self.named(forms)
    }
}

fn plus_order(signature: &[u8]) -> Vec<u8> {
    let mut out = signature.to_vec();
    let mut carry = 0u16;
    for (byte, order) in out[32..].iter_mut().zip(GROUP_ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = u8::try_from(sum & 0xff).expect("eight bits");
        carry = sum >> 8;
    }
    out
}

/// The same bytes to a lenient decoder: 64 bytes leave four bits of the last letter unused.
fn stray_bits(token: &str) -> String {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (rest, last) = token.split_at(token.len() - 1);
    let index = ALPHABET.find(last).expect("a letter of base64url");
    format!("{rest}{}", &ALPHABET[index + 1..index + 2])
}

/// Tokens signed by the right key that say something else about places and nonces.
fn wrong_places(scene: &Scene) -> Vec<Forged> {
    let access = scene.access();
    let assertion = scene.assertion("place-nonce-0123456789");
    let moved = |tenant: &str, project: &str| {
        let mut claims = access.claims.clone();
        claims["tenant_id"] = json!(tenant);
        claims["project_id"] = json!(project);
        access.with_claims(claims.to_string())
    };
    let claim = |name: &str, value: Value| access.with_claims(with(&access.claims, name, value));
    let said = |name: &str, value: Value| assertion.with_claims(with(&assertion.claims, name, value));
    let as_other = |sub: &str, key_id: &str| {
        let mut claims = access.claims.clone();
        claims["sub"] = json!(sub);
        claims["key_id"] = json!(key_id);
        access.with_claims(claims.to_string())
    };
    let mut forged = access.named(vec![
        ("another tenant and project", moved(&scene.other_home.tenant, &scene.other_home.project)),
        ("another project", moved(&scene.home.tenant, &scene.other_home.project)),
        ("another tenant", moved(&scene.other_home.tenant, &scene.home.project)),
        ("tenant and project exchanged", moved(&scene.home.project, &scene.home.tenant)),
        ("tenant null", claim("tenant_id", Value::Null)),
        ("no project", access.with_claims(without(&access.claims, "project_id"))),
        ("another account's key", claim("key_id", json!(scene.other_pair.key_id))),
        ("nobody's key", claim("key_id", json!("01890000-0000-7000-8000-00000000000c"))),
        ("no key", access.with_claims(without(&access.claims, "key_id"))),
        ("another account in this project", as_other(&scene.other_account, &scene.other_pair.key_id)),
    ]);
    forged.extend(assertion.named(vec![
        ("a nonce too short", said("jti", json!("0123456789abcde"))),
        ("a nonce too long", said("jti", json!("n".repeat(129)))),
        ("an odd nonce", said("jti", json!("0123456789abcdef/../x"))),
        ("an empty nonce", said("jti", json!(""))),
        ("a nonce that is a number", said("jti", json!(1_234_567_890_123_456_u64))),
    ]));
    forged
}

/// Opaque credentials: of another kind, cut, mixed, and simply elsewhere.
fn opaque(scene: &Scene) -> Vec<Forged> {
    let named = |name: &str, value: String, genuine_at| Forged { name: name.into(), value, genuine_at };
    // Prefix and id have 37 letters; the secret's own alphabet holds the separator too.
    let (head, secret) = (&scene.personal[..37], &scene.personal[38..]);
    let (other_head, _) = scene.other_personal.split_at(37);
    let mut forged = vec![
        named("a session", scene.session.clone(), &[Verifier::Cookie] as &'static [Verifier]),
        named("a personal token", scene.personal.clone(), &[Verifier::Bearer]),
        named("a sign-in link's code", scene.link.clone(), &[Verifier::Link]),
        named("a wrap token", scene.wrap.clone(), &[Verifier::Unwrap]),
        named("an access token", scene.access().genuine(), &[Verifier::Bearer]),
        named(
            "an assertion",
            scene.assertion("elsewhere-0123456789").genuine(),
            &[Verifier::Exchange, Verifier::ExchangeAlias],
        ),
        named("a node's token", scene.node_access().genuine(), &[Verifier::NodeBearer]),
        named(
            "a node's assertion",
            scene.node_assertion("elsewhere-0123456789").genuine(),
            &[Verifier::NodeExchange],
        ),
        named("somebody else's id with this secret", format!("{other_head}_{secret}"), &[]),
        named("a personal token cut", scene.personal[..scene.personal.len() - 1].to_owned(), &[]),
        named("a personal token cut to its id", head.to_owned(), &[]),
        named("a personal token extended", format!("{}A", scene.personal), &[]),
        named("a personal token in capitals", scene.personal.to_uppercase(), &[]),
        named("a personal token padded", format!("{}=", scene.personal), &[]),
        named("a personal token with a space inside", scene.personal.replacen('_', "_ ", 1), &[]),
        named("a personal token with zeroes for its secret", format!("{head}_{}", part([0; 32])), &[]),
        named("nobody's personal token", format!("gpup_{}_{secret}", "0".repeat(32)), &[]),
        named(
            "a personal token's hyphenated id",
            format!("gpup_01890000-0000-7000-8000-00000000000d_{secret}"),
            &[],
        ),
        named("SQL", "gpup_' OR 1=1 --_x".into(), &[]),
        named("a quote", "'".into(), &[]),
        named("a path", "../../../../etc/hostname".into(), &[]),
        named("a format string", "%s%s%n{0}{{7*7}}${7*7}".into(), &[]),
        named("only dots", "..".into(), &[]),
        named("undefined", "undefined".into(), &[]),
        named("null", "null".into(), &[]),
        named("an account's id", scene.account.clone(), &[]),
        named("a user's id", scene.user.clone(), &[]),
    ];
    for (name, genuine) in [
        ("session", &scene.session),
        ("personal token", &scene.personal),
        ("link code", &scene.link),
        ("wrap token", &scene.wrap),
    ] {
        for prefix in ["gpus", "gpup", "gpul", "gpuw", "gpux"] {
            let relabelled = format!("{prefix}{}", &genuine[4..]);
            if relabelled != **genuine {
                forged.push(named(&format!("a {name} called {prefix}"), relabelled, &[]));
            }
        }
    }
    forged
}

fn corpus(scene: &Scene) -> Vec<Forged> {
    let mut all = Vec::new();
    let nonce = "forged-nonce-0123456789";
    for token in [scene.access(), scene.assertion(nonce), scene.node_access(), scene.node_assertion(nonce)] {
        all.extend(token.wrong_algorithms());
        all.extend(token.wrong_keys(scene));
        all.extend(token.wrong_claims(scene));
        all.extend(token.wrong_signatures(scene));
        all.extend(token.wrong_spelling());
        assert!(!token.genuine_at.is_empty());
    }
    all.extend(wrong_places(scene));
    all.extend(opaque(scene));
    all
}

#[track_caller]
fn check_refusal(answer: &Answer, code: &str, what: &str) {
    assert_eq!((answer.status, answer.code()), (401, code), "{what}: {}", answer.text);
    let members: Vec<&str> =
        answer.body["error"].as_object().expect("the envelope").keys().map(String::as_str).collect();
    assert_eq!(members.len(), 5, "{what}: {members:?}");
    for member in ["code", "message", "params", "correlation_id", "fields"] {
        assert!(members.contains(&member), "{what}: no {member}");
    }
    assert!(answer.header("www-authenticate").is_some(), "{what}");
    assert!(answer.header("set-cookie").is_none(), "{what}");
}

both_databases! {
    /// K-07, A08: more than sixty forged credentials, each wrong in one thing, at every verifier: all refused in
    /// the same words, and the genuine ones still work afterwards.
    async fn forged_credentials_open_nothing(p: TestPlatform) {
        let scene = Scene::set(&p).await;
        Verifier::Bearer.ask(&scene, &scene.access().genuine()).await.expect(200);
        Verifier::Exchange.ask(&scene, &scene.assertion("control-0123456789").genuine()).await.expect(200);
        Verifier::NodeBearer.ask(&scene, &scene.node_access().genuine()).await.expect(200);
        Verifier::NodeExchange.ask(&scene, &scene.node_assertion("control-0123456789").genuine()).await.expect(200);

        let corpus = corpus(&scene);
        let mut distinct: Vec<&str> = corpus.iter().map(|forged| forged.value.as_str()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), corpus.len(), "every forgery is another one");
        assert!(corpus.len() >= 590, "{} forgeries; the requirement is 60", corpus.len());
        let mut asked = 0;
        for forged in &corpus {
            for verifier in Verifier::ALL {
                if !forged.genuine_at.contains(&verifier) {
                    let answer = verifier.ask(&scene, &forged.value).await;
                    check_refusal(&answer, verifier.code(), &format!("{} at {verifier:?}", forged.name));
                    asked += 1;
                }
            }
        }
        assert!(asked >= 590 * Verifier::ALL.len() - 20, "{asked} attempts");

        Verifier::Bearer.ask(&scene, &scene.personal).await.expect(200);
        Verifier::Cookie.ask(&scene, &scene.session).await.expect(200);
        Verifier::Link.ask(&scene, &scene.link).await.expect(303);
        Verifier::Unwrap.ask(&scene, &scene.wrap).await.expect(200);
        Verifier::ExchangeAlias.ask(&scene, &scene.assertion("elsewhere-0123456789").genuine()).await.expect(200);
    }

    /// A08: NUL and bytes that are not text are refused at every verifier, without a fault of ours.
    async fn credentials_that_are_not_text_are_refused(p: TestPlatform) {
        let scene = Scene::set(&p).await;
        let token = scene.access().genuine();
        for value in [format!("{token}\0"), format!("\0{token}"), "\0".into(), scene.wrap.replace('_', "\0")] {
            for verifier in [Verifier::Exchange, Verifier::ExchangeAlias, Verifier::Link, Verifier::Unwrap] {
                verifier.ask(&scene, &value).await.expect_error(400, "nul_not_allowed");
            }
        }
        let whoami = format!("{}{}", scene.anonymous.url(), Route::Whoami.row().path);
        for (name, prefix) in [("authorization", "Bearer ".to_owned()), ("cookie", format!("{}=", scene.cookie_name))] {
            for odd in [b"\xff\xfe".as_slice(), b"gpup_\xc3\x28", "gpup_ä".as_bytes()] {
                let value = reqwest::header::HeaderValue::from_bytes(&[prefix.as_bytes(), odd].concat()).expect("a header");
                let answer = scene.anonymous.http().get(&whoami).header(name, value).send().await.expect("an answer");
                assert_eq!(answer.status().as_u16(), 401, "{name} {odd:?}");
            }
        }
        let address = scene.anonymous.url().trim_start_matches("http://").to_owned();
        for raw in ["authorization: Bearer a\0b", "authorization: Bearer a\x01b", "cookie: a\0b"] {
            let status = raw_status(&address, format!("GET /api/v1/auth/whoami HTTP/1.1\r\nhost: {address}\r\n{raw}\r\nconnection: close\r\n\r\n").as_bytes()).await;
            assert!(matches!(status, 400 | 401), "{raw:?}: {status}");
        }
    }

    /// A08: two credentials are no credential, and a wrong one is not saved by a right one beside it.
    async fn credentials_do_not_add_up(p: TestPlatform) {
        let scene = Scene::set(&p).await;
        let whoami = format!("{}{}", scene.anonymous.url(), Route::Whoami.row().path);
        let cookie = format!("{}={}", scene.cookie_name, scene.session);
        let bearer = format!("Bearer {}", scene.personal);
        let get = || scene.anonymous.http().get(&whoami);
        let status = async |request: reqwest::RequestBuilder| request.send().await.expect("an answer").status().as_u16();
        assert_eq!(status(get().header("authorization", &bearer)).await, 200);
        assert_eq!(status(get().header("authorization", &bearer).header("authorization", &bearer)).await, 401);
        assert_eq!(status(get().header("authorization", "Bearer x").header("cookie", &cookie)).await, 401);
        assert_eq!(status(get().header("cookie", format!("{cookie}; {cookie}"))).await, 401);
        assert_eq!(status(get().header("cookie", &cookie).header("cookie", &cookie)).await, 401);
        for scheme in ["Basic", "Digest", "Token", "bearer:", "Bearer:", ""] {
            assert_eq!(status(get().header("authorization", format!("{scheme} {}", scene.personal))).await, 401, "{scheme}");
        }
        assert_eq!(status(get().header("authorization", scene.personal.as_str())).await, 401);
        assert_eq!(status(get().query(&[("access_token", &scene.personal)])).await, 401);
    }
}

/// Asks at exactly this second. The clock runs on while a request travels, so one that crossed into the next
/// second is asked again.
async fn at_second(p: &TestPlatform, second: i64, ask: impl AsyncFn() -> Answer) -> Answer {
    loop {
        p.clock.advance_seconds(second - p.now_seconds());
        let answer = ask().await;
        if p.now_seconds() == second {
            return answer;
        }
    }
}

fn claims_of(token: &str) -> Value {
    let claims = token.split('.').nth(1).expect("three parts");
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).expect("base64url")).expect("claims")
}

async fn exchange(p: &TestPlatform, assertion: &str) -> Answer {
    p.anonymous().call(Route::ServiceAccountToken, &[], Some(&json!({ "assertion": assertion }))).await
}

async fn whoami(caller: &Caller) -> Answer {
    caller.call(Route::Whoami, &[], None).await
}

both_databases! {
    /// K-07, A06: an access token works in its last second and not in the one after.
    async fn a_token_ends_to_the_second(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let assertion = pair.sign(&pair.assertion(&account, &p.platform_id(), p.now_seconds()));
        let token = exchange(&p, &assertion).await.expect(200).body["access_token"].as_str().expect("a token").to_owned();
        let exp = claims_of(&token)["exp"].as_i64().expect("an end");
        let caller = p.anonymous().with_bearer(&token);
        at_second(&p, exp - 1, async || whoami(&caller).await).await.expect(200);
        at_second(&p, exp, async || whoami(&caller).await).await.expect_error(401, "invalid_token");
        at_second(&p, exp + 61, async || whoami(&caller).await).await.expect_error(401, "invalid_token");
    }

    /// K-07, A06: whatever life is asked for, a token lives 900 seconds at most and one at least.
    async fn nobody_gets_a_token_that_lives_longer_than_allowed(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        for asked in [json!(0), json!(1), json!(900), json!(901), json!(86_400), json!(u32::MAX), json!(u64::MAX), json!(-1), json!(1.5), json!("900"), json!(1e99)] {
            let assertion = pair.sign(&pair.assertion(&account, &p.platform_id(), p.now_seconds()));
            let body = json!({"assertion": assertion, "ttl_seconds": asked});
            let answer = p.anonymous().call(Route::ServiceAccountToken, &[], Some(&body)).await;
            if answer.status == 400 {
                assert_eq!(answer.body["error"]["fields"][0]["path"], "/ttl_seconds", "{}", answer.text);
                continue;
            }
            let answer = answer.expect(200);
            let claims = claims_of(answer.body["access_token"].as_str().expect("a token"));
            let life = claims["exp"].as_i64().expect("an end") - claims["iat"].as_i64().expect("a start");
            assert!((1..=900).contains(&life), "{asked} gave {life}");
            assert_eq!(answer.body["expires_in"], life, "{asked}");
        }
    }

    /// A06: machines' clocks may be a minute off either way, and no more.
    async fn an_assertion_may_be_a_minute_off_and_not_more(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let platform = p.platform_id();
        let second = p.now_seconds() + 1000;
        let (account, pair, platform, p) = (&account, &pair, &platform, &p);
        let ask = async |iat: i64, life: i64| {
            at_second(p, second, async || {
                let mut assertion = pair.assertion(account, platform, iat);
                assertion.exp = iat + life;
                exchange(p, &pair.sign(&assertion)).await
            })
            .await
        };
        ask(second + 60, 60).await.expect(200);
        ask(second + 61, 60).await.expect_error(401, "invalid_assertion");
        ask(second - 119, 60).await.expect(200);
        ask(second - 120, 60).await.expect_error(401, "invalid_assertion");
        ask(second, 300).await.expect(200);
        ask(second, 301).await.expect_error(401, "invalid_assertion");
        ask(second, 0).await.expect_error(401, "invalid_assertion");
    }

    /// K-07: of twenty simultaneous uses of one assertion one gets a token, the others are told why not.
    async fn an_assertion_is_good_for_one_token(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let assertion = pair.sign(&pair.assertion(&account, &p.platform_id(), p.now_seconds()));
        let answers = join_all((0..20).map(|_| exchange(&p, &assertion))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        for answer in answers.into_iter().filter(|answer| answer.status != 200) {
            check_refusal(&answer, "assertion_replayed", "a second use");
        }
        let alias = p.anonymous().call(Route::ServiceAccountTokenAlias, &[], Some(&json!({ "assertion": assertion }))).await;
        alias.expect_error(401, "assertion_replayed");
    }

    /// K-07: time and housekeeping do not make a used assertion good again.
    async fn a_used_assertion_stays_used(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let claims = pair.assertion(&account, &p.platform_id(), p.now_seconds());
        let assertion = pair.sign(&claims);
        exchange(&p, &assertion).await.expect(200);
        for second in [claims.exp - 1, claims.exp + 59] {
            let again = at_second(&p, second, async || {
                p.sweep().await;
                exchange(&p, &assertion).await
            });
            again.await.expect_error(401, "assertion_replayed");
        }
        at_second(&p, claims.exp + 60, async || exchange(&p, &assertion).await).await.expect_error(401, "invalid_assertion");
        p.clock.advance_seconds(86_400);
        p.sweep().await;
        exchange(&p, &assertion).await.expect_error(401, "invalid_assertion");
    }

    /// K-07: a nonce is one account's own; another may happen to choose the same.
    async fn nonces_of_two_accounts_do_not_meet(p: TestPlatform) {
        let home = p.home("acme").await;
        for name in ["one", "two"] {
            let (account, pair) = p.admin.create_service_account(&home.project, name, &[]).await;
            let mut claims = pair.assertion(&account, &p.platform_id(), p.now_seconds());
            claims.jti = "the-same-nonce-for-both".into();
            exchange(&p, &pair.sign(&claims)).await.expect(200);
            exchange(&p, &pair.sign(&claims)).await.expect_error(401, "assertion_replayed");
        }
    }

    /// K-07: disabling an account ends its unexpired tokens at once, and it gets no new ones.
    async fn a_disabled_account_is_out_at_once(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let machine = p.machine(&account, &pair).await;
        whoami(&machine).await.expect(200);
        p.admin.call(Route::ServiceAccountDisable, &[&home.project, &account], None).await.expect(200);
        whoami(&machine).await.expect_error(401, "account_disabled");
        let assertion = pair.sign(&pair.assertion(&account, &p.platform_id(), p.now_seconds()));
        exchange(&p, &assertion).await.expect_error(401, "account_disabled");
    }

    /// K-07: deleting an account ends its unexpired tokens at once, and its key is nobody's.
    async fn a_deleted_account_is_out_at_once(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let machine = p.machine(&account, &pair).await;
        p.admin.call(Route::ServiceAccountDelete, &[&home.project, &account], None).await.expect(204);
        whoami(&machine).await.expect_error(401, "invalid_token");
        let assertion = pair.sign(&pair.assertion(&account, &p.platform_id(), p.now_seconds()));
        exchange(&p, &assertion).await.expect_error(401, "invalid_assertion");
    }

    /// K-07, D-24: a suspended project or tenant stops its machines at once; resumed, they go on.
    async fn a_suspended_home_stops_its_machines(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, pair) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let machine = p.machine(&account, &pair).await;
        for (suspend, resume, id) in [
            (Route::ProjectSuspend, Route::ProjectResume, &home.project),
            (Route::TenantSuspend, Route::TenantResume, &home.tenant),
        ] {
            p.admin.call(suspend, &[id], None).await.expect(200);
            whoami(&machine).await.expect_error(401, "account_disabled");
            let assertion = pair.sign(&pair.assertion(&account, &p.platform_id(), p.now_seconds()));
            exchange(&p, &assertion).await.expect_error(401, "account_disabled");
            p.admin.call(resume, &[id], None).await.expect(200);
            whoami(&machine).await.expect(200);
        }
    }

    /// K-07: rotated without overlap, the old key and every token it bought are out at once; the new key works.
    async fn a_key_rotated_without_overlap_ends_at_once(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, old) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let machine = p.machine(&account, &old).await;
        let new = rotate(&p, &home, &account, json!({"overlap_seconds": 0})).await;
        whoami(&machine).await.expect_error(401, "invalid_token");
        let assertion = old.sign(&old.assertion(&account, &p.platform_id(), p.now_seconds()));
        exchange(&p, &assertion).await.expect_error(401, "invalid_assertion");
        whoami(&p.machine(&account, &new).await).await.expect(200);
    }

    /// K-07: by default the old key works five minutes more, then neither it nor the tokens it bought.
    async fn a_rotated_key_overlaps_for_five_minutes(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, old) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        let rotated_at = p.now_seconds();
        let new = rotate(&p, &home, &account, json!({})).await;
        let (account, pair, platform, p) = (&account, &old, p.platform_id(), &p);
        let with_old = async |second: i64| {
            at_second(p, second, async || exchange(p, &pair.sign(&pair.assertion(account, &platform, second))).await).await
        };
        let bought = with_old(rotated_at + 299).await.expect(200);
        let machine = p.anonymous().with_bearer(bought.body["access_token"].as_str().expect("a token"));
        at_second(p, rotated_at + 299, async || whoami(&machine).await).await.expect(200);
        whoami(&p.machine(account, &new).await).await.expect(200);
        // The rotation itself happened a moment after the note was taken.
        with_old(rotated_at + 360).await.expect_error(401, "invalid_assertion");
        whoami(&machine).await.expect_error(401, "invalid_token");
        whoami(&p.machine(account, &new).await).await.expect(200);
    }

    /// K-07: an overlap is an hour at most, and a second rotation does not give an old key more time.
    async fn an_overlap_cannot_be_stretched(p: TestPlatform) {
        let home = p.home("acme").await;
        let (account, old) = p.admin.create_service_account(&home.project, "robot", &[]).await;
        for wrong in [json!(3601), json!(-1), json!("300"), json!(u64::MAX)] {
            let body = json!({"overlap_seconds": wrong, "public_key": KeyPair::generate().public_key()});
            let answer = p.admin.call(Route::ServiceAccountRotateKey, &[&home.project, &account], Some(&body)).await;
            assert_eq!(answer.expect(400).body["error"]["fields"][0]["path"], "/overlap_seconds");
        }
        rotate(&p, &home, &account, json!({"overlap_seconds": 10})).await;
        let newest = rotate(&p, &home, &account, json!({"overlap_seconds": 3600})).await;
        p.clock.advance_seconds(15);
        let assertion = old.sign(&old.assertion(&account, &p.platform_id(), p.now_seconds()));
        exchange(&p, &assertion).await.expect_error(401, "invalid_assertion");
        whoami(&p.machine(&account, &newest).await).await.expect(200);
    }
}

async fn rotate(p: &TestPlatform, home: &Home, account: &str, mut body: Value) -> KeyPair {
    let mut new = KeyPair::generate();
    body["public_key"] = json!(new.public_key());
    let answer = p
        .admin
        .call(Route::ServiceAccountRotateKey, &[&home.project, account], Some(&body))
        .await
        .expect(200);
    answer.body["key"]["id"].as_str().expect("a key").clone_into(&mut new.key_id);
    new
}

/// A06: the configuration can shorten the life of machine tokens; asking does not lengthen it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_configured_life_is_the_longest_there_is() {
    let p =
        TestPlatform::start_with(Database::Sqlite, "[auth]\nservice_account_token_ttl_seconds = 60").await;
    let home = p.home("acme").await;
    let (account, pair) = p.admin.create_service_account(&home.project, "robot", &[]).await;
    for (asked, given) in [(json!(900), 60), (json!(61), 60), (json!(30), 30), (Value::Null, 60)] {
        let assertion = pair.sign(&pair.assertion(&account, &p.platform_id(), p.now_seconds()));
        let body = json!({"assertion": assertion, "ttl_seconds": asked});
        let answer = p.anonymous().call(Route::ServiceAccountToken, &[], Some(&body)).await.expect(200);
        assert_eq!(answer.body["expires_in"], given, "{asked}");
    }
}

/// Attack 21, N09: machines and apps of a node share its address. Noise from there locks out strangers, and nobody who has shown
/// their key before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_from_an_address_locks_out_no_proven_key() {
    let p = TestPlatform::start_with(Database::Sqlite, "credentials_per_second = 4").await;
    let home = p.home("acme").await;
    let (account, pair) = p.admin.create_service_account(&home.project, "robot", &[]).await;
    let (stranger, unseen) = p.admin.create_service_account(&home.project, "unseen", &[]).await;
    let assertion = |account: &str, pair: &KeyPair| {
        pair.sign(&pair.assertion(account, &p.platform_id(), p.now_seconds()))
    };
    exchange(&p, &assertion(&account, &pair)).await.expect(200);
    let mut refused = 0;
    for number in 0..60 {
        let forged = format!("e30.{number}.c2ln");
        refused += u32::from(exchange(&p, &forged).await.status == 429);
    }
    assert!(refused > 20, "{refused}");
    exchange(&p, &assertion(&stranger, &unseen)).await.expect_error(429, "too_many_requests");
    exchange(&p, &assertion(&account, &pair)).await.expect(200);
}
