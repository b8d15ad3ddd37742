#!/usr/bin/env python3
"""Kills a gateway with SIGKILL at random moments while its alerts fire, and counts the deliveries to its owner.

    Tests/Peers/alert_kill.py [--kills 200] [--short] [--rules 10] [--rate 200] [--seed N]
                              [--binary .build/debug/tidegate]

A simulated venue (with Kraken's messages) holds the price high, then low, then high again, with --rate trades a second
that vary slightly around it. Half of the rules watch for a price above the middle, half for one below it, so each
change of the level is one crossing of half of the rules. The level changes again when all these rules have fired in the
store. The gateway is killed many times, mostly within a tenth of a second of a change, and started again at once. A
webhook receiver (https) sometimes answers 500, or late, or closes the connection.

At the end, the gateway, the data file (read with Python's own SQLite) and the receiver must show this:
- each crossing fired exactly once: every rule has as many firings as there were crossings, numbered from 1 without a
  gap;
- each firing was delivered at least once, always under the same delivery number, signed, in the order of its rule;
- nothing else was delivered, and the outbox is empty.

--short kills 12 times and takes less than a minute. With --upgrade, another process takes over each time (SIGUSR2)
instead. Exits with 1 if one of these checks fails.
"""

import argparse
import base64
import ctypes
import hashlib
import hmac
import http.server
import json
import os
import random
import signal
import socket
import sqlite3
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zlib

from processes import free_port, tail

SYMBOL = "kraken:BTC-USD"
LOW, MIDDLE, HIGH = 99000, 100000, 101000  # tenths of a dollar
COOLDOWN = 1.0


def price(tenths):
    return f"{tenths // 10}.{tenths % 10}"


class Venue:
    """The part of Kraken's v2 that a gateway requests: one market, a book that does not change, trades at a level."""

    def __init__(self, rate, seed):
        self.level = LOW
        self.rate = rate
        self.random = random.Random(seed)
        self.trade = 1
        self.last = None
        self.lock = threading.Lock()
        self.sessions = []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()
        threading.Thread(target=self.trade_on, daemon=True).start()

    def trade_on(self):
        """All see the same trades."""
        while True:
            with self.lock:
                sessions = [session for session in self.sessions if session.trades.is_set()]
                trade = self.make_trade("update") if sessions else None
                for session in sessions:
                    session.try_to_say(trade)
            time.sleep(1 / self.rate)

    def accept(self):
        while True:
            peer, _ = self.server.accept()
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        try:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            head = b""
            while b"\r\n\r\n" not in head:
                part = peer.recv(4096)
                if not part:
                    return
                head += part
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:] if ": " in line)
            fields = {name.lower(): value for name, value in fields.items()}
            if "sec-websocket-key" not in fields:
                peer.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
                return
            accept = base64.b64encode(
                hashlib.sha1((fields["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
            peer.sendall(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
            Session(self, peer).run()
        except OSError:
            pass
        finally:
            peer.close()

    def make_trade(self, kind):
        """The next trade as a message; with the lock."""
        self.trade += 1
        at = self.level + self.random.randrange(-400, 400)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{int(time.time() * 1e6) % 1000000:06d}Z"
        # Bare numbers with all digits, as Kraken sends them.
        message = (
            f'{{"channel":"trade","type":"KIND","data":[{{"symbol":"BTC/USD","side":"buy","price":{price(at)},'
            f'"qty":0.10000000,"ord_type":"limit","trade_id":{self.trade},"timestamp":"{stamp}"}}]}}')
        self.last = message
        return message.replace("KIND", kind)


class Session:
    def __init__(self, venue, peer):
        self.venue, self.peer = venue, peer
        self.writing = threading.Lock()
        self.trades = threading.Event()
        self.ended = False

    def say(self, message):
        self.send(1, message.encode() if isinstance(message, str) else json.dumps(message).encode())

    def send(self, opcode, payload):
        size = len(payload)
        head = bytes([0x80 | opcode]) + (bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size))
        with self.writing:
            self.peer.sendall(head + payload)

    def receive(self, count):
        data = b""
        while len(data) < count:
            part = self.peer.recv(count - len(data))
            if not part:
                raise OSError("closed")
            data += part
        return data

    def run(self):
        self.say({"channel": "status", "type": "update", "data": [
            {"version": "2.0.10", "system": "online", "api_version": "v2", "connection_id": 1}]})
        threading.Thread(target=self.talk, daemon=True).start()
        with self.venue.lock:
            self.venue.sessions.append(self)
        try:
            while True:
                first, second = self.receive(2)
                size = second & 127
                if size == 126:
                    size = struct.unpack(">H", self.receive(2))[0]
                mask = self.receive(4)
                payload = bytes(b ^ mask[i % 4] for i, b in enumerate(self.receive(size)))
                if first & 15 == 8:
                    return self.send(8, payload)
                if first & 15 == 9:
                    self.send(10, payload)
                if first & 15 == 1:
                    self.answer(json.loads(payload))
        finally:
            self.ended = True
            with self.venue.lock:
                self.venue.sessions.remove(self)

    def talk(self):
        beat = 0
        try:
            while not self.ended:
                if time.time() - beat > 1:
                    beat = time.time()
                    self.say({"channel": "heartbeat"})
                time.sleep(0.05)
        except OSError:
            pass

    def try_to_say(self, message):
        try:
            self.say(message)
        except OSError:
            self.ended = True

    def answer(self, request):
        method, parameters = request.get("method"), request.get("params", {})
        if method == "ping":
            return self.say({"method": "pong", "req_id": request.get("req_id", 0)})
        channel = parameters.get("channel")
        for symbol in parameters.get("symbol") or [None]:
            result = {"channel": channel, "snapshot": True}
            if symbol:
                result["symbol"] = symbol
            if channel == "book":
                result["depth"] = parameters.get("depth", 10)
            self.say({
                "method": method, "result": result, "success": True, "time_in": "2026-01-01T00:00:00.000000Z",
                "time_out": "2026-01-01T00:00:00.000000Z", "req_id": request.get("req_id", 0)})
        if method != "subscribe":
            return
        if channel == "instrument":
            self.say(
                '{"channel":"instrument","type":"snapshot","data":{"assets":[],"pairs":[{"symbol":"BTC/USD",'
                '"base":"BTC","quote":"USD","status":"online","qty_precision":8,"qty_increment":0.00000001,'
                '"price_precision":1,"cost_precision":5,"marginable":false,"has_index":true,"cost_min":0.50,'
                '"tick_size":0.1,"price_increment":0.1,"qty_min":0.00005}]}}')
        elif channel == "book":
            asks = [(MIDDLE + 5 + i, 100000000 + i) for i in range(10)]
            bids = [(MIDDLE - 5 - i, 100000000 + i) for i in range(10)]
            text = "".join(f"{p}{q}" for p, q in asks + bids)
            side = lambda levels: ",".join(f'{{"price":{price(p)},"qty":{q / 1e8:.8f}}}' for p, q in levels)
            self.say(
                f'{{"channel":"book","type":"snapshot","data":[{{"symbol":"BTC/USD","bids":[{side(bids)}],'
                f'"asks":[{side(asks)}],"checksum":{zlib.crc32(text.encode())},'
                f'"timestamp":"2026-01-01T00:00:00.000000Z"}}]}}')
        elif channel == "trade":
            with self.venue.lock:
                # The last trade again, as Kraken does, and from then on each.
                if self.venue.last is None:
                    self.venue.make_trade("snapshot")
                self.say(self.venue.last.replace("KIND", "snapshot"))
                self.trades.set()


class Receiver:
    """A receiver of webhooks that sometimes fails."""

    def __init__(self, certificate, key, seed):
        self.secret = b""
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.got = {}  # (alert, number): [delivery]
        self.order = {}  # alert: [number], as they first came
        self.problems = []
        self.faults = 0
        self.is_well = False
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.take(self.headers, body)
                if status is None:
                    return self.connection.close()
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                # A gateway that was killed, or a connection that was closed on purpose.
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, headers, body):
        with self.lock:
            # Before or after storing it: a receiver may fail to confirm what it has received.
            fault = self.random.random() if not self.is_well else 1
            if fault < 0.01:
                self.faults += 1
                return 500
            parts = dict(part.split("=", 1) for part in headers["Tidegate-Signature"].split(","))
            mac = hmac.new(self.secret, parts["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
            if not hmac.compare_digest(mac, parts["v1"]):
                self.problems.append(f"a signature is wrong: {body[:200]}")
            message = json.loads(body)
            key = (message["alert"]["id"], message["firing"]["number"])
            if key not in self.got:
                self.order.setdefault(key[0], []).append(key[1])
            self.got.setdefault(key, []).append(headers["Tidegate-Delivery"])
            if message["delivery"] != headers["Tidegate-Delivery"]:
                self.problems.append(f"the delivery has two numbers: {body[:200]}")
            if fault < 0.02:
                self.faults += 1
                return None
        if fault < 0.05:
            time.sleep(0.2)
        return 200


class Trial:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.work = tempfile.mkdtemp(prefix="tidegate-alert-kill-")
        self.file = os.path.join(self.work, "data", "history.sqlite")
        self.port, self.internal = free_port(), free_port()
        certificate, key = os.path.join(self.work, "ca.pem"), os.path.join(self.work, "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out",
             certificate], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.venue = Venue(options.rate, options.seed)
        self.receiver = Receiver(certificate, key, options.seed)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("TIDEGATE_")}
        self.environment |= {
            "TIDEGATE_DATA_DIRECTORY": os.path.join(self.work, "data"), "TIDEGATE_DATA_BACKFILL": "false",
            "TIDEGATE_CA_FILE": certificate, "TIDEGATE_WEBHOOKS_NETWORKS": "127.0.0.0/8", "TIDEGATE_LOOPS": "2",
            # This program sends many requests.
            "TIDEGATE_LIMITS_CONNECTIONS_PER_SECOND_PER_ADDRESS": "10000",
            "TIDEGATE_LIMITS_HTTP_REQUESTS_PER_SECOND_PER_ADDRESS": "10000",
        }
        self.gateway = None
        self.main = None
        self.starts = self.kills = self.cycles = 0
        self.rules = {"above": [], "below": []}
        self.failures = []

    def fail(self, text):
        self.failures.append(text)
        print(f"FAILED {text}", flush=True)

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method, data=body and json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{method} {path}: {error.code} {error.read()[:300]}")

    def start(self):
        self.starts += 1
        self.log = log = open(os.path.join(self.work, f"gateway-{self.starts}.log"), "w")
        self.gateway = subprocess.Popen(
            [self.options.binary, "serve", "--feed", "kraken=BTC-USD", "--endpoint",
             f"kraken=ws://127.0.0.1:{self.venue.port}", "--listen", f"127.0.0.1:{self.port}", "--internal-listen",
             f"127.0.0.1:{self.internal}"], stdout=log, stderr=log, env=self.environment)
        self.main = self.gateway.pid
        began = time.time()
        while time.time() - began < 30:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.internal}/readyz", timeout=5):
                    return
            except OSError:
                time.sleep(0.02)
        raise SystemExit(f"the gateway did not get ready; see {log.name}:{tail(log.name)}")

    def kill(self):
        self.gateway.send_signal(signal.SIGKILL)
        self.gateway.wait()
        self.kills += 1
        self.start()

    def upgrade(self):
        """Makes another process take over; waits only for the end of the previous one."""
        old = self.main
        os.kill(old, signal.SIGUSR2)
        began = time.time()
        while not os.waitpid(old, os.WNOHANG)[0]:
            if time.time() - began > 60:
                raise SystemExit(f"process {old} does not end; see {self.log.name}:{tail(self.log.name)}")
            time.sleep(0.01)
        with open(self.log.name, encoding="utf-8") as log:
            served = [line for line in log if "the next process serves" in line]
        self.main = int(served[-1].split(" process=")[1].split()[0])
        self.kills += 1

    def make_rules(self):
        webhook = self.ask("POST", "/v1/webhooks", {"url": f"https://localhost:{self.receiver.port}/hook"})
        self.receiver.secret = webhook["secret"].encode()
        for index in range(self.options.rules):
            for side in ("above", "below"):
                # Each at its own price; the small variation crosses none of them.
                at = MIDDLE + (index - self.options.rules // 2) * 10
                made = self.ask("POST", "/v1/alerts", {
                    "name": f"{side} {price(at)}", "rule": {
                        "condition": {"type": "price", "symbol": SYMBOL, "is": side, "value": price(at)},
                        "frequency": {"every_s": 1}}})
                self.rules[side].append(made["id"])

    def firings(self):
        return {alert["id"]: alert.get("firings", 0) for alert in self.ask("GET", "/v1/alerts")["alerts"]}

    def wait_for(self, side, count):
        """Waits until every rule of a side has fired `count` times, and kills the gateway meanwhile if kills remain."""
        began = time.time()
        wanted = set(self.rules[side])
        next_kill = began + self.delay()
        # A kill that was planned for this change happens also if all rules have fired before.
        is_planned = next_kill - began < 0.5
        while time.time() - began < 60:
            if self.kills < self.options.kills and time.time() >= next_kill:
                self.upgrade() if self.options.upgrade else self.kill()
                is_planned = False
                next_kill = time.time() + self.delay()
            kept = self.firings()
            behind = [rule for rule in wanted if kept[rule] < count]
            if not behind and not (is_planned and self.kills < self.options.kills):
                return
            time.sleep(0.01)
        seen = self.ask("GET", f"/v1/alerts/{behind[0]}")
        raise SystemExit(
            f"{len(behind)} rules did not fire for crossing {count} ({side}): {json.dumps(seen)}; logs and data are "
            f"in {self.work}:{tail(self.log.name)}")

    def delay(self):
        """Mostly while the gateway stores and delivers the crossing, sometimes at any moment."""
        return self.random.random() * (0.1 if self.random.random() < 0.7 else 1.5)

    def run(self):
        self.start()
        self.make_rules()
        # The first check finds a low price: all rules below fire.
        self.wait_for("below", 1)
        last = {"below": time.time(), "above": 0.0}
        while self.kills < self.options.kills:
            self.cycles += 1
            for side, level, count in (("above", HIGH, self.cycles), ("below", LOW, self.cycles + 1)):
                # A crossing within the cooldown does not fire, as specified.
                time.sleep(max(0, last[side] + COOLDOWN + 0.3 - time.time()))
                self.venue.level = level
                self.wait_for(side, count)
                last[side] = time.time()
        self.receiver.is_well = True
        self.drain()
        self.check()
        os.kill(self.main, signal.SIGTERM)
        os.waitpid(self.main, 0)

    def drain(self):
        began = time.time()
        while time.time() - began < 120:
            if all(webhook["waiting"] == 0 for webhook in self.ask("GET", "/v1/webhooks")["webhooks"]):
                return
            time.sleep(0.1)
        self.fail("the outbox is not empty")

    def check(self):
        expected = {rule: self.cycles for rule in self.rules["above"]}
        expected |= {rule: self.cycles + 1 for rule in self.rules["below"]}
        kept = self.firings()
        database = sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)
        problems = [row[0] for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
        if problems:
            self.fail(f"the file is damaged: {problems[0]}")
        late = 0
        for rule, count in expected.items():
            if kept[rule] != count:
                self.fail(f"rule {rule} has fired {kept[rule]} times for {count} crossings")
            listed = self.ask("GET", f"/v1/alerts/{rule}/firings")["firings"]
            late += sum(1 for firing in listed if firing.get("late_by_ms", 0) > 0)
            numbers = [firing["number"] for firing in listed]
            if numbers != list(range(count, count - len(numbers), -1)):
                self.fail(f"rule {rule} lists the firings {numbers[:5]}…")
            got = [number for (alert, number) in self.receiver.got if alert == rule]
            if sorted(got) != list(range(1, count + 1)):
                self.fail(f"of rule {rule} {sorted(got)} were delivered for {count} crossings")
            order = self.receiver.order.get(rule, [])
            if order != sorted(order):
                self.fail(f"firings of rule {rule} were delivered as {order}")
        again = 0
        for key, deliveries in self.receiver.got.items():
            again += len(deliveries) - 1
            if len(set(deliveries)) != 1:
                self.fail(f"firing {key} came under the deliveries {sorted(set(deliveries))}")
        ids = [deliveries[0] for deliveries in self.receiver.got.values()]
        if len(set(ids)) != len(ids):
            self.fail("one delivery number stands for two firings")
        for webhook in self.ask("GET", "/v1/webhooks")["webhooks"]:
            if webhook["dead"]:
                self.fail(f"{len(webhook['dead'])} deliveries were given up")
        for problem in self.receiver.problems:
            self.fail(problem)
        print(
            f"{self.kills} {'upgrades' if self.options.upgrade else 'kills'}, {self.cycles} times up and down, "
            f"{sum(expected.values())} crossings of "
            f"{len(expected)} rules: {sum(kept.values())} firings ({late} late, of the last 100 of each rule), "
            f"{len(self.receiver.got)} delivered, {again} of them again; the receiver failed {self.receiver.faults} "
            f"times", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--upgrade", action="store_true", help="have another process take over instead")
    parser.add_argument("--rules", type=int, default=10, help="of each side")
    parser.add_argument("--rate", type=float, default=200, help="trades a second")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--binary", default=".build/debug/tidegate")
    options = parser.parse_args()
    if options.short:
        options.kills = min(options.kills, 12)
    print(f"seed {options.seed}", flush=True)
    # Processes whose parent has ended are this one's (PR_SET_CHILD_SUBREAPER, prctl(2)).
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    trial = Trial(options)
    try:
        trial.run()
    finally:
        if trial.main:
            try:
                os.kill(trial.main, signal.SIGKILL)
            except ProcessLookupError:
                pass
    if trial.failures:
        print(f"{len(trial.failures)} failures; logs and data are in {trial.work}")
        sys.exit(1)
    subprocess.run(["rm", "-rf", trial.work], check=False)
    print("each crossing fired once, and each firing was delivered")


if __name__ == "__main__":
    main()
