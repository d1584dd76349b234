#!/usr/bin/env bash
# What ./run leaves in the background: publish_apps.sh publish-others DATA PROGRAMS APP… publishes one app after the other.
# How far each is stands in the catalog (`gpuaas app list`); what was said, in local-node/publish.log of the data folder.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/local_node.sh
source "$ROOT/scripts/local_node.sh"

[[ ${1-} == publish-others && $# -ge 4 ]] || die "this is a part of ./run"
# shellcheck disable=SC2034 # local_node.sh reads them
data=$2 programs=$3
status=0
for app in "${@:4}"; do
  say "$(date --utc +%FT%TZ) $app"
  publish_app "$app" || status=1
done
exit "$status"
