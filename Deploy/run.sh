#!/usr/bin/env bash
# Builds Tidegate and serves a simulated market. Passes its arguments to `tidegate serve`:
#   Deploy/run.sh                                 simulated Kraken, Coinbase and Binance on 127.0.0.1:8080
#   Deploy/run.sh --listen 127.0.0.1:9000         the same elsewhere
#   Deploy/run.sh --feed kraken=BTC-USD,ETH-USD   the real exchange instead
#
# A release build takes several minutes. The first time, this serves from a debug build while it builds the release, and
# then restarts into it: clients reconnect and resume. One of these, as the first argument, changes that:
#   --release   waits for the release (for load tests and measurements)
#   --debug     serves from the debug build and builds no release
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# After a crash, Swift's backtracer keeps the ports while it works, and in a terminal it waits 30 s for a key. This shows
# the stack of the thread that crashed, and takes a second.
export SWIFT_BACKTRACE="${SWIFT_BACKTRACE:-enable=yes,interactive=no,threads=crashed,limit=16,registers=none,images=none,symbolicate=fast,unwind=fast,color=no}"

mode=
case "${1:-}" in --debug|--release) mode=${1#--}; shift ;; esac
# A release that exists is brought up to date before it serves: that takes seconds, or as long as the changes need.
[ -n "$mode" ] || { [ -x .build/release/tidegate ] && mode=release || mode=both; }

arguments=("$@")
case " $* " in
  *" --feed "*|*" --feed="*|*" --replay "*|*" --replay="*|*" --config "*|*" --config="*|*" --demo "*|*" --help "*) ;;
  *) arguments+=(--demo) ;;
esac

# Prints the path of the built program, as the README writes it where that is the same file.
program() { # configuration
  local binary
  binary="$(swift build -c "$1" --product tidegate --show-bin-path)/tidegate"
  if [ "$binary" -ef ".build/$1/tidegate" ]; then binary=".build/$1/tidegate"; fi
  echo "$binary"
}

# Minutes of a build on this machine, from its CPU time. More than four processors hardly help: modules wait for others.
minutes() { # seconds of CPU
  local cores
  cores=$(nproc)
  [ "$cores" -le 4 ] || cores=4
  echo $((($1 / cores + 59) / 60))
}
debug_seconds=240
release_seconds=720

if [ $mode != both ]; then
  if [ $mode = debug ]; then
    say "Building (about $(minutes $debug_seconds) minutes the first time)"
  elif [ ! -x .build/release/tidegate ]; then
    say "Building a release (about $(minutes $release_seconds) minutes; without --release, this serves earlier)"
  else
    say "Bringing the release up to date"
  fi
  swift build -c $mode --product tidegate
  exec "$(program $mode)" serve "${arguments[@]}"
fi

say "Building for a first look (about $(minutes $debug_seconds) minutes); the release is built while that serves"
swift build -c debug --product tidegate

# Both children end with this script, whatever ends it.
server= builder=
finish() {
  trap - EXIT INT TERM
  if [ -n "$builder" ]; then kill "$builder" 2>/dev/null || true; fi
  if [ -n "$server" ]; then kill "$server" 2>/dev/null && wait "$server"; fi
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

log=$(mktemp)
"$(program debug)" serve "${arguments[@]}" &
server=$!
nice swift build -c release --product tidegate >"$log" 2>&1 &
builder=$!
say "A debug build serves now, slower than a release. The release follows in about $(minutes $release_seconds) minutes"

# Waits for whichever ends first.
status=0
wait -n -p ended "$server" "$builder" || status=$?
if [ "$ended" = "$server" ]; then
  server=
  exit $status
fi
builder=
if [ $status -ne 0 ]; then
  tail -n 30 "$log" >&2
  rm -f "$log"
  say "The release could not be built (above); the debug build serves on"
  wait "$server" || status=$?
  server=
  exit $status
fi
rm -f "$log"
say "The release is built: it serves from now on"
kill "$server" 2>/dev/null || true
wait "$server" || true
server=
trap - EXIT INT TERM
exec "$(program release)" serve "${arguments[@]}"
