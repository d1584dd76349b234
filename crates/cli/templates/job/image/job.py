"""Counts, writes down how far it got, and goes on from there when it is started again."""

import argparse
import pathlib
import signal
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=100)
given = parser.parse_args()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
pathlib.Path("/tmp/started").touch()
reached = pathlib.Path("/data/reached")
for step in range(int(reached.read_text()) if reached.exists() else 0, given.steps):
    time.sleep(1)
    reached.write_text(str(step + 1))
    print(f"step {step + 1} of {given.steps}", flush=True)
