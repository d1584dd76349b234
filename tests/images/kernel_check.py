"""Shows that a JupyterLab works: kernel_check.py URL [--header 'NAME: VALUE']… [--leave-busy]

Runs code in a kernel and in a terminal, and writes, reads and removes a file of the workspace. Asks for no token, and
sees that a foreign page is refused. The URL may be that of a port-forward. --leave-busy leaves a kernel that computes.
"""

import argparse
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import websocket

SECONDS = 60


class Jupyter:
    def __init__(self, url, headers):
        self.url = url.rstrip("/")
        self.headers = headers
        self.xsrf = None
        self.cookies = {}

    def call(self, method, path, body=None):
        """The status, and the body as JSON if it is."""
        headers = dict(self.headers)
        if self.cookies:
            headers["Cookie"] = self.cookie()
        if self.xsrf:
            headers["X-XSRFToken"] = self.xsrf
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                self.keep_cookies(answer.headers)
                status, text = answer.status, answer.read()
                final = urllib.parse.urlsplit(answer.url).path
        except urllib.error.HTTPError as error:
            status, text, final = error.code, error.read(), path
        if final.endswith("/login"):
            raise AssertionError(f"{path} asks to sign in")
        try:
            return status, json.loads(text)
        except ValueError:
            return status, None

    def keep_cookies(self, headers):
        for line in headers.get_all("Set-Cookie") or []:
            name, _, value = line.split(";")[0].partition("=")
            self.cookies[name.strip()] = value
        self.xsrf = self.cookies.get("_xsrf", self.xsrf)

    def cookie(self):
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def socket(self, path, origin=None):
        split = urllib.parse.urlsplit(self.url)
        scheme = {"http": "ws", "https": "wss"}[split.scheme]
        return websocket.create_connection(
            urllib.parse.urlunsplit((scheme, split.netloc, split.path + path, "", "")),
            timeout=SECONDS,
            origin=origin or f"{split.scheme}://{split.netloc}",
            cookie=self.cookie() or None,
            header=[f"{name}: {value}" for name, value in self.headers.items()],
        )


def expect(what, got, *wanted):
    if got not in wanted:
        raise AssertionError(f"{what}: {got!r} instead of {' or '.join(map(repr, wanted))}")


def ask(socket, code):
    """Sends code to the kernel; the id of the message."""
    message = uuid.uuid4().hex
    header = {"msg_id": message, "msg_type": "execute_request", "username": "", "session": uuid.uuid4().hex, "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False}
    socket.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}))
    return message


def run(socket, code):
    """What the code gives, as text."""
    message, result = ask(socket, code), None
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        answer = json.loads(socket.recv())
        if answer["parent_header"].get("msg_id") != message:
            continue
        kind, content = answer["header"]["msg_type"], answer["content"]
        if kind == "execute_result":
            result = content["data"]["text/plain"]
        elif kind == "error":
            raise AssertionError(f"the kernel failed: {content['ename']}: {content['evalue']}")
        elif kind == "status" and content["execution_state"] == "idle":
            return result
    raise AssertionError("the kernel did not answer")


def check_kernel(jupyter):
    status, kernel = jupyter.call("POST", "/api/kernels", {"name": "python3"})
    expect("a new kernel", status, 201)
    path = f"/api/kernels/{kernel['id']}"
    try:
        socket = jupyter.socket(f"{path}/channels")
        expect("1+1 in a kernel", run(socket, "1+1"), "2")
        file = f"kernel-check-{uuid.uuid4().hex[:8]}.txt"
        run(socket, f"open('/workspace/{file}', 'w').write('from a kernel')")
        status, found = jupyter.call("GET", f"/api/contents/{file}")
        expect("the file of the kernel", (status, (found or {}).get("content")), (200, "from a kernel"))
        expect("removing a file", jupyter.call("DELETE", f"/api/contents/{file}")[0], 204)
        socket.close()
        try:
            jupyter.socket(f"{path}/channels", origin="https://foreign.invalid").close()
        except websocket.WebSocketBadStatusException as error:
            expect("a foreign page", error.status_code, 403)
        else:
            raise AssertionError("a foreign page may use the kernel")
    finally:
        jupyter.call("DELETE", path)


def check_terminal(jupyter):
    status, terminal = jupyter.call("POST", "/api/terminals", {})
    expect("a new terminal", status, 200, 201)
    try:
        socket = jupyter.socket(f"/terminals/websocket/{terminal['name']}")
        socket.send(json.dumps(["stdin", "echo sum=$((40+2)) in $PWD\r"]))
        seen, deadline = "", time.monotonic() + SECONDS
        while "sum=42 in /workspace" not in seen:
            if time.monotonic() > deadline:
                raise AssertionError(f"the terminal did not answer: {seen!r}")
            kind, *words = json.loads(socket.recv())
            seen += words[0] if kind == "stdout" else ""
        socket.close()
    finally:
        jupyter.call("DELETE", f"/api/terminals/{terminal['name']}")


def leave_busy(jupyter):
    status, kernel = jupyter.call("POST", "/api/kernels", {"name": "python3"})
    expect("a new kernel", status, 201)
    socket = jupyter.socket(f"/api/kernels/{kernel['id']}/channels")
    run(socket, "1")
    ask(socket, "while True: pass")
    while json.loads(socket.recv())["content"].get("execution_state") != "busy":
        pass
    socket.close()


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("url")
    words.add_argument("--header", action="append", default=[])
    words.add_argument("--leave-busy", action="store_true")
    given = words.parse_args()
    headers = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in given.header)}
    jupyter = Jupyter(given.url, headers)
    try:
        expect("the page, without a token", jupyter.call("GET", "/lab")[0], 200)
        status, version = jupyter.call("GET", "/api")
        expect("/api", status, 200)
        check_kernel(jupyter)
        check_terminal(jupyter)
        if given.leave_busy:
            leave_busy(jupyter)
    except (AssertionError, OSError, websocket.WebSocketException) as error:
        sys.exit(f"kernel_check: {error}")
    print(f"kernel, terminal and files work at {given.url} (Jupyter Server {version['version']})")


main()
