#!/usr/bin/env bash
# Lets clients written with other people's libraries use a gateway with a simulated market. What is not installed and cannot
# be had is skipped, and said so. PEER_SECONDS (default 10) is how long each client watches.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export PEER_SECONDS="${PEER_SECONDS:-10}"
binary="${PEER_BINARY:-$(swift build --show-bin-path)/tidegate}"
[ -x "$binary" ] || { echo "error: $binary is not built (swift build)" >&2; exit 1; }

work=$(mktemp -d)
server=
cleanup() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap cleanup EXIT

"$binary" serve --demo --rate 20 --listen 127.0.0.1:0 --internal-listen 127.0.0.1:0 >"$work/out" 2>"$work/log" &
server=$!
address=
for _ in $(seq 100); do
  address=$(sed -n 's#.*\(ws://127\.0\.0\.1:[0-9]*\)/v1/stream.*#\1#p' "$work/out" "$work/log" | head -n 1)
  [ -n "$address" ] && break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.2
done
[ -n "$address" ] || { echo "error: the gateway did not start" >&2; cat "$work/out" "$work/log" >&2; exit 1; }

passed=0 failed=0 skipped=0
peer() {
  local name=$1; shift
  local status=0
  "$@" || status=$?
  case $status in
    0) passed=$((passed + 1)); echo "ok      $name" ;;
    77) skipped=$((skipped + 1)); echo "skipped $name" ;;
    *) failed=$((failed + 1)); echo "FAILED  $name (exit $status)" ;;
  esac
}

python_client() {
  command -v python3 >/dev/null || { echo "  python3 is not installed"; return 77; }
  local venv=.build/peers-python
  if ! "$venv/bin/python" -c 'import websockets' 2>/dev/null; then
    { python3 -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check 'websockets>=13'; } >"$work/pip" 2>&1 || {
      echo "  the package websockets could not be installed"; return 77
    }
  fi
  "$venv/bin/python" Tests/Peers/stream_client.py "$address"
}

node_client() {
  command -v node >/dev/null || { echo "  node is not installed"; return 77; }
  local flags=()
  node -e 'process.exit(typeof WebSocket === "undefined" ? 1 : 0)' || flags=(--experimental-websocket)
  node "${flags[@]}" -e 'process.exit(typeof WebSocket === "undefined" ? 1 : 0)' 2>/dev/null || {
    echo "  this node has no built-in WebSocket (22 or later has)"; return 77
  }
  node "${flags[@]}" Tests/Peers/stream_client.mjs "$address" 2>&1 | grep -v ExperimentalWarning | grep -v 'node --trace-warnings'
  return "${PIPESTATUS[0]}"
}

peer "Python websockets: every channel, snapshot first, no gap, a late client has the same book" python_client
peer "Node's built-in WebSocket: every channel, snapshot first, no gap" node_client

if [ $failed -gt 0 ]; then tail -n 30 "$work/log" >&2; fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
