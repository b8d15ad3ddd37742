#!/usr/bin/env bash
# Sourced by the scripts beside it: sees to it that what a build needs is there, and says what is missing if it cannot.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Runs `swift test` with these arguments; what it says is in the file that $log names until the script ends. Tests run
# side by side, and what failed stands thousands of lines above the end: it is said again there.
run_tests() {
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if swift test --skip-build "$@" 2>&1 | tee "$log"; then return; fi
  say "What failed"
  sed 's/\x1b\[[0-9;]*m//g' "$log" |
    awk '/^(◇|✔|➜)/ { failed = 0 } /^✘/ { failed = 1 } failed || /[Ff]atal error|^error:|unexpected signal/' | tail -n 200
  fail "tests failed: see above"
}

command -v swift >/dev/null || fail "Swift is not on the PATH. Install Swift 6.3 or later from https://swift.org/install, then run this again."
version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
case "$version" in
  6.[3-9]|6.[1-9][0-9]|[7-9].*|[1-9][0-9].*) ;;
  *) fail "Swift ${version:-of unknown version} is too old: Tidegate needs 6.3 or later (https://swift.org/install)." ;;
esac

missing=()
[ -e /usr/include/openssl/ssl.h ] || missing+=(libssl-dev)
[ -e /usr/include/zlib.h ] || missing+=(zlib1g-dev)
[ -e /usr/include/sqlite3.h ] || missing+=(libsqlite3-dev)
if [ ${#missing[@]} -gt 0 ]; then
  command -v apt-get >/dev/null || fail "the headers of ${missing[*]} are missing; install OpenSSL 3, zlib and SQLite with your system's packages."
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "${missing[*]} are missing. As root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null
fi
