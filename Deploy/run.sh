#!/usr/bin/env bash
# Builds a release and serves a simulated market, so that there is something to see at once. Arguments go to
# `tidegate serve`:
#   Deploy/run.sh                                 simulated Kraken, Coinbase and Binance on 127.0.0.1:8080
#   Deploy/run.sh --debug                         the same from a debug build: built in a minute, slower to run
#   Deploy/run.sh --listen 127.0.0.1:9000         the same elsewhere
#   Deploy/run.sh --feed kraken=BTC-USD,ETH-USD   the real exchange instead
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

configuration=release
if [ "${1:-}" = --debug ]; then
  configuration=debug
  shift
fi
if [ $configuration = debug ]; then
  say "Building for a first look (about a minute; without --debug it takes a few, and what is measured counts)"
else
  say "Building (the first time takes a few minutes; Deploy/run.sh --debug is there in one)"
fi
swift build -c $configuration --product tidegate
binary="$(swift build -c $configuration --product tidegate --show-bin-path)/tidegate"
# The same place by its short name, which the line to paste shows.
[ ! "$binary" -ef ".build/$configuration/tidegate" ] || binary=".build/$configuration/tidegate"

arguments=("$@")
case " $* " in
  *" --feed "*|*" --feed="*|*" --replay "*|*" --replay="*|*" --config "*|*" --config="*|*" --demo "*|*" --help "*) ;;
  *) arguments+=(--demo) ;;
esac
exec "$binary" serve "${arguments[@]}"
