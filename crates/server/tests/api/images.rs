//! Images of several machines, keys of several names, versions that cannot start, and credentials at their end.

use gpuaas_api::Route;
use gpuaas_oci::ImageBuilder;
use gpuaas_testkit::{Author, Place, TestPlatform, both_databases, manifest, small_image};
use serde_json::{Value, json};

use crate::artifacts::{Scene, id, trail};
use crate::registry::{ask_token, password, token, v2};

const REPOSITORY: &str = "gpuaas/apps/acme-lab/web";

/// The state of trust that a look at the registry comes to, and its reason.
async fn verified(p: &TestPlatform, project: &str, artifact: &Value) -> (String, Value) {
    let found = p.admin.call(Route::ArtifactVerify, &[project, &id(artifact)], None).await.expect(200).body;
    (found["trust"]["state"].as_str().unwrap().to_owned(), found["trust"]["reason"].clone())
}

async fn trust(p: &TestPlatform, project: &str, artifact: &Value) -> Value {
    let found = p.admin.call(Route::ArtifactGet, &[project, &id(artifact)], None).await.expect(200).body;
    found["trust"]["state"].clone()
}

/// Somebody else with the same private key.
fn with_key(author: &Author, project: &str) -> Author {
    let key = gpuaas_oci::sign::PrivateKey::from_pem(&author.key.to_pem()).unwrap();
    Author { caller: author.caller.clone(), project: project.to_owned(), key }
}

both_databases! {
    /// F-23, R04: one key under two names, of the project and of the platform. Whichever is revoked, what rests on the key
    /// falls, and the other name brings nothing back. A project's word counts in that project alone.
    async fn a_key_that_is_revoked_is_revoked_under_all_its_names(p: TestPlatform) {
        let (one, two, three) = (p.home("one").await.project, p.home("two").await.project, p.home("three").await.project);
        let revoke = async |route: Route, at: &[&str]| {
            p.admin.call(route, at, Some(&json!({"reason": "stolen"}))).await.expect(200);
        };
        let named = |author: &Author, name: &str| json!({"name": name, "public_key": author.key.public().to_pem()});

        // The platform's name is revoked.
        let first = Author::new(&p.admin, &one, "own").await;
        let house = p.admin.call(Route::PlatformTrustKeyAdd, &[], Some(&named(&first, "house"))).await.expect(201).id();
        let artifact = first.publish("web", "project", &small_image("one")).await;
        revoke(Route::PlatformTrustKeyRevoke, &[&house]).await;
        assert_eq!(trust(&p, &one, &artifact).await, "unverified");
        assert_eq!(verified(&p, &one, &artifact).await.0, "unverified", "the project's name for it does not help");
        let again = small_image("again");
        let push = first.push("web", "project", &again).await;
        let again = first.register(&push, again.digest()).await;
        assert_eq!(verified(&p, &one, &again).await.0, "unverified", "nor for what is signed later");

        // The project's name is revoked; it was there first, and then it came second.
        for (number, project, other) in [(0, &two, &three), (1, &three, &two)] {
            let author = if number == 0 {
                let author = Author::new(&p.admin, project, "own").await;
                p.admin.call(Route::PlatformTrustKeyAdd, &[], Some(&named(&author, "second"))).await.expect(201);
                author
            } else {
                let author = with_key(&first, project);
                let key = gpuaas_oci::sign::PrivateKey::generate(&ring::rand::SystemRandom::new()).unwrap();
                let author = Author { key, ..author };
                p.admin.call(Route::PlatformTrustKeyAdd, &[], Some(&named(&author, "third"))).await.expect(201);
                p.admin.call(Route::TrustKeyAdd, &[project], Some(&named(&author, "late"))).await.expect(201);
                author
            };
            let artifact = author.publish("web", "project", &small_image("two")).await;
            let neighbour = with_key(&author, other).publish("other", "project", &small_image("two")).await;
            let keys = p.admin.call(Route::TrustKeyList, &[project], None).await.expect(200).body["items"].clone();
            let own = keys.as_array().unwrap().iter().find(|key| {
                key["public_key"] == json!(author.key.public().to_pem()) && key["project_id"] == json!(project)
            });
            revoke(Route::TrustKeyRevoke, &[project, &id(own.unwrap_or_else(|| panic!("{keys}")))]).await;
            assert_eq!(trust(&p, project, &artifact).await, "unverified", "{number}");
            assert_eq!(verified(&p, project, &artifact).await.0, "unverified", "{number}: the platform's name does not help");
            assert_eq!(verified(&p, other, &neighbour).await.0, "verified", "{number}: another project has not revoked it");
        }
    }

    /// F-06, F-16, R02: an index for several machines is launched like an image, and who may have it may have what it
    /// leads to. What it leads to stays as long as the index is in use.
    async fn an_index_is_launched_and_keeps_its_images(p: TestPlatform) {
        let scene = Scene::new(p).await;
        let (p, project) = (&scene.p, &scene.home.project);
        let built = |architecture: &str| {
            ImageBuilder::new(architecture).file("file", 0o644, architecture.as_bytes().to_vec()).build().unwrap()
        };
        let (amd, arm, loose) = (built("amd64"), built("arm64"), small_image("loose"));
        let (push, index) = scene.author.push_index("web", "project", &[("amd64", &amd), ("arm64", &arm)]).await;
        push.registry.push(&push.repository, &loose, None).await.unwrap();
        let artifact = scene.author.release(&push, &index).await;
        assert_eq!(artifact["media_type"], gpuaas_oci::manifest::OCI_INDEX);
        scene.draft("web", "1.0.0", &artifact["reference"]).await;
        p.admin.call(Route::AppPublish, &["web", "1.0.0"], None).await.expect(200);
        let instance = scene.launch("web", "1.0.0").await.expect(202).id();
        scene.reaches(&instance, "running").await;

        // The node that runs it, and the holder of a pull intent, open the index with all its parts, and nothing beside.
        let seen = p.admin.call(Route::InstanceGet, &[project, &instance], None).await.expect(200).body;
        let ask = json!({"app_instance_id": instance, "generation": seen["desired_generation"], "reference": artifact["reference"]});
        let node = scene.node.caller(&p.anonymous()).await;
        let access = node.call(Route::NodeImageAccess, &[], Some(&ask)).await.expect(200).body;
        let intent = json!({"artifact_id": artifact["id"]});
        let intent = p.admin.call(Route::PullIntentCreate, &[project], Some(&intent)).await.expect(201).body;
        let (_, credential) = scene.author.unwrap(&intent).await;
        let pull = token(p, &credential, &format!("repository:{REPOSITORY}:pull")).await;
        for (who, token) in [("node", access["token"].as_str().unwrap()), ("intent", &pull)] {
            let opens = async |kind: &str, digest: &str| {
                v2(p, Some(token), "GET", &format!("{REPOSITORY}/{kind}/{digest}"), b"").await.status
            };
            assert_eq!(opens("manifests", index.as_str()).await, 200, "{who}");
            for image in [&amd, &arm] {
                assert_eq!(opens("manifests", image.digest().as_str()).await, 200, "{who}");
                for blob in image.blobs() {
                    assert_eq!(opens("blobs", blob.digest.as_str()).await, 200, "{who}");
                }
            }
            assert_eq!(opens("manifests", loose.digest().as_str()).await, 404, "{who}");
            assert_eq!(opens("blobs", loose.config.digest.as_str()).await, 404, "{who}");
        }

        // Neither the index nor what it leads to is deleted by who may delete; what stands alone is.
        let delete = token(p, &password(&p.admin), &format!("repository:{REPOSITORY}:delete")).await;
        let gone = async |digest: &str| {
            v2(p, Some(&delete), "DELETE", &format!("{REPOSITORY}/manifests/{digest}"), b"").await.status
        };
        for kept in [amd.digest(), arm.digest(), &index] {
            assert_eq!(gone(kept.as_str()).await, 403, "{kept}");
        }
        assert_eq!(gone(loose.digest().as_str()).await, 202);
        scene.artifact(Route::ArtifactDeprecate, &id(&artifact), None).await.expect(200);
        assert_eq!(gone(amd.digest().as_str()).await, 403, "what is deprecated may still be started again");
        scene.command(Route::InstanceDecommission, &instance).await.expect(202);
        scene.reaches(&instance, "decommissioned").await;
        scene.artifact(Route::ArtifactRetire, &id(&artifact), None).await.expect(200);
        for free in [&index, amd.digest(), arm.digest()] {
            assert_eq!(gone(free.as_str()).await, 202, "{free}");
        }
    }

    /// F-16, F-17, F-23: the way to an image holds a token, so it is not kept for a repetition: asked again with the same
    /// key a node gets another one, and the database has none. It names the keys that count at this moment.
    async fn a_nodes_way_to_an_image_is_not_kept(p: TestPlatform) {
        let scene = Scene::new(p).await;
        let (p, project) = (&scene.p, &scene.home.project);
        let artifact = scene.author.publish("web", "project", &small_image("one")).await;
        scene.draft("web", "1.0.0", &artifact["reference"]).await;
        p.admin.call(Route::AppPublish, &["web", "1.0.0"], None).await.expect(200);
        let instance = scene.launch("web", "1.0.0").await.expect(202).id();
        scene.reaches(&instance, "running").await;
        let seen = p.admin.call(Route::InstanceGet, &[project, &instance], None).await.expect(200).body;
        let ask = json!({"app_instance_id": instance, "generation": seen["desired_generation"], "reference": artifact["reference"]});
        let node = scene.node.caller(&p.anonymous()).await.with_header("idempotency-key", "the-same");
        let first = node.call(Route::NodeImageAccess, &[], Some(&ask)).await.expect(200);
        p.clock.advance_seconds(1);
        let second = node.call(Route::NodeImageAccess, &[], Some(&ask)).await.expect(200);
        assert_eq!(second.header("idempotency-replayed"), None);
        assert_ne!(first.body["token"], second.body["token"]);
        let path = format!("{REPOSITORY}/manifests/{}", artifact["digest"].as_str().unwrap());
        assert_eq!(v2(p, second.body["token"].as_str(), "GET", &path, b"").await.status, 200);
        let kept = crate::count(p, "SELECT COUNT(*) FROM idempotency WHERE route = 'NodeImageAccess'").await;
        assert_eq!(kept, 0);
        assert!(crate::count(p, "SELECT COUNT(*) FROM audit WHERE action = 'nodes.image_access'").await >= 2);

        // Of the keys that it checks by, one that was revoked under another name is missing.
        let key = gpuaas_oci::sign::PrivateKey::generate(&ring::rand::SystemRandom::new()).unwrap();
        let pem = key.public().to_pem();
        let told = async || {
            let access = node.call(Route::NodeImageAccess, &[], Some(&ask)).await.expect(200).body;
            let keys = access["trust"]["keys"].as_array().unwrap().clone();
            keys.iter().map(|key| key["public_key"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let own = scene.author.key.public().to_pem();
        p.admin.call(Route::TrustKeyAdd, &[project], Some(&json!({"name": "twin", "public_key": pem}))).await.expect(201);
        let house = json!({"name": "house", "public_key": pem});
        let house = p.admin.call(Route::PlatformTrustKeyAdd, &[], Some(&house)).await.expect(201).id();
        assert!(told().await.contains(&pem));
        p.admin.call(Route::PlatformTrustKeyRevoke, &[&house], None).await.expect(200);
        assert_eq!(told().await, [own]);
    }

    /// E-14, F-08, F-29: who names no version gets the newest that can start, and is told about the newest when none can.
    async fn a_version_that_cannot_start_does_not_stand_before_one_that_can(p: TestPlatform) {
        let scene = Scene::new(p).await;
        let (p, project) = (&scene.p, &scene.home.project);
        let mut artifacts = Vec::new();
        for version in ["1.0.0", "2.0.0", "3.0.0"] {
            let artifact = scene.author.publish("web", "project", &small_image(version)).await;
            scene.draft("web", version, &artifact["reference"]).await;
            p.admin.call(Route::AppPublish, &["web", version], None).await.expect(200);
            artifacts.push(id(&artifact));
        }
        let wish = json!({"slug": "web", "target_allocation_id": scene.allocation});
        let planned = async || {
            let plan = p.admin.call(Route::InstancePlan, &[project], Some(&wish)).await.expect(200).body;
            plan["plan"]["app_version"].as_str().unwrap_or_else(|| panic!("{plan}")).to_owned()
        };
        assert_eq!(planned().await, "3.0.0");
        scene.artifact(Route::ArtifactRevoke, &artifacts[2], None).await.expect(200);
        assert_eq!(planned().await, "2.0.0");
        scene.artifact(Route::ArtifactDeprecate, &artifacts[1], None).await.expect(200);
        assert_eq!(planned().await, "1.0.0");
        let made = p.admin.call(Route::InstanceCreate, &[project], Some(&wish)).await.expect(202).body;
        assert_eq!(made["app_version"], "1.0.0", "{made}");
        scene.artifact(Route::ArtifactDeprecate, &artifacts[0], None).await.expect(200);
        let refused = p.admin.call(Route::InstancePlan, &[project], Some(&wish)).await;
        refused.expect_error(409, "artifact_revoked");

        // A newer version whose image is another project's own does not hide the one everybody may have.
        let open = scene.author.publish("tool", "platform", &small_image("open")).await;
        let closed = scene.author.publish("tool", "project", &small_image("closed")).await;
        for (version, artifact) in [("1.0.0", &open), ("2.0.0", &closed)] {
            let mut app = manifest("tool", version);
            app["artifact_ref"] = artifact["reference"].clone();
            app["runtime_profile"]["image_ref"] = artifact["reference"].clone();
            p.admin.call(Route::ManifestRegister, &[], Some(&app)).await.expect(201);
            p.admin.call(Route::AppPublish, &["tool", version], None).await.expect(200);
        }
        let neighbour = p.admin.create_project(&scene.home.tenant, "neighbour").await;
        let theirs = p.allocation(&neighbour, "small").await;
        for (project, allocation, version) in [(project, &scene.allocation, "2.0.0"), (&neighbour, &theirs, "1.0.0")] {
            p.admin.call(Route::EntitlementSet, &[project, "tool"], Some(&json!({"enabled": true}))).await.expect(200);
            let wish = json!({"slug": "tool", "target_allocation_id": allocation});
            let plan = p.admin.call(Route::InstancePlan, &[project], Some(&wish)).await.expect(200).body;
            assert_eq!(plan["plan"]["app_version"], version, "{plan}");
        }
    }

    /// F-17, R05: an intent ends with the personal token that asked for it, be that revoked or over; another token of the
    /// same person, and what it asked for, go on.
    async fn an_intent_ends_with_the_token_that_asked_for_it(p: TestPlatform) {
        let home = p.home("acme").await;
        let author = Author::new(&p.admin, &home.project, "author").await;
        let artifact = author.publish("web", "project", &small_image("one")).await;
        let path = format!("{REPOSITORY}/manifests/{}", artifact["digest"].as_str().unwrap());
        let (first, _) = p.member("pat", "project-admin", Place::Project(&home.project)).await;
        let secret = first.call(Route::TokenCreate, &[], Some(&json!({"name": "second"}))).await;
        let second = p.anonymous().with_bearer(secret.expect(201).body["secret"].as_str().unwrap());
        // Asked for with this token: password and a registry token of each kind of intent.
        let intents = async |caller: &gpuaas_testkit::Caller| {
            let mut held = Vec::new();
            for (route, wish) in [
                (Route::PublishIntentCreate, json!({"app_slug": "web", "expires_in_seconds": 3600})),
                (Route::PullIntentCreate, json!({"artifact_id": artifact["id"], "expires_in_seconds": 3600})),
            ] {
                let intent = caller.call(route, &[&home.project], Some(&wish)).await.expect(201).body;
                let (_, credential) = author.unwrap(&intent).await;
                let token = token(&p, &credential, &format!("repository:{REPOSITORY}:pull")).await;
                assert_eq!(v2(&p, Some(&token), "GET", &path, b"").await.status, 200);
                held.push((credential, token));
            }
            held
        };
        let opens = async |held: &[(String, String)]| {
            let mut seen = Vec::new();
            for (credential, token) in held {
                seen.push(v2(&p, Some(token), "GET", &path, b"").await.status);
                seen.push(ask_token(&p, credential, &format!("repository:{REPOSITORY}:pull")).await.status);
            }
            seen
        };
        let (by_first, by_second) = (intents(&first).await, intents(&second).await);
        let tokens = first.call(Route::TokenList, &[], None).await.expect(200).body["items"].clone();
        let one = tokens.as_array().unwrap().iter().find(|token| token["name"] == "test").unwrap();
        first.call(Route::TokenRevoke, &[&id(one)], None).await.expect(204);
        assert_eq!(opens(&by_first).await, [404, 401, 404, 401]);
        assert_eq!(opens(&by_second).await, [200, 200, 200, 200], "the person and the other token are as they were");

        // The second token reaches its end before the intents that it asks for at the last minute.
        let two = tokens.as_array().unwrap().iter().find(|token| token["name"] == "second").unwrap();
        let end: gpuaas_domain::Timestamp = serde_json::from_value(two["expires_at"].clone()).unwrap();
        p.clock.advance_seconds(end.seconds_since(p.clock.timestamp()) - 60);
        let late = intents(&second).await;
        p.clock.advance_seconds(61);
        assert_eq!(opens(&late).await, [404, 401, 404, 401]);
    }

    /// F-17: the end of a credential that nobody revoked is in the trail, once; that of a revoked one was told already.
    async fn the_end_of_a_credential_is_in_the_trail(p: TestPlatform) {
        let home = p.home("acme").await;
        let intend = async |seconds: i64| {
            let wish = json!({"app_slug": "web", "expires_in_seconds": seconds});
            p.admin.call(Route::PublishIntentCreate, &[&home.project], Some(&wish)).await.expect(201).id()
        };
        let (short, long, revoked) = (intend(60).await, intend(3600).await, intend(60).await);
        p.admin.call(Route::RegistryCredentialRevoke, &[&home.project, &revoked], None).await.expect(200);
        p.sweep().await;
        let ended = async |id: &str| trail(&p, "registry.credential_expired", id).await;
        assert_eq!(ended(&short).await.len(), 0, "not yet");
        p.clock.advance_seconds(61);
        p.sweep().await;
        p.sweep().await;
        let rows = ended(&short).await;
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!((&rows[0]["actor_kind"], &rows[0]["project_id"], &rows[0]["outcome"]), (&json!("system"), &json!(home.project), &json!("done")));
        assert_eq!((&rows[0]["after"]["purpose"], rows[0]["after"]["expires_at"].is_string()), (&json!("publish"), true));
        assert_eq!((ended(&long).await.len(), ended(&revoked).await.len()), (0, 0));
    }

    /// F-22, R03: a signature that was damaged in the registry's storage counts for nothing, and signing again puts a good
    /// one in its place.
    async fn signing_again_replaces_a_damaged_signature(p: TestPlatform) {
        let home = p.home("acme").await;
        let author = Author::new(&p.admin, &home.project, "author").await;
        let image = small_image("one");
        let push = author.push("web", "project", &image).await;
        let artifact = author.register(&push, image.digest()).await;
        assert_eq!(verified(&p, &home.project, &artifact).await.0, "verified");
        let repository = push.repository.parse().unwrap();
        let tag: gpuaas_oci::Tag = format!("sha256-{}.sig", image.digest().as_str().trim_start_matches("sha256:")).parse().unwrap();
        let signature = push.registry.get_manifest(&repository, &tag).await.unwrap();
        let file = p.database.folder().join("data/registry/repositories/acme-lab/web/_manifests");
        let file = file.join(signature.digest.as_str().replace(':', "-"));
        let mut bytes = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, bytes).unwrap();
        // The registry keeps what it has read in memory; started again it reads the disk.
        let p = p.restarted("host = \"registry.example.org\"").await;
        let (state, reason) = verified(&p, &home.project, &artifact).await;
        assert_eq!(state, "unverified", "{reason}");
        assert!(reason.as_str().is_some_and(|text| text.contains("changed")), "{reason}");
        let author = Author { caller: p.admin.clone(), ..author };
        let push = author.intend("web", "project").await;
        author.sign(&push, image.digest()).await;
        assert_eq!(verified(&p, &home.project, &artifact).await.0, "verified");
        let now = push.registry.get_manifest(&repository, &tag).await.unwrap();
        assert_ne!(now.digest, signature.digest);
    }
}
