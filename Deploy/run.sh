#!/usr/bin/env bash
# Builds a release and serves a simulated market. Passes its arguments to `tidegate serve`:
#   Deploy/run.sh                                 simulated Kraken, Coinbase and Binance on 127.0.0.1:8080
#   Deploy/run.sh --debug                         the same from a debug build: built in a minute, slower to run
#   Deploy/run.sh --listen 127.0.0.1:9000         the same elsewhere
#   Deploy/run.sh --feed kraken=BTC-USD,ETH-USD   the real exchange instead
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# After a crash, Swift's backtracer keeps the ports while it works, and in a terminal it waits 30 s for a key. This shows
# the stack of the thread that crashed, and takes a second.
export SWIFT_BACKTRACE="${SWIFT_BACKTRACE:-enable=yes,interactive=no,threads=crashed,limit=16,registers=none,images=none,symbolicate=fast,unwind=fast,color=no}"

configuration=release
if [ "${1:-}" = --debug ]; then
  configuration=debug
  shift
fi
if [ $configuration = debug ]; then
  say "Building for a first look (about a minute; for measurements, leave out --debug: that takes a few minutes)"
else
  say "Building (a few minutes the first time; Deploy/run.sh --debug takes one)"
fi
swift build -c $configuration --product tidegate
binary="$(swift build -c $configuration --product tidegate --show-bin-path)/tidegate"
# Uses the short path of the same file, which the shown command has.
[ ! "$binary" -ef ".build/$configuration/tidegate" ] || binary=".build/$configuration/tidegate"

arguments=("$@")
case " $* " in
  *" --feed "*|*" --feed="*|*" --replay "*|*" --replay="*|*" --config "*|*" --config="*|*" --demo "*|*" --help "*) ;;
  *) arguments+=(--demo) ;;
esac
exec "$binary" serve "${arguments[@]}"
