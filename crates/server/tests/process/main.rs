//! The real program as a real process: killed, stopped, moved, restored, behind TLS.

mod crash;
mod identity;
mod launch;
mod operator;
mod registry;
mod stage;
mod tls;
mod trouble;

use gpuaas_testkit::Caller;
use gpuaas_testkit::process::ServerProcess;
use serde_json::{Value, json};

fn admin_file(server: &ServerProcess) -> Value {
    serde_json::from_str(&std::fs::read_to_string(server.admin_file()).unwrap()).unwrap()
}

/// Signs in as the first admin and gets a token.
async fn admin(server: &ServerProcess) -> Caller {
    let file = admin_file(server);
    sign_in(&Caller::new(&server.url()), &file).await
}

async fn sign_in(anonymous: &Caller, file: &Value) -> Caller {
    let login = json!({"email": file["email"], "password": file["password"]});
    let answer = anonymous.post("/api/v1/auth/login", &login).await.expect(200);
    let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let session = anonymous.clone().with_header("cookie", &cookie).with_header("origin", anonymous.url());
    let token = session.post("/api/v1/auth/tokens", &json!({"name": "test"})).await.expect(201);
    anonymous.clone().with_bearer(token.body["secret"].as_str().unwrap())
}
