"""Answers every request with what it was asked."""

import argparse
import os
from http.server import BaseHTTPRequestHandler, HTTPServer


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"worker {os.getpid()}: {self.path}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


parser = argparse.ArgumentParser()
parser.add_argument("--processes", type=int, default=1)
given = parser.parse_args()
server = HTTPServer(("0.0.0.0", 9000), Answer)
# Each process takes connections from the one socket.
for _ in range(given.processes - 1):
    if os.fork() == 0:
        break
server.serve_forever()
