//! Cookies: ours is taken out before the app sees it, the app's are kept to its own origin.

use bytes::Bytes;
use hyper::header::HeaderValue;
use hyper::{HeaderMap, header};

/// Names that apps may neither set nor see.
fn is_reserved(name: &[u8]) -> bool {
    let name = name.trim_ascii();
    let bare = after(name, b"__host-").or_else(|| after(name, b"__secure-")).unwrap_or(name);
    after(bare, b"gpuaas").is_some()
}

/// What follows the beginning, in whatever case that is written.
fn after<'t>(text: &'t [u8], beginning: &[u8]) -> Option<&'t [u8]> {
    let (first, rest) = text.split_at_checked(beginning.len())?;
    first.eq_ignore_ascii_case(beginning).then_some(rest)
}

/// What the `Cookie` headers hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Jar {
    /// The value of our own cookie.
    pub(crate) ours: Option<String>,
    /// What is left for the app, as one header.
    pub(crate) rest: Option<HeaderValue>,
}

/// Takes the cookies apart; `Err` where ours stands twice or cannot be read: then somebody plays with it. The others may
/// hold any bytes: a neighbour's script can leave such a cookie at the common domain, and that must keep nobody out.
pub(crate) fn take_apart(headers: &HeaderMap, our_name: &str) -> Result<Jar, ()> {
    let mut ours = None;
    let mut rest = Vec::new();
    for header in headers.get_all(header::COOKIE) {
        let pairs = header.as_bytes().split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        for pair in pairs.filter(|pair| !pair.is_empty()) {
            let equals = pair.iter().position(|byte| *byte == b'=');
            let (name, value) = equals.map_or((&[][..], pair), |at| (&pair[..at], &pair[at + 1..]));
            if name == our_name.as_bytes() {
                let value = std::str::from_utf8(value).map_err(|_| ())?;
                if ours.replace(value.to_owned()).is_some() {
                    return Err(());
                }
            } else if !is_reserved(name) {
                if !rest.is_empty() {
                    rest.extend_from_slice(b"; ");
                }
                rest.extend_from_slice(pair);
            }
        }
    }
    let rest = (!rest.is_empty()).then(|| HeaderValue::from_maybe_shared(Bytes::from(rest)));
    Ok(Jar { ours, rest: rest.transpose().map_err(|_| ())? })
}

/// Longest `Set-Cookie` that is passed on; browsers take no more.
const MAX_SET_COOKIE: usize = 4096;

/// An app's cookie, kept to its own origin and to the page around it; `None` where it reaches further or takes our name.
///
/// `SameSite=None; Partitioned` is what makes it work inside the platform's pages. It opens nothing: what other pages may
/// send at all is decided before the cookie is looked at.
pub(crate) fn confine(value: &HeaderValue) -> Option<HeaderValue> {
    let text = value.to_str().ok().filter(|text| text.len() <= MAX_SET_COOKIE)?;
    let mut parts = text.split(';').map(str::trim);
    let pair = parts.next()?;
    let (name, _) = pair.split_once('=')?;
    if name.trim().is_empty() || is_reserved(name.as_bytes()) {
        return None;
    }
    let mut confined = pair.to_owned();
    for attribute in parts.filter(|attribute| !attribute.is_empty()) {
        let (key, _) = attribute.split_once('=').unwrap_or((attribute, ""));
        match key.trim().to_ascii_lowercase().as_str() {
            "domain" => return None,
            "path" | "expires" | "max-age" | "httponly" => {
                confined.push_str("; ");
                confined.push_str(attribute);
            }
            // Said below, or unknown and therefore not passed on.
            _ => {}
        }
    }
    confined.push_str("; Secure; SameSite=None; Partitioned");
    HeaderValue::from_str(&confined).ok()
}

/// Our own cookie.
pub(crate) fn ours(name: &str, value: &str, seconds: u64) -> Option<HeaderValue> {
    let text =
        format!("{name}={value}; Path=/; Secure; HttpOnly; SameSite=None; Partitioned; Max-Age={seconds}");
    let mut header = HeaderValue::from_str(&text).ok()?;
    header.set_sensitive(true);
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "__Host-gpuaas_app_0123abcd";

    fn jar(cookies: &[&str]) -> Result<Jar, ()> {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(header::COOKIE, cookie.parse().unwrap());
        }
        take_apart(&headers, NAME)
    }

    /// G01: nothing of ours reaches the app, and everything of the app's does.
    #[test]
    fn ours_is_taken_out_and_the_rest_is_left() {
        let found = jar(&[
            &format!("a=1; {NAME}=secret; b=2"),
            "c=3; gpuaas_session_0123abcd=x; __Host-gpuaas_other=y",
        ])
        .unwrap();
        assert_eq!(found.ours.as_deref(), Some("secret"));
        assert_eq!(found.rest.unwrap(), "a=1; b=2; c=3");
        assert_eq!(jar(&[&format!("{NAME}=secret")]).unwrap().rest, None);
        assert_eq!(jar(&[]).unwrap(), Jar::default());
    }

    /// G07: a second one of ours is refused, whichever comes first.
    #[test]
    fn ours_twice_is_refused() {
        assert!(jar(&[&format!("{NAME}=a; {NAME}=b")]).is_err());
        assert!(jar(&[&format!("{NAME}=a"), &format!("{NAME}=a")]).is_err());
    }

    /// G07: what an app sets stays with its own origin and never takes our name.
    #[test]
    fn an_app_s_cookie_stays_with_the_app() {
        let confined =
            |text: &str| confine(&text.parse().unwrap()).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(
            confined("_xsrf=2|x; Path=/; expires=Wed, 01 Jan 2031 00:00:00 GMT; SameSite=Lax").unwrap(),
            "_xsrf=2|x; Path=/; expires=Wed, 01 Jan 2031 00:00:00 GMT; Secure; SameSite=None; Partitioned"
        );
        for dropped in [
            "a=1; Domain=apps.example.org",
            "a=1; domain=.example.org",
            "a=1; DOMAIN=",
            "__Host-gpuaas_app_0123abcd=stolen; Path=/; Secure",
            "__host-GPUAAS_app_0123abcd=stolen",
            "gpuaas_session_0123abcd=stolen",
            "__Secure-gpuaas=1",
            "=nameless",
            "no-pair",
            "",
        ] {
            assert_eq!(confined(dropped), None, "{dropped}");
        }
        assert_eq!(confined(&format!("a={}", "x".repeat(5000))), None);
        assert_eq!(
            confined("a=1; Priority=High; HttpOnly").unwrap(),
            "a=1; HttpOnly; Secure; SameSite=None; Partitioned"
        );
    }
}
