#!/usr/bin/env python3
"""Stops a gateway many times under load, with SIGTERM or SIGKILL, starts it again, and lets clients resume.

    Tests/Peers/resume.py [--rounds 20] [--kills 0.3] [--clients 20] [--seed N] [--short] [--keep-ports]
                          [--binary .build/debug/tidegate]

The clients follow trades, quotes and books of a simulated exchange that numbers its trades without gaps. They reconnect
with `resume` and their positions. Each checks over all of its connections:
- every trade arrives once and in order; if one may be missing, a snapshot of the stream has arrived in between,
- an update follows the message whose `seq` is its `prev`, and numbers do not go back within an epoch,
- no number of a stream belongs to two messages, for all clients and all runs,
- after SIGTERM every session exists, and every stream of trades continues; it begins anew only if more trades were made
  meanwhile than the exchange repeats,
- after SIGKILL no stream continues, and the epoch is another,
- with --keep-ports, which keeps the listening sockets between two processes as systemd does, no client is refused.

With --short it takes half a minute. Exits with 1 if one of these checks fails.
"""

import argparse
import asyncio
import base64
import fcntl
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from kill import fetch
from processes import free_port, tail


class Manager:
    """A service manager that keeps sockets for a service: sd_notify(3), sd_listen_fds(3)."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.kept = {}
        # The service's main process, where it has said so.
        self.main = None

    def listen(self, loop):
        self.socket.setblocking(False)
        loop.add_reader(self.socket, self.take)

    def take(self):
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(self.socket, 4096, 4)
            except BlockingIOError:
                return
            words = dict(line.split("=", 1) for line in data.decode().splitlines() if "=" in line)
            name = words.get("FDNAME", "stored")
            if "MAINPID" in words:
                self.main = int(words["MAINPID"])
            if "FDSTOREREMOVE" in words and name in self.kept:
                os.close(self.kept.pop(name))
            if "FDSTORE" in words:
                (self.kept[name],) = descriptors

    def spawn(self, command, environment, log):
        names, places = list(self.kept), list(self.kept.values())
        environment = {**environment, "NOTIFY_SOCKET": self.path, "FDSTORE": "2"}
        if names:
            environment |= {"LISTEN_FDS": str(len(names)), "LISTEN_FDNAMES": ":".join(names)}

        def arrange():
            copies = [fcntl.fcntl(place, fcntl.F_DUPFD, 100) for place in places]
            for number, copy in enumerate(copies):
                os.dup2(copy, 3 + number)
                os.close(copy)

        return subprocess.Popen(
            ["/bin/sh", "-c", 'export LISTEN_PID=$$; exec "$@"', "sh", *command], stdout=log, stderr=log,
            env=environment, preexec_fn=arrange, close_fds=False)

# How long the gateway makes clients wait for markets that it does not know yet.
WAIT = 5
MARKETS = ["BTC-USD", "ETH-USD", "SOL-USD", "ZEC-USD", "XRP-USD", "ADA-USD"]


class Socket:
    """A WebSocket for text messages on asyncio, with the parts of RFC 6455 that the gateway needs."""

    async def open(self, port, path="/v1/stream"):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port, limit=8 << 20)
        key = base64.b64encode(os.urandom(16)).decode()
        self.writer.write(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: tidegate.v1.json\r\n\r\n".encode())
        head = await self.reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(head.split(b"\r\n")[0].decode())

    def send(self, value, opcode=1):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        mask = os.urandom(4)
        length = len(data)
        head = bytes([0x80 | opcode])
        if length < 126:
            head += bytes([0x80 | length])
        elif length < 1 << 16:
            head += b"\xfe" + struct.pack(">H", length)
        else:
            head += b"\xff" + struct.pack(">Q", length)
        self.writer.write(head + mask + bytes(byte ^ mask[i & 3] for i, byte in enumerate(data)))

    async def receive(self):
        """A message; None at the end, with `code`."""
        while True:
            first, second = await self.reader.readexactly(2)
            length = second & 127
            if length == 126:
                length = struct.unpack(">H", await self.reader.readexactly(2))[0]
            elif length == 127:
                length = struct.unpack(">Q", await self.reader.readexactly(8))[0]
            data = await self.reader.readexactly(length)
            opcode = first & 15
            if opcode == 1:
                return json.loads(data)
            if opcode == 9:
                self.send(data, 10)
            elif opcode == 8:
                self.code = struct.unpack(">H", data[:2])[0] if length > 1 else 1005
                self.send(data[:2], 8)
                return None

    def close(self):
        self.writer.close()


class Ledger:
    """What all clients have received: a number belongs to one message, in all runs."""

    def __init__(self):
        self.failures = []
        self.messages = {}
        self.trades = self.gaps = self.sessions = self.recovered = self.begun = 0
        self.slowest = self.refused = self.late = 0

    def fail(self, text):
        self.failures.append(text)
        if len(self.failures) <= 20:
            print(f"FAILED {text}", flush=True)

    def note(self, epoch, message):
        key = (epoch, message["stream"], message["seq"])
        content = (message["channel"], message.get("symbol"), message.get("prev"), json.dumps(message["data"]))
        known = self.messages.setdefault(key, hash(content))
        if known != hash(content):
            self.fail(f"{key} stands for two messages: {message['channel']} {message.get('symbol')}")
        if len(self.messages) > 2_000_000:
            self.messages.clear()


class Client:
    def __init__(self, number, port, ledger, world):
        self.name, self.port, self.ledger, self.world = f"client {number}", port, ledger, world
        self.session = None
        # By channel, symbol and rate: stream, epoch, seq.
        self.positions = {}
        self.keys = {}
        # By key: the number of the last trade; None: unknown.
        self.last = {}
        # The same of streams that begin anew after coming back, until their snapshot.
        self.before = {}
        self.random = random.Random(world.seed * 1000 + number)
        interval = 1000 if number % 4 == 3 else 0
        self.wanted = [("trades", f"kraken:{name}", interval) for name in MARKETS]
        self.wanted += [(channel, f"kraken:{MARKETS[number % len(MARKETS)]}", 0) for channel in ("quote", "book")]
        self.is_there = asyncio.Event()

    @staticmethod
    def item(key):
        channel, symbol, interval = key
        item = {"channel": channel, "symbol": symbol, "interval_ms": interval}
        return {**item, "depth": 10} if channel == "book" else item

    async def run(self):
        while not self.world.is_over:
            try:
                await self.connection()
            except (ConnectionError, OSError, asyncio.IncompleteReadError):
                pass
            self.is_there.clear()
            await asyncio.sleep(self.random.uniform(0, 0.1))

    async def connection(self):
        peer = Socket()
        lost = time.monotonic()
        while True:
            try:
                await peer.open(self.port())
                break
            except (ConnectionError, OSError, asyncio.IncompleteReadError):
                self.ledger.refused += 1
                if self.world.is_over:
                    return
                await asyncio.sleep(0.05)
        try:
            self.begin(peer)
            while (message := await asyncio.wait_for(peer.receive(), 60)) is not None:
                self.take(message, peer)
                if message.get("type") == "welcome":
                    self.ledger.slowest = max(self.ledger.slowest, time.monotonic() - lost)
                if self.world.is_over:
                    return
        finally:
            peer.close()

    def begin(self, peer):
        hello = {"op": "hello", "id": 1, "heartbeat_s": 1}
        self.asked = dict(self.positions)
        self.asked_at = time.monotonic()
        if self.session:
            hello["resume"] = {"session": self.session, "streams": [
                {**self.item(key), "stream": stream, "epoch": epoch, "seq": seq}
                for key, (stream, epoch, seq) in self.positions.items()]}
        peer.send(hello)

    def take(self, message, peer):
        kind = message["type"]
        if kind == "welcome":
            if self.session:
                self.world.resumed(self, message)
            self.session = message["session"]
            self.open(message, peer)
            if not message.get("failed") and len(self.positions) < len(self.wanted):
                self.subscribe([key for key in self.wanted if key not in self.positions], peer)
        elif kind == "subscribed":
            self.open(message, peer)
        elif kind in ("snapshot", "update"):
            self.data(message, kind == "snapshot")
        elif kind == "notice" and message.get("code") == "lost":
            self.ledger.fail(f"{self.name}: {message}")

    def subscribe(self, keys, peer):
        peer.send({"op": "subscribe", "id": 2, "streams": [
            {**{k: v for k, v in self.item(key).items() if k != "symbol"}, "symbols": [key[1]]} for key in keys]})

    def open(self, message, peer):
        for item in message.get("ok", []):
            key = (item["channel"], item["symbol"], item.get("interval_ms", 0))
            self.keys[item["stream"]] = key
            before = self.asked.get(key)
            if item.get("recovered"):
                stream, epoch, seq = before
                if (stream, epoch) != (item["stream"], item["epoch"]):
                    self.ledger.fail(f"{self.name}: {key} goes on as another stream: {before} {item}")
                self.positions[key] = before
                self.ledger.recovered += 1
            else:
                if before and before[1] == item["epoch"] and item["seq"] < before[2]:
                    self.ledger.fail(f"{self.name}: {key} went back from {before} to {item['seq']}")
                # Trades begin after this, also before there is a snapshot.
                self.positions[key] = (item["stream"], item["epoch"], item["seq"])
                if self.last.get(key) is not None and message["type"] == "welcome":
                    self.before[key] = self.last[key]
                self.last[key] = None
                self.ledger.begun += key[0] == "trades"
        failed = [item for item in message.get("failed", [])]
        for item in failed:
            if item["error"]["code"] != "not_ready":
                self.ledger.fail(f"{self.name}: {item}")
        if failed:
            keys = [key for key in self.wanted if any(item["symbol"] == key[1] for item in failed)]
            for key in keys:
                self.positions.pop(key, None)
            asyncio.get_running_loop().call_later(1, self.subscribe, keys, peer)
        if len(self.positions) == len(self.wanted):
            self.is_there.set()

    def data(self, message, is_snapshot):
        key = self.keys.get(message["stream"])
        if key is None:
            return self.ledger.fail(f"{self.name}: a message of an unknown stream: {str(message)[:200]}")
        stream, epoch, seq = self.positions[key]
        self.positions[key] = (stream, epoch, message["seq"])
        if not is_snapshot:
            self.ledger.note(epoch, message)
            if message["prev"] != seq:
                self.ledger.fail(f"{self.name}: {key}: prev {message['prev']} after {seq}")
        elif message["seq"] < seq:
            self.ledger.fail(f"{self.name}: {key}: a snapshot with {message['seq']} after {seq}")
        if key[0] == "trades":
            self.trades(key, message, is_snapshot)

    def trades(self, key, message, is_snapshot):
        numbers = [int(trade["id"]) for trade in message["data"]["trades"]]
        if is_snapshot:
            last = self.last[key] or self.before.pop(key, None)
            if last is not None:
                self.ledger.gaps += 1
                self.world.gap(self, key, last, numbers)
            self.last[key] = numbers[-1] if numbers else None
            pairs = zip(numbers, numbers[1:])
        else:
            before = [] if self.last[key] is None else [self.last[key]]
            pairs = zip(before + numbers, (before + numbers)[1:])
            self.ledger.trades += len(numbers)
            self.last[key] = numbers[-1]
        for one, next in pairs:
            if next != one + 1:
                self.ledger.fail(f"{self.name}: {key}: trade {next} after {one} in {message['type']}")


class Trial:
    def __init__(self, options):
        self.options, self.seed = options, options.seed
        self.random = random.Random(options.seed)
        self.work = tempfile.mkdtemp(prefix="tidegate-resume-")
        self.venue_port, self.port, self.internal = free_port(), free_port(), free_port()
        self.ledger = Ledger()
        self.is_over = False
        self.was_killed = False
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("TIDEGATE_")}
        self.environment["TIDEGATE_DATA_DIRECTORY"] = os.path.join(self.work, "data")
        self.environment["TIDEGATE_DRAIN_SECONDS"] = "1"
        self.manager = Manager(self.work) if options.keep_ports else None

    def spawn(self, name, *arguments):
        self.newest_log = os.path.join(self.work, f"{name}.log")
        log = open(self.newest_log, "w")
        command = [self.options.binary, *arguments]
        if self.manager and arguments[0] == "serve":
            return self.manager.spawn(command, self.environment, log)
        return subprocess.Popen(command, stdout=log, stderr=log, env=self.environment)

    async def start_venue(self):
        self.venue = self.spawn(
            "venue", "simulate", "--venue", "kraken", "--seed", str(self.seed), "--rate", str(self.options.rate),
            "--listen", f"127.0.0.1:{self.venue_port}")
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.venue_port), 1).close()
                return
            except OSError:
                await asyncio.sleep(0.05)
        raise SystemExit("the simulated venue did not start")

    def start_gateway(self, number):
        return self.spawn(
            f"gateway-{number}", "serve", "--feed", "kraken=" + ",".join(MARKETS), "--endpoint",
            f"kraken=ws://127.0.0.1:{self.venue_port}", "--listen", f"127.0.0.1:{self.port}", "--internal-listen",
            f"127.0.0.1:{self.internal}")

    async def ready(self, gateway):
        loop = asyncio.get_running_loop()
        for _ in range(600):
            if ((await loop.run_in_executor(None, fetch, self.internal, "/readyz")) or "").startswith("ready"):
                return
            if gateway.poll() is not None:
                raise SystemExit(
                    f"the gateway ended with {gateway.returncode}; see {self.work}:{tail(self.newest_log)}")
            await asyncio.sleep(0.05)
        raise SystemExit(f"the gateway did not get ready; see {self.work}:{tail(self.newest_log)}")

    def resumed(self, client, message):
        if self.was_killed:
            if message["resumed"] or any(item.get("recovered") for item in message.get("ok", [])):
                self.ledger.fail(f"{client.name} goes on after a kill: {str(message)[:300]}")
            return
        self.ledger.sessions += message["resumed"]
        if not message["resumed"]:
            self.ledger.fail(f"{client.name}: its session is gone after an end in order")
        for item in message.get("failed", []):
            # A machine that is too busy to know its markets within 5 s says so.
            if time.monotonic() - client.asked_at < WAIT:
                self.ledger.fail(f"{client.name}: after an end in order {item}")
            self.ledger.late += 1

    def gap(self, client, key, last, numbers):
        """Checks a stream of trades that begins anew. After SIGTERM that is right only if the exchange's 50 trades do
        not reach back."""
        if not self.was_killed and (not numbers or numbers[0] <= last + 1):
            self.ledger.fail(f"{client.name}: {key} begins anew after {last}, with {numbers[:1]}: nothing is missing")

    async def run(self):
        await self.start_venue()
        if self.manager:
            self.manager.listen(asyncio.get_running_loop())
        gateway = self.start_gateway(0)
        clients = []
        kills = 0
        try:
            await self.ready(gateway)
            clients = [Client(number, lambda: self.port, self.ledger, self) for number in range(self.options.clients)]
            tasks = [asyncio.create_task(client.run()) for client in clients]
            for client in clients:
                await asyncio.wait_for(client.is_there.wait(), 60)
            for number in range(1, self.options.rounds + 1):
                await asyncio.sleep(self.random.uniform(0.2, 3))
                is_kill = self.random.random() < self.options.kills
                kills += is_kill
                gateway.send_signal(signal.SIGKILL if is_kill else signal.SIGTERM)
                loop = asyncio.get_running_loop()
                # Before any client can be answered again.
                await loop.run_in_executor(None, gateway.wait)
                self.was_killed = is_kill
                gateway = self.start_gateway(number)
                await self.ready(gateway)
                for client in clients:
                    await asyncio.wait_for(client.is_there.wait(), 60)
                if number % 10 == 0:
                    print(f"{number} rounds, {self.ledger.trades} trades, {len(self.ledger.failures)} failures",
                          flush=True)
            await asyncio.sleep(1)
        finally:
            self.is_over = True
            gateway.kill()
            gateway.wait()
            self.venue.kill()
            self.venue.wait()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 70)
        ledger = self.ledger
        for task in tasks:
            if task.exception():
                ledger.fail(f"a client failed: {task.exception()!r}")
        if ledger.trades < 100 * self.options.rounds or self.options.kills < 1 and ledger.recovered == 0:
            ledger.fail("too little happened to tell anything")
        if self.manager and ledger.refused:
            ledger.fail(f"{ledger.refused} connections were refused")
        print(f"{self.options.rounds} restarts, {kills} of them kills; {len(clients)} clients got {ledger.trades} "
              f"trades; {ledger.sessions} sessions and {ledger.recovered} streams went on, {ledger.begun} began; "
              f"{ledger.gaps} gaps told, {ledger.late} streams too late; {ledger.refused} connections refused, the "
              f"slowest answer after {ledger.slowest:.1f} s; {len(ledger.failures)} failures; seed {self.seed}")
        return 1 if ledger.failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--kills", type=float, default=0.3, help="part of the rounds that end with SIGKILL")
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=int, default=20, help="messages per second and market")
    parser.add_argument("--keep-ports", action="store_true", help="listening sockets outlive the processes")
    parser.add_argument("--short", action="store_true", help="half a minute, for every change")
    parser.add_argument("--binary", default=".build/debug/tidegate")
    options = parser.parse_args()
    if options.short:
        options.rounds, options.clients = 4, 8
    sys.exit(asyncio.run(Trial(options).run()))


if __name__ == "__main__":
    main()
