# shellcheck shell=bash
# What ./run, ./test, ./bench and the tests that are scripts share. Source it; it does nothing by itself but set names.
# Callers may run these inside `if` or `||`, where errexit is off: each failure is returned or ends the script.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
CACHE=$HOME/.cache/gpuaas
TOOLS=$CACHE/tools
# Outside the checkout, so that a fresh clone (CI) finds what an older one has built.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$CACHE/target}
CARGO_DENY_VERSION=0.20.2
DOCKER_SOCKET=${GPUAAS_DOCKER_SOCKET:-/var/run/docker.sock}
DOCKER_PACKAGES=(docker.io iptables)
DOCKER_START_SECONDS=60
REGISTRY_PROGRAM=/usr/bin/docker-registry
NGINX_PROGRAM=/usr/sbin/nginx
HTTP_PROXY_VERSION=5.3.0
AJV_VERSION=8.20.0
BROWSER_PROGRAM=/usr/bin/chromium

say() { printf '%s\n' "$*"; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# The program folder of the newest installed PostgreSQL server; Debian keeps it off the PATH.
postgres_bin() {
  local folder
  while IFS= read -r folder; do
    if [[ -x $folder/initdb && -x $folder/postgres && -x $folder/pg_ctl ]]; then
      printf '%s\n' "$folder"
      return 0
    fi
  done < <(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV)
  if have initdb && have postgres && have pg_ctl; then
    dirname "$(readlink -f "$(command -v initdb)")"
    return 0
  fi
  return 1
}

# need_packages build [test] [fuzz] [docker] [registry] [nginx] [web] [browser]: the Debian packages that these purposes lack get installed.
need_packages() {
  local purpose missing=()
  for purpose in "$@"; do
    case $purpose in
      build)
        have cc || missing+=(gcc libc6-dev)
        have curl || missing+=(curl)
        have flock || missing+=(util-linux)
        ;;
      test)
        postgres_bin >/dev/null || missing+=(postgresql)
        [[ -x /bin/busybox ]] || missing+=(busybox-static)
        have iptables || [[ -x /usr/sbin/iptables ]] || missing+=(iptables)
        have systemd-analyze || missing+=(systemd)
        have skopeo || missing+=(skopeo)
        python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
        ;;
      # libFuzzer is C++.
      fuzz) have c++ || missing+=(g++) ;;
      docker)
        # An engine that answers is enough, whoever has installed it.
        docker_answers || dockerd_program >/dev/null || missing+=("${DOCKER_PACKAGES[@]}")
        have docker || missing+=(docker.io)
        ;;
      registry) [[ -x $REGISTRY_PROGRAM ]] || missing+=(docker-registry) ;;
      nginx) [[ -x $NGINX_PROGRAM ]] || missing+=(nginx-light) ;;
      web) node_is_there || missing+=(nodejs npm) ;;
      browser) [[ -x $BROWSER_PROGRAM ]] || missing+=(chromium) ;;
      *) die "no such purpose: $purpose" ;;
    esac
  done
  if ((${#missing[@]})); then
    install_packages "${missing[@]}"
  fi
}

install_packages() {
  local line="apt-get install -y --no-install-recommends $*" answer
  have apt-get || die "these Debian packages (or what they hold) are missing: $*"
  if ((EUID != 0)); then
    die "some packages are missing; run this once as root, then try again: $line"
  fi
  if [[ -t 0 && -t 1 ]]; then
    read -r -p "Install missing packages ($*)? [Y/n] " answer
    [[ $answer =~ ^([Yy].*)?$ ]] || die "not installed; the line is: $line"
  fi
  say "Installing packages: $*"
  # Debian starts a database of its own at once; we only want the programs.
  if [[ " $* " == *" postgresql "* && ! -e /etc/postgresql-common/createcluster.conf ]]; then
    mkdir -p /etc/postgresql-common
    printf 'create_main_cluster = false\n' >/etc/postgresql-common/createcluster.conf
  fi
  apt-get update -qq || die "the package lists cannot be read"
  # Newer Debians have the command line in a package of its own.
  if [[ " $* " == *" docker.io "* ]] && apt-cache show docker-cli >/dev/null 2>&1; then
    set -- "$@" docker-cli
  fi
  local policy=/usr/sbin/policy-rc.d own_policy=no status=0
  # Debian starts a registry or web server for the whole network at once; we only want the program.
  if [[ " $* " =~ \ (docker-registry|nginx-light)\  && ! -e $policy ]]; then
    # shellcheck disable=SC2016 # it is the policy's own $1
    printf '#!/bin/sh\ncase $1 in docker-registry* | nginx*) exit 101 ;; esac\n' >"$policy"
    chmod 755 "$policy"
    own_policy=yes
  fi
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Options::=--force-confold "$@" || status=$?
  if [[ $own_policy == yes ]]; then
    rm -f "$policy"
  fi
  # Nor at the next boot.
  if [[ " $* " == *" docker-registry "* && -x $REGISTRY_PROGRAM ]]; then
    update-rc.d docker-registry disable >/dev/null 2>&1 || true
  fi
  if [[ " $* " == *" nginx-light "* && -x $NGINX_PROGRAM ]]; then
    update-rc.d nginx disable >/dev/null 2>&1 || true
  fi
  ((status == 0)) || die "packages could not be installed; the line is: $line"
}

need_rust() {
  if ! have cargo && [[ -x $HOME/.cargo/bin/cargo ]]; then
    PATH=$HOME/.cargo/bin:$PATH
  fi
  have cargo && own_target && return 0
  die "Rust is missing: install rustup (https://rustup.rs), then try again; it fetches the version named in rust-toolchain.toml"
}

# Two checkouts may share the target folder, and cargo tells a source from another checkout's only by its age. So
# whoever comes after another checkout makes its own sources look new.
own_target() {
  local mark=$CARGO_TARGET_DIR/gpuaas-checkout
  mkdir -p "$CARGO_TARGET_DIR"
  if [[ $(cat "$mark" 2>/dev/null) != "$ROOT" ]]; then
    find "$ROOT/crates" "$ROOT/xtask" "$ROOT/fuzz" \( -path '*/src/lib.rs' -o -path '*/src/main.rs' -o -path '*/tests/*' -name '*.rs' \) -exec touch {} +
    printf '%s\n' "$ROOT" >"$mark"
  fi
}

# The cargo-deny of our version, built once. The light profile is enough for a tool that reads a few files.
need_cargo_deny() {
  if [[ $("$TOOLS/bin/cargo-deny" --version 2>/dev/null) == "cargo-deny $CARGO_DENY_VERSION" ]]; then
    return 0
  fi
  say "Building cargo-deny $CARGO_DENY_VERSION (once, about two minutes)"
  CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    CARGO_TARGET_DIR=$CACHE/target-tools \
    cargo install cargo-deny --locked --quiet --no-default-features --version "$CARGO_DENY_VERSION" --root "$TOOLS" || return 1
  rm -rf "$CACHE/target-tools"
}

# Both versions of cosign that signatures are tried with.
need_cosign() {
  local version folder
  for version in v2.6.4 v3.1.2; do
    folder=$TOOLS/cosign-${version%%.*}
    [[ ! -x $folder/cosign ]] || continue
    have go || { say "Go is missing; install it from your distribution or go.dev, then run this again" >&2; return 1; }
    say "Building cosign $version (once, several minutes)"
    GOBIN=$folder go install "github.com/sigstore/cosign/${version%%.*}/cmd/cosign@$version" || return 1
  done
}

COMPOSE_VERSION=2.26.1-4
COMPOSE_PROGRAM=$TOOLS/compose-$COMPOSE_VERSION/docker-compose

# Docker Compose v2 in our version: one program out of Debian's package, which also runs on older Debians. It is not
# installed: a Compose of the machine's own stays what it is.
need_compose() {
  [[ ! -x $COMPOSE_PROGRAM ]] || return 0
  local architecture sum folder status=0
  have dpkg-deb || { say "dpkg-deb is missing; it unpacks Docker Compose: apt-get install -y dpkg" >&2; return 1; }
  architecture=$(dpkg --print-architecture) || return 1
  case $architecture in
    amd64) sum=47681197cb2b1ab88206b42a1a92fc75f50d9530a6322d03494a473eed0408ea ;;
    arm64) sum=bbafaa666f3e7fa00ad36f2a8bab889f1c791ca8743d674e7267a3d07203869c ;;
    *) say "There is no Docker Compose for $architecture here" >&2; return 1 ;;
  esac
  say "Fetching Docker Compose $COMPOSE_VERSION (once)"
  folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuaas-compose.XXXXXX") && mkdir -p "$(dirname "$COMPOSE_PROGRAM")" || return 1
  {
    curl --silent --show-error --fail --location --max-time 300 --output "$folder/package" \
      "${GPUAAS_DEBIAN_MIRROR:-http://deb.debian.org/debian}/pool/main/d/docker-compose/docker-compose_${COMPOSE_VERSION}_$architecture.deb" &&
      sha256sum --check --quiet <<<"$sum  $folder/package" && dpkg-deb --extract "$folder/package" "$folder/root" &&
      mv "$folder/root/usr/libexec/docker/cli-plugins/docker-compose" "$COMPOSE_PROGRAM"
  } >&2 || status=$?
  rm -rf -- "$folder"
  return "$status"
}

need_helm() { go_program "$TOOLS/helm-v3/helm" helm.sh/helm/v3 v3.21.4 helm.sh/helm/v3/cmd/helm; }

# go_program FILE MODULE VERSION PACKAGE [build|test]: builds a Go program, or a package's tests as a program, once. Not
# `go install`: that also asks the proxy for the list of versions, which some proxies refuse where they serve the module.
go_program() {
  local file=$1 module=$2 version=$3 package=$4 kind=${5:-build} folder status=0 command=(build)
  [[ ! -x $file ]] || return 0
  have go || { say "Go is missing; as root: apt-get install -y golang-go (1.24 or later), or take it from https://go.dev/dl" >&2; return 1; }
  [[ $kind != test ]] || command=(test -c)
  say "Building $package $version (once)"
  folder=$(mktemp -d "${TMPDIR:-/tmp}/gpuaas-go.XXXXXX") && mkdir -p "$(dirname "$file")" || return 1
  (
    cd "$folder" && go mod init tool 2>/dev/null && printf '\nrequire %s %s\n' "$module" "$version" >>go.mod &&
      GOFLAGS=-mod=mod go "${command[@]}" -buildvcs=false -o "$folder/program" "$package"
  ) >"$folder/log" 2>&1 || status=$?
  if ((status == 0)); then
    mv "$folder/program" "$file" || status=$?
  else
    # Of what was fetched there is a line each; the last ones say what is wrong.
    tail -n 3 "$folder/log" >&2
    say "$package cannot be had: go build $package, with $module $version in go.mod" >&2
  fi
  rm -rf -- "$folder"
  return "$status"
}

need_oras() { go_program "$TOOLS/oras-v1/oras" oras.land/oras v1.2.3 oras.land/oras/cmd/oras; }

# python_tools TEST: the Python tools of tests/TEST, in a folder of their own that is rebuilt when the list changes.
python_tools() {
  local list=$ROOT/tests/$1/requirements.txt venv=$TOOLS/$1-venv
  if cmp -s "$list" "$venv/requirements.txt"; then
    return 0
  fi
  say "Installing the Python tools of tests/$1 (once, about a minute)"
  rm -rf "$venv"
  mkdir -p "$TOOLS"
  python3 -m venv "$venv" || return 1
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$list" || return 1
  cp "$list" "$venv/requirements.txt"
}

need_contract_tools() { python_tools contract; }

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# The given port or the next free one.
free_port_from() {
  local port=$1
  while ((port <= 65535)); do
    if port_is_free "$port"; then
      printf '%s\n' "$port"
      return 0
    fi
    port=$((port + 1))
  done
  return 1
}

# --- a PostgreSQL of one run's own ----------------------------------------------------------------------------------
# Callers set `work` (a temporary folder that others may pass through, mode 711) and call stop_database when they end.
# Words go to standard error: ./bench keeps standard output for figures.

database=''
postgres=''

as_database_user() { # initdb and postgres refuse root
  if ((EUID == 0)); then
    (cd / && exec runuser -u postgres -- "$@")
  else
    "$@"
  fi
}

# Starts it and exports GPUAAS_TEST_POSTGRES.
start_database() { # start_database [OPTION…]: options of the server besides
  local password port attempt
  postgres=$(postgres_bin) || { say "PostgreSQL is missing: apt-get install -y postgresql" >&2; return 1; }
  # shellcheck disable=SC2154 # the caller's
  database=$work/postgres
  password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  mkdir "$database" || return 1
  (umask 077 && printf '%s\n' "$password" >"$database/password")
  if ((EUID == 0)); then
    chown -R postgres "$database"
  fi
  as_database_user "$postgres/initdb" --pgdata "$database/data" --username postgres --pwfile "$database/password" \
    --auth scram-sha-256 --encoding UTF8 --locale C.UTF-8 >"$work/initdb.log" 2>&1 || { cat "$work/initdb.log" >&2; return 1; }
  for attempt in 1 2 3 4 5; do
    port=$(free_port_from $((20000 + (RANDOM % 20000)))) || return 1
    if as_database_user "$postgres/pg_ctl" --pgdata "$database/data" --log "$database/log" --wait --timeout 60 --silent \
      -o "-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories=$database -c max_connections=300 $*" start >&2; then
      export GPUAAS_TEST_POSTGRES=postgres://postgres:$password@127.0.0.1:$port/postgres
      return 0
    fi
    say "PostgreSQL did not start on port $port (attempt $attempt)" >&2
  done
  as_database_user cat "$database/log" >&2
  return 1
}

stop_database() {
  [[ -n $postgres && -f $database/data/postmaster.pid ]] || return 0
  as_database_user "$postgres/pg_ctl" --pgdata "$database/data" --mode immediate --wait stop >/dev/null 2>&1 || true
}

# --- processes in the background ------------------------------------------------------------------------------------

# Not `kill -0`: that also finds a dead process nobody has waited for.
alive() { [[ -e /proc/$1/exe ]]; }

# pid_with_argument FILE WORD: the pid in FILE if that process lives and has WORD as an argument; pids are reused.
pid_with_argument() {
  local pid
  [[ -f $1 ]] || return 1
  pid=$(<"$1")
  [[ $pid =~ ^[0-9]+$ ]] && alive "$pid" || return 1
  tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -Fqx -- "$2" || return 1
  printf '%s\n' "$pid"
}

# end_process PID SECONDS: asks it to end and waits that long, then makes it. Not for what must end in order.
end_process() {
  local pid=$1 deadline=$((SECONDS + $2))
  kill -TERM "$pid" 2>/dev/null || true
  while alive "$pid"; do
    if ((SECONDS >= deadline)); then
      kill -KILL "$pid" 2>/dev/null || true
      return 0
    fi
    sleep 0.05
  done
}

# --- the web shell ----------------------------------------------------------------------------------------------------
# Words go to standard error: ./bench keeps standard output for figures.

NODE_AT_LEAST=18

node_is_there() {
  have npm && node -e "process.exit(Number(process.versions.node.split('.')[0]) >= $NODE_AT_LEAST ? 0 : 1)" 2>/dev/null
}

# What the built files depend on, as one hash.
web_sources() {
  (
    cd "$ROOT/web" && find . \( -name node_modules -o -path ./dist -o -path ./tests \) -prune -o -type f -print0 | LC_ALL=C sort -z |
      xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1
  )
}

# node_packages DIR: what its package-lock.json names, from npm's own cache where it can be.
node_packages() {
  local stamp
  stamp=$(sha256sum <"$1/package-lock.json")
  [[ ! -f $1/node_modules/.stamp || $(<"$1/node_modules/.stamp") != "$stamp" ]] || return 0
  say "Installing the Node packages of ${1#"$ROOT"/}" >&2
  npm ci --prefix "$1" --prefer-offline --no-audit --no-fund --ignore-scripts --loglevel error >&2 || return 1
  printf '%s\n' "$stamp" >"$1/node_modules/.stamp"
}

# need_web: web/dist holds what web/ says, before the server is compiled, which takes it in. Nothing to do is quick.
need_web() {
  local stamp=$ROOT/web/dist/.stamp sources
  sources=$(web_sources) || return 1
  [[ ! -f $stamp || $(<"$stamp") != "$sources" ]] || return 0
  node_is_there || (need_packages web) || {
    say "The web shell cannot be built without Node $NODE_AT_LEAST or newer and npm; see docs/how-to/build.md" >&2
    return 1
  }
  node_is_there || { say "Node $NODE_AT_LEAST or newer is needed to build the web shell; found: $(node --version 2>&1)" >&2; return 1; }
  mkdir -p "$CACHE" || return 1
  # Two scripts that start at once must not build into one folder.
  (
    flock -w 300 7 || { say "Somebody else is busy building the web shell; try again" >&2; exit 1; }
    [[ ! -f $stamp || $(<"$stamp") != "$sources" ]] || exit 0
    node_packages "$ROOT/web" || exit 1
    say "Building the web shell" >&2
    npm run --prefix "$ROOT/web" --silent build >&2 || exit 1
    printf '%s\n' "$sources" >"$stamp"
  ) 7>"$CACHE/web.lock"
}

# --- the Docker Engine ----------------------------------------------------------------------------------------------
# Words go to standard error. One engine per machine: we use the one that runs and never stop any, also not one that we
# have started, because others may have found it meanwhile.

docker_get() { curl --silent --fail --max-time "${2:-10}" --unix-socket "$DOCKER_SOCKET" "http://docker$1"; }
docker_answers() { docker_get /_ping 5 >/dev/null 2>&1; }

dockerd_program() {
  command -v dockerd || { [[ -x /usr/sbin/dockerd ]] && printf '/usr/sbin/dockerd\n'; }
}

# The pid of any engine on this machine, also of one that listens elsewhere.
dockerd_pid() {
  local comm name
  for comm in /proc/[0-9]*/comm; do
    if read -r name 2>/dev/null <"$comm" && [[ $name == dockerd ]]; then
      basename "$(dirname "$comm")"
      return 0
    fi
  done
  return 1
}

# The pid of the engine that a script of ours has started, if it still runs.
started_dockerd_pid() {
  local pid name
  pid=$(cat "$CACHE/dockerd.pid" 2>/dev/null) && [[ $pid =~ ^[0-9]+$ ]] || return 1
  read -r name 2>/dev/null <"/proc/$pid/comm" && [[ $name == dockerd ]] || return 1
  printf '%s\n' "$pid"
}

# Finds a working engine or starts one. If it cannot, it says in one sentence why and what to do, and returns 1.
need_docker() {
  local install="apt-get install -y --no-install-recommends ${DOCKER_PACKAGES[*]}"
  docker_answers && return 0
  if [[ -S $DOCKER_SOCKET && ! -w $DOCKER_SOCKET ]]; then
    say "Docker is there, but this user may not use $DOCKER_SOCKET; run this as root and sign in again: usermod -aG docker $(id -un)" >&2
    return 1
  fi
  if ((EUID != 0)); then
    if dockerd_program >/dev/null; then
      say "No Docker Engine answers at $DOCKER_SOCKET; run this as root: dockerd" >&2
    else
      say "Docker is missing; run this as root: $install && dockerd" >&2
    fi
    return 1
  fi
  if ! dockerd_program >/dev/null; then
    (need_packages docker) || return 1
    docker_answers && return 0
  fi
  mkdir -p "$CACHE" || return 1
  # Two scripts that start at once must not start two engines.
  (
    flock -w "$DOCKER_START_SECONDS" 8 || { say "Somebody else is busy starting Docker; try again" >&2; exit 1; }
    docker_answers || start_docker
  ) 8>"$CACHE/dockerd.lock"
}

start_docker() {
  local program pid='' log=$CACHE/dockerd.log deadline=$((SECONDS + DOCKER_START_SECONDS)) host=()
  program=$(dockerd_program) || return 1
  if [[ -d /run/systemd/system ]]; then
    systemctl start docker >&2 || { say "Docker did not start; look at: journalctl -u docker" >&2; return 1; }
  elif ! pid=$(dockerd_pid); then
    say "Starting the Docker Engine (log $log)" >&2
    if [[ $DOCKER_SOCKET != /var/run/docker.sock ]]; then
      host=(--host "unix://$DOCKER_SOCKET")
    fi
    : >"$log" || return 1
    # A session of its own, so that it outlives this script and its terminal; without our locks.
    setsid "$program" "${host[@]}" >>"$log" 2>&1 </dev/null 8>&- 9>&- &
    pid=$!
    printf '%s\n' "$pid" >"$CACHE/dockerd.pid"
  fi
  until docker_answers; do
    if [[ -n $pid ]] && ! alive "$pid"; then
      say "dockerd ended at once ($(tail -n 1 "$log" 2>/dev/null)); run this as root and read what it says: $program" >&2
      return 1
    fi
    if ((SECONDS >= deadline)); then
      say "dockerd${pid:+ (pid $pid)} does not answer at $DOCKER_SOCKET after $DOCKER_START_SECONDS s; try: curl --unix-socket $DOCKER_SOCKET http://docker/_ping" >&2
      return 1
    fi
    sleep 0.2
  done
}

# --- our registry alone, without a guard ----------------------------------------------------------------------------

# serve_registry DIR [PROFILE]: runs it in the background with everything in DIR. Sets served_pid and served_address; the
# caller ends it.
serve_registry() {
  local dir=$1 profile=${2:-debug} deadline release=()
  served_pid='' served_address=''
  [[ $profile == debug ]] || release=(--release)
  cargo build --locked --quiet "${release[@]}" --package gpuaas-registry --example serve || return 1
  mkdir -p "$dir" || return 1
  "$CARGO_TARGET_DIR/$profile/examples/serve" "$dir/registry" >"$dir/address" 2>"$dir/log" &
  served_pid=$!
  deadline=$((SECONDS + 30))
  until [[ -s $dir/address ]]; do
    if ! alive "$served_pid" || ((SECONDS >= deadline)); then
      say "the registry did not start: $(tail -n 1 "$dir/log")" >&2
      return 1
    fi
    sleep 0.05
  done
  # shellcheck disable=SC2034 # for the caller
  served_address=$(<"$dir/address")
}
