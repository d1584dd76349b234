# shellcheck shell=bash
# shellcheck disable=SC2154 # `data`, `programs` and `quiet` are those of ./run, like `registry_port` and `agents_port`
# This machine as the first node: what ./run needs to launch an app right here. Source it after lib.sh.
#
# Nothing here ends ./run: without Docker or a registry the server still starts, and one line says what is missing.
# The registry is a stopgap until the platform serves one itself.

HELLO_WEB_REPOSITORY=apps/hello-web
HELLO_WEB_VERSION=0.1.0
FIRST_REGISTRY_PORT=5080
FIRST_AGENTS_PORT=8443
LOCAL_NODE=local

# In this order. Each part works when it is called again and does only what is missing.
prepare_local_node() {
  local whole=yes
  prepare_docker || whole=no
  if ! prepare_registry || ! prepare_hello_web; then
    whole=no
  fi
  if [[ $whole == no ]]; then
    say "Until then no app can be launched on this machine; the rest works"
  fi
}

prepare_docker() { need_docker; }

# Starts the registry of the data folder and sets `registry_port`; ./run remembers it.
prepare_registry() {
  local dir=$data/registry first=${registry_port:-$FIRST_REGISTRY_PORT} attempt
  (need_packages registry) || return 1
  if ! registry_pid "$dir" >/dev/null || [[ -z $registry_port ]]; then
    # Images are named with the port, so the old one is worth a second look: a socket may still be closing.
    for attempt in 1 2 3; do
      if port_is_free "$first"; then break; fi
      sleep "0.$attempt"
    done
    registry_port=$(free_port_from "$first") || return 1
    if [[ $registry_port != "$first" && $first != "$FIRST_REGISTRY_PORT" ]]; then
      say "Port $first of the registry is taken; using $registry_port. Apps registered with the old one must be registered again"
    fi
  fi
  start_registry "$dir" "$registry_port" || return 1
  write_registries
}

# The list of registries the server and the agent may pull from.
write_registries() {
  (
    umask 077
    cat >"$data/registries.toml.new" <<TOML
# Written by ./run at every start.
[[registries]]
host = "127.0.0.1:$registry_port"
url = "http://127.0.0.1:$registry_port"
TOML
    mv "$data/registries.toml.new" "$data/registries.toml"
  )
}

# Builds hello-web and pushes it, unless this very program is in the registry. Leaves image and program's hash in
# hello-web.env.
prepare_hello_web() {
  local program hash image digest registry=http://127.0.0.1:$registry_port
  program=$(build_hello_web) || { say "hello-web could not be built; see above"; return 1; }
  hash=$(sha256sum <"$program") || return 1
  hash=${hash%% *}
  image=$(hello_web program_sha256)
  if [[ $image == "$hash" ]]; then
    image=$(hello_web image)
    digest=${image#*@}
    if [[ $image == "127.0.0.1:$registry_port/"* ]] && curl --silent --fail --head --max-time 10 --output /dev/null \
      --header 'Accept: application/vnd.oci.image.manifest.v1+json' "$registry/v2/$HELLO_WEB_REPOSITORY/manifests/$digest"; then
      return 0
    fi
  fi
  digest=$("$programs/xtask" image push --registry "$registry" --repository "$HELLO_WEB_REPOSITORY" --binary "$program" \
    --tag "$HELLO_WEB_VERSION") || return 1
  image=127.0.0.1:$registry_port/$HELLO_WEB_REPOSITORY@$digest
  printf 'program_sha256=%s\nimage=%s\n' "$hash" "$image" >"$data/hello-web.env.new" || return 1
  mv "$data/hello-web.env.new" "$data/hello-web.env"
  say "Pushed hello-web: $image"
}

# hello_web NAME: its value in hello-web.env, or nothing.
hello_web() {
  [[ -f $data/hello-web.env ]] || return 0
  sed -n "s/^$1=//p" "$data/hello-web.env" | head -n 1
}

# Prints where the program is. Static, because it is alone in its image; in a folder of its own, because other flags would
# make cargo build everything else again.
build_hello_web() {
  local target flags cargo_home=${CARGO_HOME:-$HOME/.cargo} separator=$'\x1f'
  target=$(rustc -vV | sed -n 's/^host: //p') || return 1
  # Without the names of this machine's folders: the same source gives the same image.
  flags=-Ctarget-feature=+crt-static$separator--remap-path-prefix=$cargo_home=/cargo
  (cd "$ROOT" && CARGO_ENCODED_RUSTFLAGS=$flags cargo build --locked "${quiet[@]}" --package hello-web --profile image \
    --target "$target" --target-dir "$CARGO_TARGET_DIR/hello-web") >&2 || return 1
  printf '%s\n' "$CARGO_TARGET_DIR/hello-web/$target/image/hello-web"
}

# --- the node itself ----------------------------------------------------------------------------------------------
# Not called yet: the commands below come with the parts of the platform that serve them.

# What the server must be told to let nodes in. Just before it starts: its own port would look taken.
export_agent_settings() {
  agents_port=$(free_port_from "${agents_port:-$FIRST_AGENTS_PORT}") || return 1
  export GPUAAS__AGENTS__LISTEN=127.0.0.1:$agents_port GPUAAS__AGENTS__PUBLIC_URL=https://127.0.0.1:$agents_port
}

local_gpuaas() { GPUAAS_CONFIG=$data/local-node/cli.toml "$programs/gpuaas" "$@"; }

# json_value NAME: that member of the JSON object on standard input.
json_value() { sed -n "s/.*\"$1\": *\"\\([^\"]*\\)\".*/\\1/p" | head -n 1; }

agent_pid() { pid_with_argument "$data/local-node/agent.pid" "$data/local-node/state"; }

# Joins this machine as a node, starts its agent, and puts hello-web into the catalog of the demo tenant. After the server
# is ready.
enrol_local_node() {
  local dir=$data/local-node token
  (umask 077 && mkdir -p "$dir") || return 1
  local_gpuaas login --admin-file "$data/admin.json" >/dev/null || return 1
  if [[ ! -f $dir/state/node.json ]]; then
    token=$(local_gpuaas node join-token create -o json | json_value token) && [[ -n $token ]] || return 1
    "$programs/gpuaas-agent" join --server "$GPUAAS__AGENTS__PUBLIC_URL" --token "$token" --name "$LOCAL_NODE" --state "$dir/state" || return 1
  fi
  start_agent || return 1
  if [[ ! -f $dir/enrolled && -n $(hello_web image) ]]; then
    write_hello_web_manifest "$dir/hello-web.json" || return 1
    local_gpuaas sku create local-gpu --display-name "GPU of this machine" >/dev/null || return 1
    local_gpuaas allocation request --project demo --sku local-gpu --node "$LOCAL_NODE" >/dev/null || return 1
    local_gpuaas app register "$dir/hello-web.json" >/dev/null || return 1
    local_gpuaas app publish hello-web "$HELLO_WEB_VERSION" >/dev/null || return 1
    local_gpuaas entitlement enable hello-web --project demo >/dev/null || return 1
    : >"$dir/enrolled"
  fi
}

start_agent() {
  local dir=$data/local-node agent=$programs/gpuaas-agent pid
  if pid=$(agent_pid); then
    if [[ /proc/$pid/exe -ef $agent ]]; then
      return 0
    fi
    end_process "$pid" 20
  fi
  if [[ ! -f $dir/agent.toml ]]; then
    (umask 077 && printf '# Settings of the node agent of this machine; ./run keeps what you write here.\n' >"$dir/agent.toml") || return 1
  fi
  (umask 077 && : >"$dir/agent.log") || return 1
  setsid "$agent" run --state "$dir/state" --config "$dir/agent.toml" >>"$dir/agent.log" 2>&1 </dev/null 9>&- &
  pid=$!
  printf '%s\n' "$pid" >"$dir/agent.pid"
}

write_hello_web_manifest() { # write_hello_web_manifest FILE
  local image
  image=$(hello_web image)
  cat >"$1" <<JSON
{
  "slug": "hello-web",
  "display_name": "Hello, web",
  "version": "$HELLO_WEB_VERSION",
  "artifact_kind": "oci",
  "artifact_ref": "$image",
  "compatibility": {
    "requires_capacity_shape": ["baremetal", "gpu_slice"],
    "min_gpu_count": 1,
    "requires_exclusive_node": false,
    "supported_accelerators": ["nvidia", "amd"]
  },
  "runtime_profile": {
    "kind": "launchable_oci",
    "image_ref": "$image",
    "command": ["/hello-web"],
    "env": [],
    "ports": [{"container": 8080, "expose": "embedded_ui_gateway"}],
    "resources": {"min_memory_mib": 64, "min_vcpu": 1}
  },
  "ui": {"extension_kind": "embedded", "path": "/"},
  "metering": {"kind": "session_seconds"}
}
JSON
}

# Agent first: it may still be pulling. Containers of instances stay; the agent finds them again by their labels.
stop_local_node() {
  local pid
  if pid=$(agent_pid); then
    end_process "$pid" 20
    rm -f "$data/local-node/agent.pid"
    say "Stopped the node agent (pid $pid)"
  fi
  if stop_registry "$data/registry"; then
    say "Stopped the registry"
  fi
  if pid=$(started_dockerd_pid); then
    say "The Docker Engine that was started for this (pid $pid) keeps running; others may use it. To stop it: kill $pid"
  fi
}
