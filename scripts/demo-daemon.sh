#!/usr/bin/env bash
# The daemon over the example cluster, with BIRD 1.x in networks of its own: an object is added, and sessions and metrics follow.
#     scripts/demo-daemon.sh TAILORBIRD NODE
# TAILORBIRD_BIRD1 names BIRD's folder. What it starts, it ends.
set -euo pipefail
tailorbird=$(realpath "$1") node=$2
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! unshare --map-root-user --net true 2>/dev/null; then
  echo "(left out: BIRD gets no network of its own here, and its routes must reach nobody)"
  exit 0
fi
# The path of a socket must be short.
folder=$(mktemp -d)
pids=()
end() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$folder"
}
trap end EXIT
export TAILORBIRD_BIRD_SOCKETS=$folder/run
mkdir "$folder"/{objects,out,run}
cp examples/cluster/*.yaml "$folder/objects"
: >"$folder/log"

within() { # SECONDS COMMAND…
  local tenths=$(($1 * 10))
  shift
  until "$@"; do
    if ! ((tenths--)); then
      echo "it did not come to pass: $*" >&2
      cat "$folder/log" >&2
      exit 1
    fi
    sleep 0.1
  done
}
get() { # PATH
  exec 3<>"/dev/tcp/${http%:*}/${http##*:}"
  printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&3
  sed '1,/^\r$/d' <&3
  exec 3>&-
}
metrics() { get /metrics | grep -E '^tailorbird_(ready|peers|bird_sessions|rendered_revision|loaded_revision)' | sort; }
has_address() { http=$(sed -n 's/.*bound=\([0-9.:]*\).*/\1/p' "$folder/log") && [ -n "$http" ]; }
is_ready() { [ "$(get /readyz)" = ok ]; }
# Whether BIRD has as many sessions as there are in the files, and the daemon has seen it.
is_seen() {
  local wanted seen
  wanted=$(cat "$folder"/out/bird{,6}.cfg | grep -c '^protocol bgp ')
  seen=$(metrics | awk '/^tailorbird_bird_sessions/ { n += $2 } END { print n + 0 }')
  [ "$seen" = "$wanted" ]
}
has_added() { grep -qF 192.0.2.177 "$folder/out/bird.cfg"; }

printf '\n$ tailorbird run --objects %s --node %s --out %s &\n' "$folder/objects" "$node" "$folder/out"
"$tailorbird" run --objects "$folder/objects" --node "$node" --out "$folder/out" --http 127.0.0.1:0 2>"$folder/log" &
pids+=($!)
within 10 has_address
for daemon in bird bird6; do
  within 10 test -e "$folder/out/$daemon.cfg"
  unshare --map-root-user --net -- "$TAILORBIRD_BIRD1/$daemon" -f -c "$folder/out/$daemon.cfg" -s "$folder/run/$daemon.ctl" \
    -P "$folder/run/$daemon.pid" >/dev/null 2>&1 &
  pids+=($!)
done
within 20 is_ready
within 20 is_seen
printf '\n$ tailorbird bird sessions\n'
"$tailorbird" bird sessions
printf '\n$ curl http://%s/metrics\n' "$http"
metrics | tee "$folder/before"

echo; echo "# A peer is added to the objects."
tee "$folder/objects/more.yaml" <<END
apiVersion: crd.projectcalico.org/v1
kind: BGPPeer
metadata: {name: added-now}
spec: {peerIP: 192.0.2.177, asNumber: 64777}
END
within 20 has_added
within 20 is_seen
printf '\n$ tailorbird bird sessions\n'
"$tailorbird" bird sessions
printf '\n$ curl http://%s/metrics   (what changed)\n' "$http"
metrics | comm -13 "$folder/before" -
