#!/usr/bin/env bash
# What TLS costs: handshakes, memory of idle clients, and messages, each beside the same in the clear.
#   Benchmarks/tls.sh                    CLIENTS=… of the idle and the busy runs, ROUNDS=… of the busy ones
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
idle=${IDLE:-2000} clients=${CLIENTS:-200} rounds=${ROUNDS:-3}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$work/key.pem" -out "$work/chain.pem" 2>/dev/null
start exchange "$tidegate" simulate --venue kraken --listen 127.0.0.1:$((port + 4)) --rate 50
sleep 1
follow=(--feed kraken=BTC-USD,ZEC-USD --endpoint kraken=ws://127.0.0.1:$((port + 4))/v2)
start plain "$tidegate" serve --listen 127.0.0.1:"$port" --internal-listen 127.0.0.1:$((port + 1)) "${follow[@]}"
plain=$started
export TIDEGATE_TLS_CERTIFICATE="$work/chain.pem" TIDEGATE_TLS_KEY="$work/key.pem"
start secure "$tidegate" serve --listen 127.0.0.1:$((port + 2)) --internal-listen 127.0.0.1:$((port + 3)) "${follow[@]}"
secure=$started
ready $((port + 1)) plain
ready $((port + 3)) secure
ws=ws://127.0.0.1:$port/v1/stream wss=wss://127.0.0.1:$((port + 2))/v1/stream

# A run whose verdict is bad says so and is shown all the same.
load() { "$load" "$@" 2>"$work/load.log" || tail -n 1 "$work/load.log" >&2; }
field() { sed -E "s/.*\"$1\":([-0-9.]+).*/\1/"; }

echo "Idle clients ($idle): resident bytes of each"
echo "  ws  $(load --url "$ws" --clients "$idle" --pid "$plain" --internal 127.0.0.1:$((port + 1)) --idle | field rss_per_client)"
echo "  wss $(load --url "$wss" --clients "$idle" --pid "$secure" --internal 127.0.0.1:$((port + 3)) --idle | field rss_per_client)"

echo "Handshakes (P-256): CPU time of the gateway"
"$load" handshakes --url "$wss" --pid "$secure" --plain-url "$ws" --plain-pid "$plain" 2>/dev/null |
  sed -E 's/"(full|resumed|plain)"/\n  "\1"/g; s/,"resumed_over/\n  "resumed_over/; s/^\{|\}$//g'

echo "Messages to $clients clients: the gateway's CPU time for each delivery, ns"
for round in $(seq 1 "$rounds"); do
  turns=()
  for kind in ws wss; do
    pid=$plain; [ $kind = wss ] && pid=$secure
    turns+=("$(load --url "${!kind}" --clients "$clients" --channels trades,quote,book --pid "$pid" --symbol-count 2 \
      --duration 8 | field server_cpu_ns_per_delivery)")
  done
  echo "${turns[*]}" | awk '{ printf "  ws %.0f  wss %.0f  ratio %.2f\n", $1, $2, $2 / $1 }'
done
