//! The contract browser: three files inside the program, no outside host.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use gpuaas_domain::Error;

use super::extract::Call;
use super::meta::Plain;
use super::problem::ApiResult;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

fn file(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    ];
    (headers, text).into_response()
}

pub(super) async fn index() -> Plain {
    Plain(file("text/html; charset=utf-8", include_str!("../../assets/docs/index.html")))
}

pub(super) async fn asset(call: Call) -> ApiResult<Plain> {
    match call.segment("asset") {
        Some("docs.js") => {
            Ok(Plain(file("text/javascript; charset=utf-8", include_str!("../../assets/docs/docs.js"))))
        }
        Some("docs.css") => {
            Ok(Plain(file("text/css; charset=utf-8", include_str!("../../assets/docs/docs.css"))))
        }
        Some(_) | None => Err(Error::not_found().into()),
    }
}
