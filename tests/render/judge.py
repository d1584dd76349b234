"""Holds what the real engines' readers make of our files against the inputs they were rendered from (B-05, D-08, D-10, D-11).

judge.py make IN OUT KIND    a hostile input out of a sample: every text of the corpus as argument, variable and probe, for
                             KIND helm without those that Helm cannot print
judge.py compose IN JSON     what `docker compose config --format json` printed
judge.py process IN NAME DIR what a process has found as its arguments and variables
judge.py values SCHEMA YAML  values of our chart against its schema, by another validator than ours
judge.py objects VALUES YAML what `helm template` printed
judge.py given DEFAULTS VALUES YAML  what a chart that prints its values was given, beside its own defaults
"""

import json
import sys

import jsonschema
import yaml

CORPUS = [
    "", " ", "a\nb", "a\r\nb\r", "\n", "a\tb", "\x01\x07\x1b[31m\x7f\x85\x9f", "$", "$$", "$$$", "$X", "${X}", "${X:-y}", "${X:?no}",
    "$${X}", "$(X)", "$$(X)", "$$$(X)", "$(X", "$()", "a$", "`id`", "; rm -rf / #", "&anchor x", "*alias", "!tag x",
    "!!python/object/apply:os.system [id]", "<<", "<<: *x", "# no comment", "a # b", "a: b", "a:", ": ", "- a", "-", "--flag=value", "---",
    "...", "? a", "[a, b]", "{a: b}", "{{ .Values.x }}", '{{ include "x" . }}', "%YAML 1.2", "@a", "|", ">", ">-\n  folded", "yes", "no", "y",
    "on", "Off", "TRUE", "null", "NULL", "~", "nan", ".inf", "-.INF", "0", "007", "0x1", "0o7", "0b1", "1e3", "1_000", "1.0", "12:30:45",
    "2026-01-01", "=", " leading", "trailing ", '"quoted"', "'single'", "it's", "back\\slash\\n", "\\", "\\u0041", "ünïcödé – 漢字", "🦀👩‍👩‍👧",
    "a\u202eb\u2066c\u200bd\ufeff", "a\u2028b\u2029c", "\ufffe\uffff\U0001fffe\U0010ffff", "\ufeffbom", "../../etc/passwd", "x" * 5_000,
    "a\n" * 500, "$" * 999, "/var/run/docker.sock:/var/run/docker.sock",
]
UNPRINTABLE = {chr(code) for code in [*range(0x7F, 0x85), *range(0x86, 0xA0), 0xFFFE, 0xFFFF]}


def load(path):
    with open(path, encoding="utf-8", newline="") as file:
        return json.load(file)


def same(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {shown(found)} is not {shown(expected)}")


def shown(value):
    text = repr(value)
    return text if len(text) < 300 else f"{text[:300]}… ({len(text)} characters)"


def environment(component):
    found = {one["name"]: one["value"] for one in component["env"]}
    for secret in component["secrets"]:
        if secret["inject"]["as"] == "file":
            found[secret["inject"]["env"]] = f"/run/gpuaas/secrets/{secret['name']}"
    return found


class Plain(yaml.SafeLoader):
    """Reads `<<` and `=` as what they are, as every reader but Python's does."""


Plain.yaml_implicit_resolvers = {
    first: [one for one in some if not one[0].endswith((":value", ":merge"))]
    for first, some in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def make(source, target, kind):
    tree = load(source)
    texts = [text for text in CORPUS if kind == "all" or not UNPRINTABLE & set(text)]
    for component in tree["components"]:
        component["command"] = texts
        component["env"] = [{"name": f"T_{index}", "value": text} for index, text in enumerate(texts)]
        component["readiness"] = {
            "check": {"kind": "exec", "command": ["x", *texts]}, "interval_ms": 1000, "timeout_ms": 1000, "failures": 3,
        }
    with open(target, "w", encoding="utf-8") as file:
        json.dump(tree, file)


def compose(source, printed):
    tree, project = load(source), load(printed)
    instance = f"gpuaas-{tree['identity']['instance_id']}"
    same("name", project["name"], instance)
    same("services", sorted(project["services"]), sorted(one["name"] for one in tree["components"]))
    # Compose prints what it has read in its own spelling, in which `$` is doubled.
    read = lambda text: text.replace("$$", "$")
    for component in tree["components"]:
        name, service = component["name"], project["services"][component["name"]]
        same(f"{name}: image", service["image"], component["image"])
        same(f"{name}: command", [read(part) for part in service.get("command") or []], component["command"])
        for variable, value in environment(component).items():
            same(f"{name}: {variable}", read(service["environment"][variable]), value)
        extra = set(service["environment"]) - set(environment(component))
        same(f"{name}: more variables", extra - {"GPUAAS_GPUS", "GPUAAS_GPUS_SIMULATED", "NVIDIA_VISIBLE_DEVICES"}, set())
        check = (component.get("readiness") or {}).get("check", {})
        if check.get("kind") == "exec":
            same(f"{name}: probe", [read(part) for part in service["healthcheck"]["test"]], ["CMD", *check["command"]])
        same(f"{name}: memory", int(service["mem_limit"]), component["memory_mib"] << 20)
        same(f"{name}: swap", int(service["memswap_limit"]), component["memory_mib"] << 20)
        same(f"{name}: cpus", float(service["cpus"]), component["cpu_millis"] / 1000)
        same(f"{name}: pids", service["pids_limit"], component["pids"])
        same(f"{name}: root", service.get("read_only", False), component["read_only_root"])
        same(f"{name}: drop", service["cap_drop"], ["ALL"])
        same(f"{name}: pull", service["pull_policy"], "never")
        same(f"{name}: restart", service["restart"], "no")
        same(f"{name}: label", service["labels"]["gpuaas.component"], name)
        same(f"{name}: waits for", sorted(service.get("depends_on") or {}), sorted(component["depends_on"]))
        real = [gpu["uuid"] for gpu in component["gpus"] if gpu["vendor"] == "nvidia" and not gpu["simulated"]]
        devices = service.get("deploy", {}).get("resources", {}).get("reservations", {}).get("devices", [])
        same(f"{name}: devices", [one for device in devices for one in device["device_ids"]], real)
        targets = [(one["path"], one["read_only"]) for one in component["mounts"]]
        found = [(one["target"], one.get("read_only", False)) for one in service.get("volumes", [])]
        same(f"{name}: mounts", [one for one in found if one[0] != "/run/gpuaas/secrets"], targets)
        for member in ("privileged", "cap_add", "network_mode", "ports", "devices", "pid", "build", "configs"):
            same(f"{name}: {member}", service.get(member), None)
        same(f"{name}: binds", [one for one in service.get("volumes", []) if one["type"] != "volume"], [])


def process(source, name, folder):
    component = next(one for one in load(source)["components"] if one["name"] == name)
    with open(f"{folder}/cmdline", "rb") as file:
        arguments = file.read().decode().split("\0")[:-1]
    # The image's own entry point stands before.
    same(f"{name}: arguments", arguments[3:], component["command"])
    with open(f"{folder}/environ", "rb") as file:
        found = dict(one.split("=", 1) for one in file.read().decode().split("\0") if one)
    for variable, value in environment(component).items():
        same(f"{name}: {variable}", found[variable], value)
    same(f"{name}: X", found.get("X"), None)


def values(schema, document):
    schema = load(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    with open(document, encoding="utf-8", newline="") as file:
        jsonschema.Draft202012Validator(schema).validate(yaml.load(file, Plain))


def objects(document, printed):
    with open(document, encoding="utf-8", newline="") as file:
        wanted = yaml.load(file, Plain)["objects"]
    with open(printed, encoding="utf-8", newline="") as file:
        found = [one for one in yaml.load_all(file, Plain) if one]
    key = lambda one: (one["kind"], one["metadata"]["name"])
    same("objects", sorted(map(key, found)), sorted(map(key, wanted)))
    for one, other in zip(sorted(found, key=key), sorted(wanted, key=key)):
        same(key(one), one, other)


def laid_over(below, above):
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return {**below, **{key: laid_over(below.get(key), value) for key, value in above.items()}}


def given(defaults, document, printed):
    trees = []
    for path in (defaults, document, printed):
        with open(path, encoding="utf-8", newline="") as file:
            trees.append(yaml.load(file, Plain))
    same("values", json.loads(trees[2]["data"]["values.json"]), laid_over(trees[0], trees[1]))


if __name__ == "__main__":
    commands = {
        "make": make, "compose": compose, "process": process, "values": values, "objects": objects, "given": given,
    }
    commands[sys.argv[1]](*sys.argv[2:])
