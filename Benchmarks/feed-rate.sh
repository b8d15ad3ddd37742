#!/usr/bin/env bash
# The busiest feed: a simulated Binance sends some 2,500 messages a second to a gateway, without clients and with a
# modest number of them. Says what both processes use of a core, in user and in kernel time. The gateway should leave
# one at least half idle. Benchmarks/feed-rate.sh RATE=… moments a second and symbol, CLIENTS=…, SPAN=… seconds of each
# measurement
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
rate=${RATE:-500} clients=${CLIENTS:-50} span=${SPAN:-20}
symbols=BTC-USDT,ETH-USDT,SOL-USDT,ZEC-USDT,XRP-USDT,ADA-USDT,DOGE-USDT,LTC-USDT

start exchange "$tidegate" simulate --venue binance --listen 127.0.0.1:$((port + 2)) --rate "$rate"
exchange=$started
sleep 1
start gateway "$tidegate" serve --listen 127.0.0.1:"$port" --internal-listen 127.0.0.1:$((port + 1)) \
  --feed binance=$symbols --endpoint binance=ws://127.0.0.1:$((port + 2))/stream
gateway=$started
ready $((port + 1)) gateway
sleep 5

# User and kernel time of a process so far, in ticks.
ticks() { awk '{ sub(/.*\) /, ""); print $12, $13 }' "/proc/$1/stat"; }
# Messages and bytes received by the gateway so far, and frames sent.
received() {
  curl -fsS "http://127.0.0.1:$((port + 1))/metrics" |
    awk '/^tidegate_feed_messages_total/ { m += $2 } /^tidegate_feed_bytes_total/ { b += $2 } /^tidegate_frames_sent_total/ { f += $2 }
      END { print m, b, f }'
}

measure() {
  local before after now=$(date +%s.%N)
  before="$(ticks "$gateway") $(ticks "$exchange") $(received) $now"
  sleep "$span"
  now=$(date +%s.%N)
  after="$(ticks "$gateway") $(ticks "$exchange") $(received) $now"
  echo "$before $after" | awk -v name="$1" -v hz="$(getconf CLK_TCK)" '{
    t = $16 - $8; gu = ($9 - $1) / hz / t; gs = ($10 - $2) / hz / t; eu = ($11 - $3) / hz / t; es = ($12 - $4) / hz / t
    m = ($13 - $5) / t
    printf "%-14s %6.0f messages/s %8.0f bytes each %8.0f frames sent/s   gateway %4.1f %% of a core (user %.1f, kernel %.1f), %.1f us a message   exchange %4.1f %%\n",
      name, m, ($14 - $6) / ($13 - $5), ($15 - $7) / t, 100 * (gu + gs), 100 * gu, 100 * gs, 1e6 * (gu + gs) / m, 100 * (eu + es) }'
}

measure "no clients"
start load "$load" --url ws://127.0.0.1:"$port"/v1/stream --clients "$clients" --symbol-count 8 --channels pulse,ticker,book \
  --depth 25 --interval-ms 100 --warmup 1 --duration $((span + 4))
sleep 4
measure "$clients clients"
curl -fsS "http://127.0.0.1:$((port + 1))/metrics" | grep -E '^tidegate_feed_(gaps|errors|rejected|books_live|connects)' || true
