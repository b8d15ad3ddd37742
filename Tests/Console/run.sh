#!/usr/bin/env bash
# Tests of tidegate.js (Node) and of the console's pages (chromium) against the gateway that was built. Installs what
# they need where that is allowed; it skips what is still missing, and says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

missing=()
command -v node >/dev/null || missing+=(nodejs)
command -v chromium >/dev/null || missing+=(chromium)
command -v chromedriver >/dev/null || missing+=(chromium-driver)
if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo "installing ${missing[*]}" >&2
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"; } >/dev/null 2>&1 ||
    echo "could not install ${missing[*]}" >&2
fi
command -v node >/dev/null || { echo "skipped: node is not installed" >&2; exit 0; }

flags=()
node -e 'process.exit(typeof WebSocket === "undefined" ? 1 : 0)' || flags+=(--experimental-websocket)
node "${flags[@]}" -e '' 2>/dev/null || flags=()

# axe, which looks for what people with disabilities cannot use, comes from PyPI inside a package for Python.
if [ -z "${TIDEGATE_AXE:-}" ] && command -v python3 >/dev/null; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  if python3 -m pip download --quiet --no-deps --dest "$scratch" axe-playwright-python==0.1.8 >/dev/null 2>&1 &&
    python3 -m zipfile -e "$scratch"/axe_playwright_python-*.whl "$scratch" >/dev/null; then
    export TIDEGATE_AXE=$scratch/axe_playwright_python/axe.min.js
  fi
fi
[ -n "${TIDEGATE_AXE:-}" ] || echo "skipped: axe is not to be had from PyPI; pages are tested without it" >&2

executable=${TIDEGATE_EXECUTABLE:-$PWD/.build/debug/tidegate}
[ -x "$executable" ] || { echo "error: there is no $executable: build first (swift build)" >&2; exit 1; }
# One file at a time: each has gateways and a browser of its own, on as few as two cores.
TIDEGATE_EXECUTABLE=$executable timeout 1200 node "${flags[@]}" --test --test-concurrency=1 --test-reporter=spec Tests/Console/
