# shellcheck shell=bash
# shellcheck disable=SC2154 # `data`, `programs` and `quiet` are those of ./run, like `registry_port` and `agents_port`
# This machine as the first node: what ./run needs to launch an app right here. Source it after lib.sh.
#
# Nothing here ends ./run: without Docker or a registry the server still starts, and one line says what is missing.
# The registry is a stopgap until the platform serves one itself.

HELLO_WEB_REPOSITORY=apps/hello-web
HELLO_WEB_VERSION=1.0.0
# As images are named in manifests; the port behind it may change, the name does not.
REGISTRY_NAME=registry.gpuaas.example.com
FIRST_REGISTRY_PORT=5080
LOCAL_NODE=local
DEMO_ALLOCATION=demo
DEMO_PROJECT=demo-lab

# In this order. Each part works when it is called again and does only what is missing.
prepare_local_node() {
  local whole=yes
  prepare_docker || whole=no
  if ! prepare_registry || ! prepare_hello_web; then
    whole=no
  fi
  if [[ $whole == no ]]; then
    say "Until then apps do not really run on this machine; the rest works"
  fi
}

prepare_docker() { need_docker; }

# Starts the registry of the data folder and sets `registry_port`; ./run remembers it.
prepare_registry() {
  local dir=$data/registry first=${registry_port:-$FIRST_REGISTRY_PORT} attempt
  (need_packages registry) || return 1
  if ! registry_pid "$dir" >/dev/null || [[ -z $registry_port ]]; then
    # The old one is worth a second look: a socket may still be closing.
    for attempt in 1 2 3; do
      if port_is_free "$first"; then break; fi
      sleep "0.$attempt"
    done
    registry_port=$(free_port_from "$first") || return 1
  fi
  start_registry "$dir" "$registry_port"
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
    if [[ $image == "$REGISTRY_NAME/"* ]] && curl --silent --fail --head --max-time 10 --output /dev/null \
      --header 'Accept: application/vnd.oci.image.manifest.v1+json' "$registry/v2/$HELLO_WEB_REPOSITORY/manifests/$digest"; then
      return 0
    fi
  fi
  digest=$("$programs/xtask" image push --registry "$registry" --repository "$HELLO_WEB_REPOSITORY" --binary "$program" \
    --tag "$HELLO_WEB_VERSION") || return 1
  image=$REGISTRY_NAME/$HELLO_WEB_REPOSITORY@$digest
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

local_gpuaas() { GPUAAS_CONFIG=$data/local-node/cli.toml "$programs/gpuaas" "$@"; }

# json_value NAME: that member of the JSON object on standard input.
json_value() { sed -n "s/.*\"$1\": *\"\\([^\"]*\\)\".*/\\1/p" | head -n 1; }

agent_pid() { pid_with_argument "$data/local-node/agent.pid" "$data/local-node/state"; }

# Joins this machine as a node, starts its agent, and puts hello-web into the catalog of the demo tenant. After the server
# is ready. Says what went wrong in one line and gives up: the server works without it.
enrol_local_node() {
  local dir=$data/local-node image what
  (umask 077 && mkdir -p "$dir") || return 1
  image=$(hello_web image)
  if [[ -f $dir/state/node.json && $(cat "$dir/offered" 2>/dev/null) == "$image" ]]; then
    start_agent && wait_for_node && return 0
  fi
  what="signing in"
  if local_gpuaas login --admin-file "$data/admin.json" >"$dir/enrol.log" 2>&1 && what="joining" && join_local_node &&
    what="starting the agent" && start_agent && what="waiting for the node" && wait_for_node && what="the demo app" &&
    offer_hello_web; then
    return 0
  fi
  say "This machine could not be made a node ($what failed); see $dir/enrol.log and $dir/agent.log" >&2
  return 1
}

join_local_node() {
  local dir=$data/local-node token
  if [[ -f $dir/state/node.json ]]; then
    return 0
  fi
  write_agent_settings || return 1
  token=$(local_gpuaas node join-token create --name "$LOCAL_NODE" -o json 2>>"$dir/enrol.log" | json_value token)
  [[ -n $token ]] || return 1
  "$programs/gpuaas-agent" join --server "https://127.0.0.1:$agents_port" --token "$token" --state "$dir/state" \
    --config "$dir/agent.toml" >>"$dir/enrol.log" 2>&1
}

# What this machine lacks is made up, and called so everywhere.
write_agent_settings() {
  local file=$data/local-node/agent.toml runtime=docker
  if [[ -f $file ]]; then
    if grep -q '^runtime = "simulated"' "$file" && docker_answers; then
      say "Docker answers now; this node stays simulated until you write runtime = \"docker\" in $file"
    fi
    return 0
  fi
  if ! docker_answers; then
    runtime=simulated
    say "Without Docker this machine becomes a simulated node: nothing really starts on it"
  fi
  (
    umask 077
    printf '# Settings of the node agent of this machine; ./run keeps what you write here.\nruntime = "%s"\n' "$runtime"
    if [[ $runtime == docker && $DOCKER_SOCKET != /var/run/docker.sock ]]; then
      printf '\n[docker]\nsocket = "%s"\n' "$DOCKER_SOCKET"
    fi
    if [[ $runtime == docker ]] && ((EUID != 0)); then
      printf '\n# Only root may set the packet filter: what runs here may reach this machine.\n[network]\npacket_filter = "off"\n'
    fi
    if ! have nvidia-smi && ! have rocm-smi && ! have amd-smi; then
      printf '\n# This machine has no GPU; two are made up.\n[[gpus]]\nvendor = "nvidia"\nmodel = "Simulated GPU"\nmemory_mib = 16384\ncount = 2\n'
    fi
  ) >"$file"
}

wait_for_node() {
  local deadline=$((SECONDS + 30))
  until local_gpuaas node get "$LOCAL_NODE" -o json 2>>"$data/local-node/enrol.log" | grep -Eq '"ready": *true'; do
    ((SECONDS < deadline)) || return 1
    sleep 0.2
  done
}

# A SKU, an allocation and the app, each unless it is there.
offer_hello_web() {
  local dir=$data/local-node image log=$data/local-node/enrol.log
  image=$(hello_web image)
  [[ -n $image ]] || return 0
  if [[ $(cat "$dir/offered" 2>/dev/null) == "$image" ]]; then
    return 0
  fi
  sed "s|$REGISTRY_NAME/$HELLO_WEB_REPOSITORY@@DIGEST@|$image|" "$ROOT/apps/hello-web/manifest.yaml" >"$dir/hello-web.yaml" || return 1
  local_gpuaas sku get local-gpu >/dev/null 2>&1 ||
    local_gpuaas sku create local-gpu --display-name "One GPU of this machine" --shape gpu_slice --gpus 1 --vcpu 1 --memory 1024 \
      --grant auto --price 1.20 --currency EUR --per-hour >>"$log" 2>&1 || return 1
  local_gpuaas allocation get "$DEMO_ALLOCATION" --project "$DEMO_PROJECT" >/dev/null 2>&1 ||
    local_gpuaas allocation request --sku local-gpu --name "$DEMO_ALLOCATION" --project "$DEMO_PROJECT" >>"$log" 2>&1 || return 1
  # A version never changes: a rebuilt program needs a new number, or stays what was registered first.
  if ! local_gpuaas app get hello-web "$HELLO_WEB_VERSION" >/dev/null 2>&1; then
    local_gpuaas app register "$dir/hello-web.yaml" >>"$log" 2>&1 || return 1
    local_gpuaas app release hello-web "$HELLO_WEB_VERSION" >>"$log" 2>&1 || return 1
    local_gpuaas entitlement enable hello-web --project "$DEMO_PROJECT" >>"$log" 2>&1 || return 1
  fi
  printf '%s\n' "$image" >"$dir/offered"
}

# What of this machine is made up, in one line each.
local_node_notice() {
  local file=$data/local-node/agent.toml
  if grep -q '^runtime = "simulated"' "$file" 2>/dev/null; then
    printf '\n  This node is simulated: nothing really starts, and nothing answers on its ports.\n'
  elif grep -q '^\[\[gpus\]\]' "$file" 2>/dev/null; then
    printf '\n  The GPUs of this node are simulated: apps get none, and are told so.\n'
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
  # What the last run said is kept: it may be why there is a new one.
  if [[ -f $dir/agent.log ]]; then
    mv -f "$dir/agent.log" "$dir/agent.log.1" || return 1
  fi
  (umask 077 && : >"$dir/agent.log") || return 1
  setsid "$agent" run --state "$dir/state" --config "$dir/agent.toml" >>"$dir/agent.log" 2>&1 </dev/null 9>&- &
  pid=$!
  printf '%s\n' "$pid" >"$dir/agent.pid"
}

# Whatever carries the labels of the data folder's node: with the folder goes the only one who knows it.
remove_local_workloads() {
  local node kind ids
  node=$(json_value node_id <"$data/local-node/state/node.json" 2>/dev/null)
  [[ -n $node ]] && docker_answers || return 0
  ids=$(docker ps --all --quiet --filter "label=gpuaas.node=$node")
  if [[ -n $ids ]]; then
    # shellcheck disable=SC2086 # one word per container
    docker rm --force --volumes $ids >/dev/null && say "Removed the containers of this node"
  fi
  remove_local_filter
  for kind in network volume; do
    ids=$(docker "$kind" ls --quiet --filter "label=gpuaas.node=$node")
    if [[ -n $ids ]]; then
      # shellcheck disable=SC2086 # one word per object
      docker "$kind" rm $ids >/dev/null || true
    fi
  done
}

# The way to the instance API that the packet filter has for this node's networks.
remove_local_filter() {
  local range rule
  range=$(sed -n 's/^range = "\(.*\)"/\1/p' "$data/local-node/agent.toml" | head -n 1)
  range=${range:-10.213.0.0/16}
  iptables -w 10 -S GPUAAS-INPUT 2>/dev/null | grep -F -- "-d $range " | while read -r _ rule; do
    # shellcheck disable=SC2086 # a rule is many words
    iptables -w 10 -D $rule || true
  done
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
