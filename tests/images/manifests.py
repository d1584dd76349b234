"""Checks source manifests: manifests.py SCHEMA FILE… [--gpuaas PROGRAM]

Each is valid once its images have digests, and each folder to build is there. With a program, `app validate` must agree.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import yaml

REFERENCE = "registry.example.com/apps/checked@sha256:" + "a" * 64


def locked(value, folder, faults):
    """The value with a made-up digest for every image that publishing would build or read."""
    if isinstance(value, list):
        return [locked(one, folder, faults) for one in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"build"}:
        place = folder / value["build"]
        if not os.access(place / "build", os.X_OK) and not (place / "Dockerfile").is_file():
            faults.append(f"{value['build']} holds neither an executable `build` nor a Dockerfile")
        return REFERENCE
    if set(value) == {"image"}:
        if value["image"].partition(":")[0] not in ("docker", "layout", "archive"):
            faults.append(f"{value['image']} is no source of an image")
        return REFERENCE
    return {key: locked(one, folder, faults) for key, one in value.items()}


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("schema", type=Path)
    words.add_argument("files", type=Path, nargs="+")
    words.add_argument("--gpuaas")
    given = words.parse_args()
    validator = jsonschema.Draft202012Validator(json.loads(given.schema.read_text()))
    bad = False
    for file in given.files:
        faults = []
        manifest = locked(yaml.safe_load(file.read_text()), file.parent, faults)
        faults += [f"{error.json_path}: {error.message}" for error in validator.iter_errors(manifest)]
        if given.gpuaas:
            asked = subprocess.run(
                [given.gpuaas, "app", "validate", "-"], input=json.dumps(manifest), capture_output=True, text=True
            )
            if asked.returncode:
                faults.append(f"app validate: {asked.stdout}{asked.stderr}")
        for fault in faults:
            print(f"{file}: {fault}", file=sys.stderr)
        bad = bad or bool(faults)
        print(f"{file}: {'bad' if faults else 'ok'}")
    sys.exit(bad)


main()
