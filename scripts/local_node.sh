# shellcheck shell=bash
# shellcheck disable=SC2154 # `data`, `programs`, `apps` and `trust` are those of ./run, like `agents_port`
# This machine as the first node, and the first apps: what ./run needs to launch something right here. Source it after
# lib.sh.
#
# Nothing here ends ./run: without Docker the server still starts, and one line says what is missing. Apps come the way
# every author's come: `gpuaas app publish` builds, pushes, signs, registers and releases them.

LOCAL_NODE=local
DEMO_ALLOCATION=demo
DEMO_PROJECT=demo-lab

prepare_local_node() { need_docker || say "Until then apps do not really run on this machine; the rest works"; }

# --- the node itself ----------------------------------------------------------------------------------------------

local_gpuaas() { GPUAAS_CONFIG=$data/local-node/cli.toml "$programs/gpuaas" "$@"; }

# json_value NAME: that member of the JSON object on standard input.
json_value() { sed -n "s/.*\"$1\": *\"\\([^\"]*\\)\".*/\\1/p" | head -n 1; }

agent_pid() { pid_with_argument "$data/local-node/agent.pid" "$data/local-node/state"; }

# Joins this machine as a node, starts its agent, and offers the first apps to the demo project. After the server is
# ready. Says what went wrong in one line and gives up: the server works without it.
enrol_local_node() {
  local dir=$data/local-node what
  (umask 077 && mkdir -p "$dir") || return 1
  what="signing in"
  if sign_in_local && what="joining" && join_local_node && what="starting the agent" && start_agent &&
    what="waiting for the node" && wait_for_node && what="the demo allocation" && offer_allocation &&
    what="the demo app" && publish_first; then
    return 0
  fi
  say "This machine could not be made a node ($what failed); see $dir/enrol.log and $dir/agent.log" >&2
  return 1
}

# Once; the token that was made then goes on working.
sign_in_local() {
  local dir=$data/local-node
  if [[ -f $dir/cli.toml ]] && local_gpuaas whoami >/dev/null 2>&1; then
    return 0
  fi
  local_gpuaas login --admin-file "$data/admin.json" "${trust[@]}" >"$dir/enrol.log" 2>&1
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
    # Of its own for each data folder, so that two platforms on one machine do not take each other's networks away.
    printf '\n[network]\nrange = "10.%d.0.0/16"\n' $((200 + $(cksum <<<"$data" | cut -d ' ' -f 1) % 50))
    if [[ $runtime == docker ]] && ((EUID != 0)); then
      printf '# Only root may set the packet filter: what runs here may reach this machine.\npacket_filter = "off"\n'
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

# A SKU and an allocation, each unless it is there.
offer_allocation() {
  local log=$data/local-node/enrol.log
  [[ ! -f $data/local-node/offered ]] || return 0
  local_gpuaas sku get local-gpu >/dev/null 2>&1 ||
    local_gpuaas sku create local-gpu --display-name "One GPU of this machine" --shape gpu_slice --gpus 1 --vcpu 2 --memory 4096 \
      --grant auto --price 1.20 --currency EUR --per-hour >>"$log" 2>&1 || return 1
  local_gpuaas allocation get "$DEMO_ALLOCATION" --project "$DEMO_PROJECT" >/dev/null 2>&1 ||
    local_gpuaas allocation request --sku local-gpu --name "$DEMO_ALLOCATION" --project "$DEMO_PROJECT" >>"$log" 2>&1 || return 1
  : >"$data/local-node/offered"
}

# --- the first apps -------------------------------------------------------------------------------------------------

app_is_published() { [[ -f $data/local-node/published-$1 ]]; }

# publish_app APP: what any author runs. A version that is out never changes, so once is enough.
publish_app() {
  GPUAAS_XTASK=$programs/xtask local_gpuaas app publish "$ROOT/apps/$1" --project "$DEMO_PROJECT" --visibility platform \
    --release --entitle --reason "first start" && : >"$data/local-node/published-$1"
}

# The first of `apps` at once, the others one after the other in the background.
publish_first() {
  local dir=$data/local-node first=${apps[0]-}
  [[ -n $first ]] || return 0
  if ! app_is_published "$first"; then
    say "Publishing $first: build, push, sign, register"
    publish_app "$first" >>"$dir/enrol.log" 2>&1 9>&- || return 1
  fi
  publish_others
}

publishing_pid() { pid_with_argument "$data/local-node/publish.pid" publish-others; }

publish_others() {
  local dir=$data/local-node app missing=()
  for app in "${apps[@]:1}"; do
    app_is_published "$app" || missing+=("$app")
  done
  ((${#missing[@]})) || return 0
  if ! docker_answers; then
    say "Without Docker ${missing[*]} cannot be built; start ./run again when it runs"
    return 0
  fi
  if ! publishing_pid >/dev/null; then
    # A session of its own, with everything that a build starts, so that it can be ended as a whole.
    setsid "$ROOT/scripts/publish_apps.sh" publish-others "$data" "$programs" "${missing[@]}" >>"$dir/publish.log" 2>&1 </dev/null 9>&- &
    printf '%s\n' "$!" >"$dir/publish.pid"
  fi
  say "Made in the background (the first time takes minutes; see gpuaas app list): ${missing[*]}"
}

stop_publishing() {
  local pid
  if pid=$(publishing_pid); then
    kill -TERM -- "-$pid" 2>/dev/null || true
    end_process "$pid" 20
    say "Stopped publishing apps; the next start goes on"
  fi
  rm -f "$data/local-node/publish.pid"
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
  [[ -f $data/local-node/state/node.json ]] || return 0
  node=$(json_value node_id <"$data/local-node/state/node.json")
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
  { iptables -w 10 -S GPUAAS-INPUT 2>/dev/null || true; } | while read -r _ rule; do
    if [[ $rule == *"-d $range "* ]]; then
      # shellcheck disable=SC2086 # a rule is many words
      iptables -w 10 -D $rule || true
    fi
  done
}

# Agent first: it may still be pulling. Containers of instances stay; the agent finds them again by their labels.
stop_local_node() {
  local pid
  stop_publishing
  if pid=$(agent_pid); then
    end_process "$pid" 20
    rm -f "$data/local-node/agent.pid"
    say "Stopped the node agent (pid $pid)"
  fi
  if pid=$(started_dockerd_pid); then
    say "A Docker Engine that ./run or ./test has started (pid $pid) keeps running; others may use it"
  fi
}
