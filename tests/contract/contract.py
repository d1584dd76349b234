"""The contract test: start a server, check its OpenAPI file, fuzz every operation in it.

GPUAAS_TEST_FULL=1 takes the long time; GPUAAS_CONTRACT_SEED picks another seed than the fixed one.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

DEFAULT_SEED = 20_260_301
SHORT_SECONDS, FULL_SECONDS = 75, 440
LAST_SECONDS, FULL_LAST_SECONDS = 15, 40
START_SECONDS = 30
STOP_SECONDS = 25

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
]
# They would end the run's own session or change its password.
NEVER = ["/api/v1/auth/logout", "/api/v1/auth/password"]
# With an id that the fuzzer has read elsewhere these can end the run's own credential, so they come last, alone.
LAST = [
    "/api/v1/auth/tokens/{token_id}",
    "/api/v1/users/{user_id}",
    "/api/v1/users/{user_id}/suspend",
    "/api/v1/users/{user_id}/reset-password",
    "/api/v1/bindings/{binding_id}",
]


def main(program: str) -> int:
    full = os.environ.get("GPUAAS_TEST_FULL") == "1"
    seed = int(os.environ.get("GPUAAS_CONTRACT_SEED", DEFAULT_SEED))
    with tempfile.TemporaryDirectory(prefix="gpuaas-contract-") as folder:
        with Server(program, Path(folder)) as server:
            token = server.admin_token()
            document = fetch_json(f"{server.url}/api/v1/openapi.json")
            check_document(document)
            faults = []
            paths = document["paths"]
            missing = [path for path in NEVER + LAST if path not in paths]
            if missing:
                faults.append(f"these paths are not in the OpenAPI file; mend the lists in contract.py: {missing}")
            excluded = [argument for path in NEVER + LAST for argument in ("--exclude-path", path)]
            seconds = FULL_SECONDS if full else SHORT_SECONDS
            if not fuzz(server, token, seed, seconds, [*excluded, "--exclude-by", "/x-streaming == true"]):
                faults.append("schemathesis found answers that the contract does not promise")
            if whoami_status(server, token) != 200:
                faults.append("the run has ended its own credential; add the operation to LAST in contract.py")
            included = [argument for path in LAST for argument in ("--include-path", path)]
            if not fuzz(server, token, seed, FULL_LAST_SECONDS if full else LAST_SECONDS, included):
                faults.append("schemathesis found answers that the contract does not promise (last operations)")
        # Read after the server has stopped, so that nothing is missed.
        errors = server.logged_errors()
        if errors:
            faults.append(f"the server has logged {len(errors)} errors, the first: {errors[0]}")
        for fault in faults:
            print(f"contract: {fault}")
        if faults:
            print(f"contract: to see it again: GPUAAS_CONTRACT_SEED={seed} tests/contract/run")
    return 1 if faults else 0


class Server:
    """A server with a data folder of its own on a free port, stopped at the end."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program = program
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "server.log"
        self.admin_file = folder / "admin.json"
        self.environment = {
            **os.environ,
            "GPUAAS__HTTP__LISTEN": f"127.0.0.1:{port}",
            # No fixed port: a platform that starts beside this test wants the usual one.
            "GPUAAS__AGENTS__LISTEN": "127.0.0.1:0",
            "GPUAAS__HTTP__PUBLIC_URL": self.url,
            "GPUAAS__DATA_DIR": str(folder / "data"),
        }

    def __enter__(self) -> "Server":
        (self.folder / "data").mkdir(mode=0o700)
        subprocess.run(
            [self.program, "bootstrap", "--demo", "--admin-file", str(self.admin_file)],
            env=self.environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [self.program, "serve"], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        deadline = time.monotonic() + START_SECONDS
        while not self.ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise SystemExit(f"contract: the server did not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def admin_token(self) -> str:
        """Sign in as a browser does, then make a personal token."""
        admin = json.loads(self.admin_file.read_text())
        login = {"email": admin["email"], "password": admin["password"]}
        with self.post("/api/v1/auth/login", login) as answer:
            cookie = answer.headers["Set-Cookie"].split(";")[0]
        wish = {"name": "contract test", "expires_in_days": 1}
        with self.post("/api/v1/auth/tokens", wish, {"Cookie": cookie}) as answer:
            return json.load(answer)["secret"]

    def post(self, path: str, body: dict, headers: dict | None = None):
        request = urllib.request.Request(
            self.url + path,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Origin": self.url, **(headers or {})},
            method="POST",
        )
        return urllib.request.urlopen(request, timeout=30)

    def logged_errors(self) -> list[str]:
        lines = self.log.read_text(errors="replace").splitlines()
        return [line for line in lines if is_error(line)]


def is_error(line: str) -> bool:
    try:
        record = json.loads(line)
    except ValueError:
        # Everything the server logs is JSON; a panic is not.
        return "panicked at" in line
    return isinstance(record, dict) and record.get("level") == "ERROR"


def fetch_json(url: str) -> dict:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


def check_document(document: dict) -> None:
    from openapi_spec_validator import OpenAPIV31SpecValidator

    faults = list(OpenAPIV31SpecValidator(document).iter_errors())
    for fault in faults:
        print(f"contract: openapi: {'/'.join(map(str, fault.absolute_path))}: {fault.message[:300]}")
    if faults:
        raise SystemExit(f"contract: the OpenAPI file has {len(faults)} faults")
    operations = sum(len(item) for item in document["paths"].values())
    print(f"contract: the OpenAPI {document['openapi']} file is valid ({operations} operations)")


def whoami_status(server: Server, token: str) -> int:
    request = urllib.request.Request(
        f"{server.url}/api/v1/auth/whoami", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as answer:
        return answer.code


def fuzz(server: Server, token: str, seed: int, seconds: int, filters: list[str]) -> bool:
    print(f"contract: fuzzing for about {seconds} s with seed {seed}", flush=True)
    # The token goes by a configuration file that reads the environment, so that no process list shows it.
    config = server.folder / "schemathesis.toml"
    config.write_text('headers = { Authorization = "Bearer ${GPUAAS_CONTRACT_TOKEN}" }\n')
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "--no-color",
        "--config-file",
        str(config),
        "run",
        f"{server.url}/api/v1/openapi.json",
        "--checks",
        ",".join(CHECKS),
        "--max-time",
        str(seconds),
        "--seed",
        str(seed),
        "--continue-on-failure",
        "--max-failures",
        "20",
        "--request-timeout",
        "20",
        "--max-redirects",
        "0",
        "--suppress-health-check",
        "all",
        "--warnings",
        "off",
        *filters,
    ]
    environment = {**os.environ, "GPUAAS_CONTRACT_TOKEN": token}
    # In the temporary folder, since schemathesis leaves its example database in the current one.
    done = subprocess.run(
        command, cwd=server.folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    print(lines[-1] if done.returncode == 0 and lines else done.stdout)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
