# shellcheck shell=bash
# What ./run, ./test and tests/contract/run share. Source it; it does nothing by itself but set names.
# Callers may run these inside `if` or `||`, where errexit is off: each failure is returned or ends the script.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
CACHE=$HOME/.cache/gpuaas
TOOLS=$CACHE/tools
# Outside the checkout, so that a fresh clone (CI) finds what an older one has built.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$CACHE/target}
CARGO_DENY_VERSION=0.20.2

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

# need_packages build [test]: the Debian packages that these purposes lack get installed.
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
        python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
        ;;
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
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Options::=--force-confold "$@" || die "packages could not be installed; the line is: $line"
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
    find "$ROOT/crates" "$ROOT/xtask" \( -path '*/src/lib.rs' -o -path '*/src/main.rs' -o -path '*/tests/*' -name '*.rs' \) -exec touch {} +
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

# The Python tools of the contract test, in a folder of their own that is rebuilt when the list changes.
need_contract_tools() {
  local list=$ROOT/tests/contract/requirements.txt venv=$TOOLS/contract-venv
  if cmp -s "$list" "$venv/requirements.txt"; then
    return 0
  fi
  say "Installing the contract test's Python tools (once, about a minute)"
  rm -rf "$venv"
  mkdir -p "$TOOLS"
  python3 -m venv "$venv" || return 1
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$list" || return 1
  cp "$list" "$venv/requirements.txt"
}

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
start_database() {
  local password port attempt
  postgres=$(postgres_bin) || { say "PostgreSQL is missing: apt-get install -y postgresql" >&2; return 1; }
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
      -o "-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories=$database -c max_connections=300" start >&2; then
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
