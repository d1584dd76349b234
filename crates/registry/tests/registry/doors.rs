//! Who may do what, over HTTP.

use axum::http::{HeaderMap, header};
use gpuaas_registry::{Action, Challenge, Checking, Guard, Need, Verdict};
use reqwest::Method;

use crate::world::{Plan, World, noise, sha256};

/// Tokens are lists like `a/b:pull,c:push`. Repositories that start with `private` hide from who may not pull there.
struct TokenGuard;

impl Guard for TokenGuard {
    fn check<'a>(&'a self, headers: &'a HeaderMap, need: Option<&'a Need>) -> Checking<'a> {
        let token =
            headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let verdict = match (token, need) {
            (Some("busy"), _) => Verdict::Unavailable,
            (Some(_), None) => Verdict::Allow,
            (Some(token), Some(Need { repository, action, .. })) => {
                let has =
                    |action: Action| token.split(',').any(|one| one == format!("{repository}:{action}"));
                match has(*action) {
                    true => Verdict::Allow,
                    false if has(Action::Pull) => Verdict::Forbid,
                    false if repository.as_str().starts_with("private") => Verdict::Hide,
                    false => challenge(),
                }
            }
            (None, _) => challenge(),
        };
        Box::pin(std::future::ready(verdict))
    }
}

fn challenge() -> Verdict {
    Verdict::Challenge(Challenge {
        realm: "https://gpuaas.example.com/token".to_owned(),
        service: "registry.gpuaas.example.com".to_owned(),
    })
}

async fn guarded() -> World {
    World::with(Plan::default(), TokenGuard).await
}

/// R05, F-16.
#[tokio::test]
async fn a_caller_without_a_token_learns_where_to_get_one_and_for_what() {
    let world = guarded().await;
    let answer = world.get("/v2/").await.is(401);
    assert_eq!(answer.code(), "UNAUTHORIZED");
    let bearer = "Bearer realm=\"https://gpuaas.example.com/token\",service=\"registry.gpuaas.example.com\"";
    assert_eq!(answer.header("www-authenticate"), bearer);
    let answer = world.get("/v2/a/b/tags/list").await.is(401);
    assert_eq!(answer.header("www-authenticate"), format!("{bearer},scope=\"repository:a/b:pull\""));
    let mount = format!("/v2/a/blobs/uploads/?mount={}&from=c/d", sha256(b""));
    let answer = world.call(Method::POST, &mount).await.is(401);
    let scope = "repository:a:pull,push repository:c/d:pull";
    assert_eq!(answer.header("www-authenticate"), format!("{bearer},scope=\"{scope}\""));
    world.with_token("any").get("/v2/").await.is(200);
    assert_eq!(world.with_token("busy").get("/v2/").await.is(503).code(), "TOOMANYREQUESTS");
}

/// R05: every operation with every single permission, on the repository and on its neighbours.
#[tokio::test]
async fn an_operation_passes_with_its_own_permission_and_with_no_other() {
    let world = guarded().await;
    let (digest, upload) = (sha256(b""), "0".repeat(32));
    let operations = [
        (Method::GET, format!("/v2/a/blobs/{digest}"), "pull"),
        (Method::HEAD, format!("/v2/a/blobs/{digest}"), "pull"),
        (Method::DELETE, format!("/v2/a/blobs/{digest}"), "delete"),
        (Method::POST, "/v2/a/blobs/uploads/".to_owned(), "push"),
        (Method::POST, format!("/v2/a/blobs/uploads/?digest={digest}"), "push"),
        (Method::POST, format!("/v2/a/blobs/uploads/?mount={digest}&from=b"), "push"),
        (Method::GET, format!("/v2/a/blobs/uploads/{upload}"), "push"),
        (Method::PATCH, format!("/v2/a/blobs/uploads/{upload}"), "push"),
        (Method::PUT, format!("/v2/a/blobs/uploads/{upload}?digest={digest}"), "push"),
        (Method::DELETE, format!("/v2/a/blobs/uploads/{upload}"), "push"),
        (Method::GET, "/v2/a/manifests/v1".to_owned(), "pull"),
        (Method::HEAD, format!("/v2/a/manifests/{digest}"), "pull"),
        (Method::PUT, "/v2/a/manifests/v1".to_owned(), "push"),
        (Method::DELETE, "/v2/a/manifests/v1".to_owned(), "delete"),
        (Method::DELETE, format!("/v2/a/manifests/{digest}"), "delete"),
        (Method::GET, "/v2/a/tags/list".to_owned(), "pull"),
        (Method::GET, format!("/v2/a/referrers/{digest}"), "pull"),
    ];
    for (method, path, action) in &operations {
        for repository in ["a", "b", "a/b", "aa", "a/a"] {
            for granted in ["pull", "push", "delete"] {
                let answer =
                    world.with_token(&format!("{repository}:{granted}")).call(method.clone(), path).await;
                let passed = ![401, 403].contains(&answer.status.as_u16());
                let expected = repository == "a" && granted == *action;
                assert_eq!(passed, expected, "{method} {path} with {repository}:{granted}: {answer:?}");
            }
        }
    }
}

/// F-05: a private repository looks as if nobody had ever pushed there.
#[tokio::test]
async fn a_hidden_repository_looks_like_one_that_is_not_there() {
    let world = guarded().await;
    let owner = world.with_token("private/x:push,private/x:pull,private/none:pull");
    owner.push_image("private/x", "v1", 1).await;
    let stranger = world.with_token("other:pull");
    for path in
        ["tags/list".to_owned(), "manifests/v1".to_owned(), format!("blobs/{}", sha256(&noise(1, 100)))]
    {
        let hidden = stranger.get(&format!("/v2/private/x/{path}")).await.is(404);
        let absent = stranger.get(&format!("/v2/private/none/{path}")).await.is(404);
        assert_eq!(hidden.bytes, absent.bytes, "{path}");
        assert_eq!(hidden.code(), "NAME_UNKNOWN");
    }
    let reader = world.with_token("private/x:pull");
    assert_eq!(reader.call(Method::DELETE, "/v2/private/x/manifests/v1").await.is(403).code(), "DENIED");
    reader.get("/v2/private/x/manifests/v1").await.is(200);
}

/// R05: the cross-repository mount needs pull on the source, and tells nothing without it.
#[tokio::test]
async fn mounting_from_a_repository_that_may_not_be_read_is_an_ordinary_upload() {
    let world = guarded().await;
    let digest = world.with_token("private/x:push").push("private/x", b"secret").await;
    let mount = |what: &str| format!("/v2/mine/blobs/uploads/?mount={what}&from=private/x");
    let thief = world.with_token("mine:push,mine:pull");
    let denied = thief.call(Method::POST, &mount(digest.as_str())).await.is(202);
    let absent = thief.call(Method::POST, &mount(sha256(b"nowhere").as_str())).await.is(202);
    assert_eq!(denied.headers.len(), absent.headers.len());
    thief.get(&format!("/v2/mine/blobs/{digest}")).await.is(404);
    let reader = world.with_token("mine:push,mine:pull,private/x:pull");
    reader.call(Method::POST, &mount(digest.as_str())).await.is(201);
    assert_eq!(reader.get(&format!("/v2/mine/blobs/{digest}")).await.is(200).bytes, b"secret");
}

/// The guard speaks before the body: a caller without a token cannot make the registry work.
#[tokio::test]
async fn nothing_is_written_for_a_caller_who_may_not() {
    let world = guarded().await;
    let path = format!("/v2/a/blobs/uploads/?digest={}", sha256(b"x"));
    world.send(Method::POST, &path, "x").await.is(401);
    world.put_manifest("a", "v1", &crate::world::image(b"{}", &[])).await.is(401);
    let large = noise(1, 5 << 20);
    let answer = world.send(Method::POST, &path, large).await.is(401);
    assert_eq!(answer.code(), "UNAUTHORIZED", "also who is still sending learns why");
    let found = crate::world::look(&world.root());
    assert_eq!(found, crate::world::Found::default());
}
