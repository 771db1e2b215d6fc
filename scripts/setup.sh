#!/usr/bin/env bash
# Finds BIRD 1.x (bird, bird6), or unpacks Debian's package into target/bird. Needs no root, starts nothing and changes
# nothing outside target/. Prints the line that names the folder:
#     eval "$(scripts/setup.sh)"
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
cache=$(cd "$target" && pwd)/bird

# A folder whose bird and bird6 run and are of version 1; Calico's name theirs after their own version.
is_bird1() {
  local daemon
  for daemon in bird bird6; do
    "$1/$daemon" --version 2>&1 | grep -Eq '^BIRD version (1\.|.*birdv1\.)' || return 1
  done
}

found() {
  printf 'export TAILORBIRD_BIRD1=%q\n' "$1"
  exit 0
}

path=$(command -v bird6 || true)
for folder in "${TAILORBIRD_BIRD1:-}" "${path%/*}" /usr/sbin /usr/local/sbin "$cache/usr/sbin"; do
  if [ -n "$folder" ] && is_bird1 "$folder"; then found "$folder"; fi
done

if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
  echo "BIRD 1.x is missing and this is no Debian: install bird and bird6, then set TAILORBIRD_BIRD1 to their folder" >&2
  exit 1
fi

new=$(mktemp -d "$cache.XXXXXX")
trap 'rm -rf "$new"' EXIT
download() { # OPTION…
  (cd "$new" && apt-get -qq -o APT::Sandbox::User=root "$@" download bird) >&2
}
# Package lists of our own, for a machine that has none yet.
own_lists=(-o "Dir::State::Lists=$new/lists" -o "Dir::Cache=$new/cache")
update() {
  mkdir -p "$new/lists/partial" "$new/cache/archives/partial"
  apt-get -qq -o APT::Sandbox::User=root -o Debug::NoLocking=1 "${own_lists[@]}" update >&2
}
echo "downloading Debian's package bird" >&2
if ! download 2>/dev/null && ! { update && download "${own_lists[@]}"; }; then
  echo "no package bird could be downloaded: install BIRD 1.x, then set TAILORBIRD_BIRD1 to the folder of bird and bird6" >&2
  exit 1
fi
dpkg -x "$new"/bird_*.deb "$new"
rm -rf "$new/lists" "$new/cache" "$new"/bird_*.deb
if ! is_bird1 "$new/usr/sbin"; then
  echo "Debian's bird does not run here; its libraries may be missing: apt-get install libreadline8 libtinfo6" >&2
  exit 1
fi
rm -rf "$cache"
# Where another run was faster, its folder is as good.
mv -T "$new" "$cache" || is_bird1 "$cache/usr/sbin"
found "$cache/usr/sbin"
