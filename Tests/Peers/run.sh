#!/usr/bin/env bash
# Lets clients written with other people's libraries use a gateway with a simulated market, over ws and wss, and sends
# signals to running gateways. Skips what is not installed and not available from PyPI, and says so.
# PEER_SECONDS (default 4) is how long each client watches. PEER_ONLY is an extended regular expression: only trials
# whose name matches it run. With PEER_STRICT=1, a trial that is skipped and not named in skips.txt counts as failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export TIDEGATE_DATA_DIRECTORY=none
export PEER_SECONDS="${PEER_SECONDS:-4}"
export PEER_SYMBOLS="kraken:BTC-USD,kraken:ZEC-USD,coinbase:BTC-USD,coinbase:ZEC-USD,binance:BTC-USDT,binance:ZEC-USDT"
binary="${PEER_BINARY:-$(swift build --show-bin-path)/tidegate}"
[ -x "$binary" ] || { echo "error: $binary is not built (swift build)" >&2; exit 1; }

work=$(mktemp -d)
# The folder for what both have shown of a market, if it differs.
export PEER_FAILURES="$PWD/.build/peers-failures"
rm -rf "$PEER_FAILURES"
servers=()
cleanup() {
  for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done
  for server in "${servers[@]}"; do wait "$server" 2>/dev/null || true; done
  rm -rf "$work"
}
trap cleanup EXIT

# Both gateways: one in the clear, one with a certificate of a CA made for this run.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=Peers CA" \
  -keyout "$work/ca.key" -out "$work/ca.pem" 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=localhost" \
  -keyout "$work/key.pem" -out "$work/request.pem" 2>/dev/null
openssl x509 -req -in "$work/request.pem" -CA "$work/ca.pem" -CAkey "$work/ca.key" -days 2 -out "$work/chain.pem" \
  -extfile <(printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE') 2>/dev/null

serve() { # name
  "$binary" serve --demo --rate 20 --listen 127.0.0.1:0 --internal-listen 127.0.0.1:0 --record "$work/recordings-$1/" \
    >"$work/$1.out" 2>"$work/$1.log" &
  servers+=($!)
}
address() { # name scheme
  local found=
  for _ in $(seq 150); do
    found=$(sed -n "s#.*$2://127\.0\.0\.1:\([0-9]*\)/v1/stream.*#\1#p" "$work/$1.out" "$work/$1.log" | head -n 1)
    [ -n "$found" ] && { echo "$2://localhost:$found"; return; }
    sleep 0.2
  done
  echo "error: the gateway ($1) did not start" >&2
  cat "$work/$1.out" "$work/$1.log" >&2
  return 1
}
serve clear
TIDEGATE_TLS_CERTIFICATE="$work/chain.pem" TIDEGATE_TLS_KEY="$work/key.pem" serve tls

# Missing parts are built or found before the clients run, so that they run at the same time.
venv="$PWD/.build/peers-python"
list=Tests/Peers/requirements.txt
stamp="$venv/complete.$(cksum <"$list" | tr ' ' -)"
if command -v python3 >/dev/null && [ ! -e "$stamp" ]; then
  python3 -m venv "$venv" >"$work/pip" 2>&1 || echo "  python3 has no venv"
  complete=1
  # One after the other: a package that is not available costs only its own trials.
  while read -r package; do
    "$venv/bin/pip" install -q --disable-pip-version-check "$package" >>"$work/pip" 2>&1 || {
      complete=
      echo "  $package could not be installed"
    }
  done < <(grep -v '^#' "$list")
  [ -z "$complete" ] || touch "$stamp"
fi
# Debian's proxies and Prometheus, where they are not installed: unpacked beside the libraries, so that no service starts.
tools="$PWD/.build/peers-tools"
export PATH="$PATH:/usr/sbin:$tools/usr/sbin:$tools/usr/bin"
if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
  for tool in nginx caddy prometheus nats-server; do
    command -v $tool >/dev/null && continue
    mkdir -p "$tools"
    (cd "$tools" && apt-get download -qq $tool && dpkg-deb -x ${tool}_*.deb . && rm ${tool}_*.deb) >>"$work/tools" 2>&1 ||
      echo "  $tool cannot be downloaded"
  done
fi
gorilla=
if command -v go >/dev/null && [ -d /usr/share/gocode/src/github.com/gorilla/websocket ]; then
  GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS= go build -o "$work/go_client" Tests/Peers/go_client.go && gorilla="$work/go_client"
fi
java_classes=
if command -v javac >/dev/null && javac -d "$work/classes" Tests/Peers/JavaClient.java; then java_classes="$work/classes"; fi
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)

clear=$(address clear ws)
tls=$(address tls wss)
# Every book must be live before the first client requests it.
for url in "http${clear#ws}" "https${tls#wss}"; do
  for _ in $(seq 150); do
    instruments=$(curl -s --cacert "$work/ca.pem" "$url/v1/instruments" || true)
    [ "$(grep -o '"state":"live"' <<<"$instruments" | wc -l)" -ge 6 ] && ! grep -q '"state":"[^l]' <<<"$instruments" && break
    sleep 0.2
  done
done

missing() { echo "  $1"; return 77; }
have_python() { [ -x "$venv/bin/python" ] || missing "python3 is not installed"; }

python_library() { # library url ca
  have_python || return
  "$venv/bin/python" Tests/Peers/python_client.py "$1" "$2/v1/stream" ${3:+"$3"}
}
python_guide() { # url
  have_python || return
  awk '/^```python$/ { code = 1; next } /^```$/ { code = 0 } code' Sources/PubSub/PubSub.docc/PythonClient.md \
    > "$work/guide.py"
  "$venv/bin/python" "$work/guide.py" "$1/v1/stream" > "$work/guide.out" &&
    [ "$(grep -c ', spread [0-9]' "$work/guide.out")" -ge 10 ]
}
python_binary() { # url
  have_python || return
  "$venv/bin/python" Tests/Peers/binary_client.py "$binary" "$1/v1/stream"
}
python_books() { # url
  have_python || return
  "$venv/bin/python" Tests/Peers/stream_client.py "$1"
}
compat_client() { # client url
  have_python || return
  "$venv/bin/python" Tests/Peers/compat_clients.py "$1" "http${2#ws}"
}
node_client() { # url ca
  command -v node >/dev/null || { missing "node is not installed"; return; }
  local flags=(--no-warnings)
  node -e 'process.exit(typeof WebSocket === "undefined" ? 1 : 0)' || flags+=(--experimental-websocket)
  node "${flags[@]}" -e 'process.exit(typeof WebSocket === "undefined" ? 1 : 0)' 2>/dev/null || {
    missing "this node has no built-in WebSocket (20 has one behind a flag, 22 without)"; return
  }
  NODE_EXTRA_CA_CERTS="${2:-}" node "${flags[@]}" Tests/Peers/javascript_client.mjs "$1/v1/stream"
}
deno_client() { # url ca
  [ -x "$venv/bin/deno" ] || { missing "deno is not installed"; return; }
  DENO_NO_UPDATE_CHECK=1 DENO_DIR="$work/deno" "$venv/bin/deno" run -q --allow-net --allow-env ${2:+--cert "$2"} \
    Tests/Peers/javascript_client.mjs "$1/v1/stream"
}
java_client() { # url ca
  [ -n "$java_classes" ] || { missing "no JDK is installed"; return; }
  java -Xshare:auto -XX:TieredStopAtLevel=1 -cp "$java_classes" JavaClient "$1/v1/stream" ${2:+"$2"}
}
go_client() { # url ca
  [ -n "$gorilla" ] || { missing "go, or its package gorilla/websocket, is not installed"; return; }
  "$gorilla" "$1/v1/stream" ${2:+"$2"}
}
chromium_client() { # url
  [ -n "$chromium" ] || { missing "no Chromium is installed"; return; }
  have_python || return
  "$venv/bin/python" Tests/Peers/chromium_client.py "$chromium" "$1/v1/stream"
}

# Each venue simulated by itself, and a gateway that follows them all: for other people's clients of those venues beside
# it, which watch the same markets.
venue_feeds=(
  binance=BTC-USDT,BTC-USDT-PERP bitfinex=BTC-USD bitget=BTC-USDT,BTC-USDT-PERP bitstamp=BTC-USD
  bybit=BTC-USDT,BTC-USDT-PERP coinbase=BTC-USD coinbase-advanced=BTC-USD crypto-com=BTC-USD,BTC-USD-PERP
  deribit=BTC-USDC-PERP gate=BTC-USDT
  gemini=BTC-USD hyperliquid=BTC-USDC-PERP kraken=BTC-USD kraken-futures=BTC-USD-PERP kucoin=BTC-USDT,BTC-USDT-PERP
  okx=BTC-USDT,BTC-USDT-PERP
)
venue_urls=() venues_gateway=
serve_venues() {
  local feed venue base feeds=()
  for venue in $("$binary" venues | sed -n 's/^\([a-z][a-z-]*\) .*/\1/p'); do
    [[ " ${venue_feeds[*]}" == *" $venue="* ]] || { echo "error: venue_feeds lacks $venue" >&2; return 1; }
  done
  for feed in "${venue_feeds[@]}"; do
    venue=${feed%%=*}
    "$binary" simulate --venue "$venue" --listen 127.0.0.1:0 --rate 5 >"$work/simulated.$venue" 2>&1 &
    servers+=($!)
  done
  for feed in "${venue_feeds[@]}"; do
    venue=${feed%%=*} base=
    for _ in $(seq 150); do
      base=$(sed -n 's#.* is at ws://\([^/]*\).*#\1#p' "$work/simulated.$venue" | head -n 1)
      [ -n "$base" ] && break
      sleep 0.2
    done
    [ -n "$base" ] || { echo "error: the simulated $venue did not start" >&2; cat "$work/simulated.$venue" >&2; return 1; }
    feeds+=(--feed "$feed" --endpoint "$venue=ws://$base" --endpoint "$venue.rest=http://$base")
    venue_urls+=("$venue=http://$base")
  done
  "$binary" serve "${feeds[@]}" --listen 127.0.0.1:0 --internal-listen 127.0.0.1:0 >"$work/venues.out" 2>"$work/venues.log" &
  servers+=($!)
  venues_gateway=$(address venues ws)
}
venue_client() { # library script
  have_python || return
  "$venv/bin/python" -c "import $1" 2>/dev/null || { missing "$1 is not available"; return; }
  TMPDIR="$work" PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" "Tests/Peers/$2" "$venues_gateway/v1/stream" "${venue_urls[@]}"
}

# A separate gateway, and a signal to it.
signal_check() { # drain | stall | takeover | reload
  command -v python3 >/dev/null || { missing "python3 is not installed"; return; }
  python3 Tests/Peers/signals.py "$1" "$binary"
}

# A gateway that a real Prometheus reads.
monitoring_check() {
  command -v python3 >/dev/null || { missing "python3 is not installed"; return; }
  command -v prometheus >/dev/null || { missing "prometheus is not installed"; return; }
  python3 Tests/Peers/monitoring.py "$binary"
}

# The NATS code against another client, through Debian's server.
nats_check() {
  have_python || return
  "$venv/bin/python" -c 'import nats, nkeys' 2>/dev/null || { missing "nats-py is not available"; return; }
  command -v nats-server >/dev/null || { missing "nats-server is not installed"; return; }
  local trial="${binary%/*}/nats-trial"
  [ -x "$trial" ] || { missing "$trial is not built (swift build --product nats-trial)"; return; }
  TMPDIR="$work" "$venv/bin/python" -B Tests/Peers/nats_client.py "$trial" "$(command -v nats-server)"
}

# What Deploy contains, run or checked: proxies, the image, the manifests, and a crash.
deploy_check() { # crash | nginx | caddy | container | kubernetes
  have_python || return
  TMPDIR="$work" "$venv/bin/python" -B Tests/Peers/deploy.py "$1" "$binary" "$venv/bin"
}

# A client that is generated from the document of the HTTP API.
generated_check() {
  have_python || return
  TMPDIR="$work" "$venv/bin/python" -B Tests/Peers/generated_client.py "$binary" "$venv/bin"
}

# The alert rules, with their own times, over series as faults make them.
rules_check() {
  command -v python3 >/dev/null || { missing "python3 is not installed"; return; }
  python3 Tests/Peers/rules.py
}

# Faults that raise the alerts, and their end; those that fit in a minute and a half.
drill_check() {
  command -v python3 >/dev/null || { missing "python3 is not installed"; return; }
  command -v prometheus >/dev/null || { missing "prometheus is not installed"; return; }
  command -v openssl >/dev/null || { missing "openssl is not installed"; return; }
  TMPDIR="$work" python3 Tests/Peers/drills.py "$binary"
}

# A gateway that is killed many times, and its stored history.
kill_check() { # rounds
  command -v python3 >/dev/null || { missing "python3 is not installed"; return; }
  TMPDIR="$work" python3 Tests/Peers/kill.py --rounds "$1" --short --rate 20 --binary "$binary"
}

# A gateway that is killed while its alerts fire, and the deliveries to its owner's webhook.
alert_kill_check() { # kills
  command -v python3 >/dev/null || { missing "python3 is not installed"; return; }
  command -v openssl >/dev/null || { missing "openssl is not installed"; return; }
  TMPDIR="$work" python3 Tests/Peers/alert_kill.py --kills "$1" --binary "$binary"
}

# A gateway that is stopped and killed, and clients that resume.
resume_check() {
  command -v python3 >/dev/null || { missing "python3 is not installed"; return; }
  TMPDIR="$work" python3 -B Tests/Peers/resume.py --short --keep-ports --rate 5 --binary "$binary"
}

# A gateway that ends within minutes, and candles of all trades.
restart_check() {
  command -v python3 >/dev/null || { missing "python3 is not installed"; return; }
  TMPDIR="$work" python3 -B Tests/Peers/restart.py --short --binary "$binary"
}

# Upgrades, reloads and restarts under pollers.
polling_check() {
  command -v python3 >/dev/null || { missing "python3 is not installed"; return; }
  TMPDIR="$work" python3 -B Tests/Peers/polling.py --short --binary "$binary"
}

# A gateway that another process replaces under its clients, and one whose alerts fire meanwhile.
upgrade_check() {
  command -v python3 >/dev/null || { missing "python3 is not installed"; return; }
  TMPDIR="$work" python3 -B Tests/Peers/upgrade.py --short --binary "$binary"
}
alert_upgrade_check() { # upgrades
  command -v python3 >/dev/null || { missing "python3 is not installed"; return; }
  command -v openssl >/dev/null || { missing "openssl is not installed"; return; }
  TMPDIR="$work" python3 -B Tests/Peers/alert_kill.py --upgrade --kills "$1" --binary "$binary"
}

number=0
peer() { # name command…
  local name=$1 file="$work/peer.$number"
  [[ $name =~ ${PEER_ONLY:-} ]] || return 0
  shift
  number=$((number + 1))
  (
    set +e
    "$@" >"$file.text" 2>&1
    echo "$? $name" >"$file.status"
  ) &
  peers+=($!)
}
collect() {
  for pid in "${peers[@]}"; do wait "$pid" || true; done
  peers=()
}
peers=()
for scheme in ws wss; do
  if [ $scheme = ws ]; then url=$clear ca=; else url=$tls ca="$work/ca.pem"; fi
  for library in websockets aiohttp picows websocket-client curl_cffi; do
    peer "Python $library, $scheme" python_library $library "$url" "$ca"
  done
  peer "Node, $scheme" node_client "$url" "$ca"
  peer "Deno, $scheme" deno_client "$url" "$ca"
  peer "Java, $scheme" java_client "$url" "$ca"
  peer "Go gorilla, $scheme" go_client "$url" "$ca"
  peer "Chromium, $scheme" chromium_client "$url"
  collect
done
peer "Python, the example of the guide" python_guide "$clear"
peer "Python: binary records, read as \`tidegate decode\` reads them; the test vectors" python_binary "$clear"
peer "Python websockets: every channel and depth; a late client and /v1/books have the same book" python_books "$clear"
for client in kraken-sdk ccxt-kraken ccxt-binance python-binance binance-connector nautilus-tardis nautilus-replay; do
  peer "Other protocols: $client has the books of tidegate.v1" compat_client $client "$clear"
done
peer "openapi-python-client: each operation of /openapi.json, called through generated code" generated_check
collect
peer "SIGTERM: clients are told, then closed one after the other" signal_check drain
peer "SIGSTOP across the end of a drain: every client is closed, nobody cut off" signal_check stall
peer "SIGTERM with reuse-port: another gateway has the port, and everybody is answered" signal_check takeover
peer "SIGHUP: certificates are read again" signal_check reload
peer "SIGKILL: history loses no closed minute, marks its gaps and closes them" kill_check 8
peer "SIGKILL: each crossing fires once, and each firing is delivered" alert_kill_check 12
peer "Restarts: clients go on, miss no trade unsaid, and are not refused" resume_check
peer "Restarts: a minute keeps the trades of both runs, each once" restart_check
peer "Upgrades, reloads, restarts: no poller gets a 5xx or is refused" polling_check
peer "SIGUSR2: upgrades that no client notices but by a reconnect" upgrade_check
peer "SIGUSR2: each crossing fires once across upgrades, and each firing is delivered" alert_upgrade_check 4
peer "nats-py: messages, headers and requests both ways, in the clear and with TLS and an nkey" nats_check
peer "Prometheus: every query of the dashboard has an answer, every rule is evaluated" monitoring_check
peer "promtool: each alert fires in its time and clears" rules_check
peer "Drills: faults raise their alerts, tidegate top shows them, and they clear" drill_check
collect
peer "A crash: the process lets go of its ports, as each way to run it sets the backtracer" deploy_check crash
peer "nginx before a gateway, by Deploy/proxies" deploy_check nginx
peer "Caddy before a gateway, by Deploy/proxies" deploy_check caddy
peer "The image has what it names, and ends within the time of docker stop" deploy_check container
peer "The manifests fit Kubernetes' schemas; an exchange's outage kills no pod" deploy_check kubernetes
collect
serve_venues
# A stream of the simulated Gate has a message more when somebody joins it. ccxt and the gateway read the same one
# there, cryptofeed another, which has not: so nobody joins while cryptofeed looks.
peer "cryptofeed: the venues' books and trades as its own feeds see them" venue_client cryptofeed cryptofeed_client.py
peer "Hyperliquid's SDK: lists, books, trades, quotes and tickers" venue_client hyperliquid.info hyperliquid_client.py
peer "nautilus_trader: books, trades and quotes as its own adapters see them" venue_client nautilus_trader nautilus_client.py
collect
peer "ccxt: the venues' lists, books, trades, quotes and tickers as its own clients see them" venue_client ccxt ccxt_client.py
collect

passed=0 failed=0 skipped=0
for ((index = 0; index < number; index++)); do
  read -r status name <"$work/peer.$index.status" || { status=1 name="peer $index did not end"; }
  case $status in
    0) passed=$((passed + 1)); echo "ok      $name" ;;
    77)
      skipped=$((skipped + 1))
      echo "skipped $name"
      if [ -n "${PEER_STRICT:-}" ] && ! grep -qxF "$name" Tests/Peers/skips.txt; then
        failed=$((failed + 1))
        echo "FAILED  $name (skipped, and not in skips.txt)"
      fi
      ;;
    *) failed=$((failed + 1)); echo "FAILED  $name (exit $status)" ;;
  esac
  cat "$work/peer.$index.text"
done
if [ $failed -gt 0 ]; then tail -n 15 "$work/clear.log" "$work/tls.log" "$work/venues.log" >&2; fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
