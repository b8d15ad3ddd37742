#!/usr/bin/env bash
# Builds a release and serves a simulated market, so that there is something to see at once. Arguments go to `tidegate serve`:
#   Deploy/run.sh                                      simulated Kraken, Coinbase and Binance on 127.0.0.1:8080
#   Deploy/run.sh --listen 127.0.0.1:9000              the same elsewhere
#   Deploy/run.sh --feed kraken=BTC-USD,ETH-USD        the real exchange instead
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

say "Building (the first time takes a few minutes)"
swift build -c release --product tidegate
binary="$(swift build -c release --product tidegate --show-bin-path)/tidegate"

arguments=("$@")
case " $* " in
  *" --feed "*|*" --feed="*|*" --replay "*|*" --replay="*|*" --config "*|*" --config="*|*" --demo "*|*" --help "*) ;;
  *) arguments+=(--demo) ;;
esac
exec "$binary" serve "${arguments[@]}"
