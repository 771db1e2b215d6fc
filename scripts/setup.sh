#!/usr/bin/env bash
# Finds BIRD 1.x (bird, bird6), or unpacks Debian's package into target/bird, for which it needs no root and changes nothing
# outside target/. Brings what compiles plugins, if that is missing: with rustup, or as root with apt. Starts nothing.
# Prints the line that names BIRD's folder:
#     eval "$(scripts/setup.sh)"
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
cache=$(cd "$target" && pwd)/bird

wasm=wasm32-unknown-unknown

# Whether a rustc has the standard library for WebAssembly.
has_wasm() {
  local folder
  folder=$("$1" --print target-libdir --target "$wasm" 2>/dev/null) && compgen -G "$folder/libstd-*.rlib" >/dev/null
}

# Whether Debian's compiler can make that library from its source.
has_wasm_source() {
  local root
  root=$(/usr/bin/rustc --print sysroot 2>/dev/null) && [ -d "$root/lib/rustlib/src/rust/library/vendor" ] &&
    { command -v wasm-ld || compgen -G '/usr/bin/wasm-ld-*'; } >/dev/null
}

can_compile_plugins() {
  has_wasm "${RUSTC:-rustc}" || has_wasm /usr/bin/rustc || has_wasm_source
}

bring_wasm() {
  if command -v rustup >/dev/null; then
    echo "adding the target $wasm to the Rust toolchain" >&2
    # The target alone: no other toolchain in the place of this one.
    if RUSTUP_AUTO_INSTALL=0 timeout 300 rustup target add "$wasm" >&2; then return; fi
  fi
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    local packages=(rustc-web cargo-web rust-web-src lld-19)
    local install=(apt-get -qq install -y --no-install-recommends "${packages[@]}")
    echo "installing Debian's packages ${packages[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive
    if ! "${install[@]}" >&2; then apt-get -qq update >&2 && "${install[@]}" >&2; fi
  fi
}

can_compile_plugins || bring_wasm || true
if ! can_compile_plugins; then
  cat >&2 <<END
nothing here compiles plugins, and the tests that do are skipped. One of these brings it:
  rustup target add $wasm
  apt-get install --no-install-recommends rustc-web cargo-web rust-web-src lld-19   (Debian)
END
fi

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
