//! Where a platform is, and what every connection to it has in common.

use std::time::Duration;

use reqwest::Url;

use super::ClientError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What every connection to a platform has in common: no redirects, and whom it trusts.
pub(super) fn builder(base: &Url, ca_pem: Option<&[u8]>) -> Result<reqwest::ClientBuilder, ClientError> {
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("gpuaas/", env!("CARGO_PKG_VERSION")));
    if base.scheme() == "http" {
        // No certificate will be checked; a machine without any roots can still talk to itself.
        return Ok(builder.tls_certs_only([]));
    }
    let Some(pem) = ca_pem else { return Ok(builder) };
    let roots = reqwest::Certificate::from_pem_bundle(pem).map_err(|source| ClientError::Unusable {
        what: format!("the CA file holds no usable certificate: {source}"),
    })?;
    if roots.is_empty() {
        return Err(ClientError::Unusable { what: "the CA file holds no certificate".into() });
    }
    Ok(builder.tls_certs_merge(roots))
}

pub(super) fn no_tls(source: &reqwest::Error) -> ClientError {
    ClientError::Unusable { what: format!("TLS cannot be set up: {source}") }
}

pub(super) fn parse_base(text: &str) -> Result<Url, ClientError> {
    let refuse = |why: &str| ClientError::Unusable { what: format!("{text:?} is not a platform URL: {why}") };
    let url = Url::parse(text).map_err(|source| refuse(&source.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(refuse("write it like https://gpu.example.org"));
    }
    if !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
    {
        return Err(refuse("leave user, query and fragment out"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_origin_is_a_base_url() {
        for good in ["http://127.0.0.1:8080", "https://gpu.example.org/", "https://example.org/gpu"] {
            assert!(parse_base(good).is_ok(), "{good}");
        }
        for bad in
            ["", "gpu.example.org", "ftp://x", "https://a:b@c", "https://c/?q=1", "https://c/#f", "file:///x"]
        {
            assert!(parse_base(bad).is_err(), "{bad}");
        }
    }
}
