# shellcheck shell=bash
# What the build scripts of images share. Source it; it does nothing by itself but set names.
# A build is called as `FOLDER/build OUT`: it leaves an image in the empty folder OUT, and says on standard error how far
# it is. Called without OUT it prints the name of the image in this machine's engine.

# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../scripts/lib.sh"

IMAGE=$(basename "$(dirname "$(realpath "$0")")") # the folder of the script that runs
IMAGE_CACHE=${GPUAAS_CACHE:-$CACHE}/images
# One fixed time for all files: the same inputs give the same bytes.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-1767225600}

die() {
  printf '%s: %s\n' "$IMAGE" "$*" >&2
  exit 1
}

progress() { printf 'progress: %s %s\n' "$1" "$2" >&2; } # progress PERCENT WHAT

# take_out "$@": sets `out` to the folder that was asked for, or to nothing.
take_out() {
  (($# <= 1)) || die "usage: build [OUT]"
  out=${1:-}
  [[ -n $out ]] || return 0
  [[ -d $out ]] || die "$out is no folder; give an empty one for the image"
  [[ -z $(ls -A "$out") ]] || die "$out is not empty; give an empty folder for the image"
  out=$(realpath "$out")
}

need_engine() {
  (need_packages docker) >&2 || exit 1
  need_docker || die "without Docker this image cannot be built"
}

# local_name IMAGE HASH: what the image of these inputs is called in the engine. Nothing is ever pushed under it.
local_name() { printf 'gpuaas-local/%s:%.16s\n' "$1" "$2"; }

has_image() { docker image inspect "$1" >/dev/null 2>&1; }

# hash_of TEXT FILE…: one hash of the text and of the files' names and contents, whatever folder they are in.
hash_of() {
  local file
  {
    printf '%s\n' "$1"
    for file in "${@:2}"; do
      printf '%s %s\n' "$(basename "$file")" "$(sha256sum <"$file")"
    done
  } | sha256sum | cut -c 1-64
}

# One build at a time per image; a second one waits and then finds everything done.
lock_build() {
  mkdir -p "$IMAGE_CACHE" || die "the cache $IMAGE_CACHE cannot be made"
  exec 7>"$IMAGE_CACHE/$1.lock"
  flock 7
}

# give_image NAME: into OUT if there is one, and the name to standard output otherwise.
give_image() {
  if [[ -z $out ]]; then
    printf '%s\n' "$1"
    return 0
  fi
  progress 95 "writing the image"
  docker save --output "$out/image.tar" "$1" || die "the image $1 could not be written to $out"
  progress 100 "done"
}
