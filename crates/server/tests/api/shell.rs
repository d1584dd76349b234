//! The web shell where no route answers.

use gpuaas_testkit::{TestPlatform, both_databases};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

both_databases! {
    /// P-05, K-01: any address a browser opens is the shell under a policy that runs only what this server sends, kept by
    /// nobody.
    async fn a_browser_gets_the_shell_under_a_strict_policy(p: TestPlatform) {
        let browser = p.anonymous().with_header("accept", BROWSER);
        for path in ["/", "/catalog", "/launch/hello", "/workloads/instance/0", "/open/label?next=/lab", "/sign-in"] {
            let page = browser.clone().get(path).await.expect(200);
            assert!(page.header("content-type").unwrap().starts_with("text/html"), "{path}");
            assert_eq!(page.header("cache-control"), Some("no-store"), "{path}");
            assert_eq!(page.header("x-content-type-options"), Some("nosniff"), "{path}");
            let policy = page.header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
            assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        }
        p.anonymous().get("/").await.expect(200);
    }

    /// What belongs to the API stays JSON whoever asks, and so does everything that a program asks for.
    async fn the_api_keeps_its_own_404(p: TestPlatform) {
        let browser = p.anonymous().with_header("accept", BROWSER);
        for path in ["/api", "/api/v1/nowhere", "/apps/nowhere", "/admin/apps", "/auth/nowhere", "/assets/nothing.js", "/v2x/../api/x"] {
            browser.clone().get(path).await.expect_error(404, "not_found");
        }
        for path in ["/catalog", "/favicon.ico", "/index.php"] {
            p.anonymous().get(path).await.expect_error(404, "not_found");
        }
    }
}
