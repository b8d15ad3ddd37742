# What the scripts of this folder share: where the programs are, and how their processes are started and ended.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tidegate=${GATEWAY:-.build/release/tidegate}
load=${LOAD:-.build-bench/release/tidegate-load}
port=${PORT:-18080}
for program in "$tidegate" "$load"; do
  [ -x "$program" ] || { echo "$program is missing: swift build -c release (Benchmarks/README.md)" >&2; exit 1; }
done

work=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap finish EXIT

# All clients of a load test have one address.
export TIDEGATE_LIMITS_CONNECTIONS_PER_ADDRESS=100000 TIDEGATE_LIMITS_CONNECTIONS_PER_SECOND_PER_ADDRESS=100000
export TIDEGATE_LIMITS_HANDSHAKES_PER_SECOND=100000 TIDEGATE_LIMITS_HANDSHAKES_PER_SECOND_PER_ADDRESS=100000
export TIDEGATE_LIMITS_FULL_RATE_CLIENTS_PER_ADDRESS=100000

# start NAME COMMAND…: in the background, its output in $work/NAME; its pid is in $started.
start() {
  local name=$1; shift
  "$@" >"$work/$name" 2>&1 &
  started=$!
  pids+=("$started")
}

# ready PORT NAME: waits until the gateway with that internal port has a live feed.
ready() {
  for _ in $(seq 1 150); do
    curl -fsS -o /dev/null "http://127.0.0.1:$1/readyz" 2>/dev/null && return
    sleep 0.2
  done
  echo "$2 did not get ready:" >&2; tail -20 "$work/$2" >&2; exit 1
}
