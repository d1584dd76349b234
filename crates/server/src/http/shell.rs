//! The web shell: files built into the program (`web/dist`), served where no route of the table answers.
//!
//! They are the same for everybody and hold no data, so they are no routes: what a page shows comes from the API with the
//! caller's own session. Any path that is not the API's and that a browser navigates to gets the one page, whose script
//! reads the address. Everything else that has no route stays the API's plain 404, so that a client with a typing error
//! learns of it in JSON.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};

use super::door::{self, App, AppState};

/// One file of the shell.
struct Embedded {
    path: &'static str,
    plain: &'static [u8],
    packed: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/shell.rs"));

const INDEX: &str = "/index.html";
/// Names below it hold a hash of what is inside.
const HASHED: &str = "/assets/";
/// What belongs to the API, the registry and the aliases of the contract: never a page.
const NOT_PAGES: &[&str] = &["/api", "/auth", "/v2", "/apps", "/admin", "/assets"];

const UNBUILT: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>GPUaaS</title></head><body>\
    <h1>The web shell is not in this program</h1><p>It was compiled without <code>web/dist</code>. Run <code>./run</code>, \
    or <code>npm --prefix web ci &amp;&amp; npm --prefix web run build</code> and compile again. The API works without it: \
    <a href=\"/api/docs\">read and try it</a>.</p></body></html>";

/// Whether somebody looks at this with a browser, as opposed to a program that takes anything.
pub(super) fn wants_page(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|accepted| accepted.split(',').any(|kind| kind.trim().starts_with("text/html")))
}

/// Answers what has no route.
pub(super) async fn serve(State(app): State<AppState>, request: Request) -> Response {
    let path = request.uri().path();
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return door::no_route().await.into_response();
    }
    if path != INDEX
        && let Some(found) = file(path, request.headers())
    {
        return found;
    }
    let is_page = !NOT_PAGES
        .iter()
        .any(|prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
    if is_page && (path == "/" || wants_page(request.headers())) {
        return index(&app, request.headers());
    }
    door::no_route().await.into_response()
}

fn index(app: &App, headers: &HeaderMap) -> Response {
    let mut response = file(INDEX, headers).unwrap_or_else(|| {
        let kind = HeaderValue::from_static("text/html; charset=utf-8");
        ([(header::CONTENT_TYPE, kind)], UNBUILT).into_response()
    });
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(policy) = HeaderValue::from_str(&policy(&app_frames(app))) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// What the page may do: only what this server sends, no script or style written into it, apps in frames of their own.
fn policy(frames: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; \
         frame-src {frames}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
}

/// Whose pages may stand in a frame of ours: the apps', where the gateway has a domain for them.
fn app_frames(app: &App) -> String {
    app.gateway.get().map_or_else(|| "'none'".to_owned(), |gateway| gateway.names().frame_source())
}

fn file(path: &str, headers: &HeaderMap) -> Option<Response> {
    let Embedded { path: name, plain, packed } = FILES.iter().find(|file| file.path == path)?;
    let kind = HeaderValue::from_static(media_type(name));
    let keep = if name.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let packed = packed.filter(|_| takes_gzip(headers));
    let mut response = packed.unwrap_or(plain).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if packed.is_some() {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Some(response)
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted =
        headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0_f32));
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" | "webmanifest" => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn only_who_asks_for_a_page_gets_one() {
        assert!(wants_page(&headers(header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")));
        assert!(!wants_page(&headers(header::ACCEPT, "*/*")));
        assert!(!wants_page(&headers(header::ACCEPT, "application/json")));
        assert!(!wants_page(&HeaderMap::new()));
    }

    #[test]
    fn packed_files_go_only_to_those_who_take_them() {
        assert!(takes_gzip(&headers(header::ACCEPT_ENCODING, "gzip, deflate, br")));
        assert!(takes_gzip(&headers(header::ACCEPT_ENCODING, "br;q=1, GZIP;q=0.8")));
        assert!(!takes_gzip(&headers(header::ACCEPT_ENCODING, "gzip;q=0, identity")));
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    /// The page can run nothing that this server did not send as a file.
    #[test]
    fn the_policy_allows_no_inline_script_and_no_other_host() {
        let policy = policy("http://*.apps.localhost:8080");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(
            policy.starts_with("default-src 'none';") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert!(policy.contains("frame-src http://*.apps.localhost:8080;"), "{policy}");
    }
}
