#!/usr/bin/env bash
# Sourced by the scripts beside it. Installs what a build needs, or says what is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Runs `swift test` with these arguments. Tests run in parallel, so failures are thousands of lines above the end of the
# output: they are repeated there. A subshell, so that its trap is its own.
run_tests() (
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if swift test --skip-build "$@" 2>&1 | tee "$log"; then exit 0; fi
  say "The failures"
  sed 's/\x1b\[[0-9;]*m//g' "$log" |
    awk '/^(◇|✔|➜)/ { failed = 0 } /^✘/ { failed = 1 } failed || /[Ff]atal error|^error:|unexpected signal/' | tail -n 200
  fail "tests failed: see above"
)

command -v swift >/dev/null || fail "swift is not on the PATH: install Swift 6.3 or later (https://swift.org/install), then run this again"
version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
case "$version" in
  6.[3-9]|6.[1-9][0-9]|[7-9].*|[1-9][0-9].*) ;;
  *) fail "Swift ${version:-of unknown version} is too old: install 6.3 or later (https://swift.org/install)" ;;
esac

missing=()
[ -e /usr/include/openssl/ssl.h ] || missing+=(libssl-dev)
[ -e /usr/include/zlib.h ] || missing+=(zlib1g-dev)
[ -e /usr/include/sqlite3.h ] || missing+=(libsqlite3-dev)
if [ ${#missing[@]} -gt 0 ]; then
  command -v apt-get >/dev/null || fail "the headers of ${missing[*]} are missing: install OpenSSL 3, zlib and SQLite with your system's packages"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "${missing[*]} are missing: run as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null
fi
