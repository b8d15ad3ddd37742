#!/usr/bin/env python3
"""Floods a gateway, and measures what that costs a good client of it and one of another gateway beside it.

    Benchmarks/flood.py .build/release/tidegate                          # every kind with 1, 5, 40 and 200 connections
    Benchmarks/flood.py .build/release/tidegate --kinds pings --connections 200 --seconds 10

Two gateways with simulated venues run side by side, and the attack, a process of its own, is on the first. At the same
moment four good clients of each ask for a pong ten times a second: what the machine is too busy for slows both
gateways, what the gateway does about the attack only the first. A run passes if the first one's 99th percentile is at
most twice the second's (or below 5 ms, where the machine's own noise is as large), /livez never takes longer than
100 ms, and the resident memory grows by at most 32 MB; 10 s later the gateway has as many descriptors as before. CPU is
that of both gateways while the attack runs, in percent of a core: where the first one's hardly differs from the
second's, a slow answer waited for the machine and not for the gateway.

Needs python3 and Linux, nothing else. Ends after the time it was given; exit status 1 if a run fails.
"""

import argparse
import base64
import http.client
import json
import multiprocessing
import os
import selectors
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
import zlib

HEAD = (
    b"GET /v1/stream HTTP/1.1\r\nHost: flood\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + base64.b64encode(b"0123456789abcdef") + b"\r\n"
)
# Of each gateway. More samples than one client may ask for, so that the 99th percentile is not the slowest answer.
CLIENTS = 4
DEFLATE = b"Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover; server_no_context_takeover\r\n"


def frame(opcode, payload=b"", fin=True, compressed=False):
    """A masked frame; a mask of zeros leaves the payload as it is."""
    first = (0x80 if fin else 0) | (0x40 if compressed else 0) | opcode
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", first, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", first, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, size)
    return head + bytes(4) + payload


def text(value):
    return frame(1, json.dumps(value).encode())


def deflated(payload):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (packer.compress(payload) + packer.flush(zlib.Z_SYNC_FLUSH))[:-4]


ALL = [{"channel": c, "symbols": ["kraken:*"]} for c in ("trades", "quote", "ticker", "pulse", "book", "sparkline")]
WILDCARDS = [{"channel": "sparkline", "symbols": ["*:BTC-USD", "kraken:*"] * 4, "points": p} for p in range(2, 600)]
KINDS = {
    "empty": frame(1),
    "pings": frame(9),
    "pongs": frame(10),
    "valid-pings": text({"op": "ping", "time": 1}),
    "subscribes": text({"op": "subscribe", "streams": ALL}) + text({"op": "unsubscribe", "all": True}),
    "wildcards": text({"op": "subscribe", "streams": WILDCARDS}),
    "unknown": text({"op": "subscribe", "streams": [{"channel": "trades", "symbols": ["kraken:BTC-USX"]}]}),
    "lists": text({"op": "subscribe", "streams": ALL}) + text({"op": "list"}) * 200,
    "fragments": frame(1, b" ", fin=False) + frame(0, b"", fin=False) * 500 + frame(0),
    "compressed": frame(1, deflated(b" " * 60_000), compressed=True),
    "http": b"GET /v1/status HTTP/1.1\r\nHost: flood\r\n\r\n",
}


class Attack(multiprocessing.Process):
    """Keeps a number of connections open and sends on each as fast as it is taken; reads and drops what comes."""

    def __init__(self, port, kind, connections, begin, end):
        super().__init__(daemon=True)
        self.port, self.kind, self.connections, self.begin, self.end = port, kind, connections, begin, end
        unit = KINDS[kind]
        self.portion = unit * max(1, (64 << 10) // len(unit))
        self.sent = self.received = self.opened = self.closed = 0
        self.counts, self.own_counts = multiprocessing.Pipe(duplex=False)

    def run(self):
        time.sleep(max(0, self.begin - time.monotonic()))
        self.attack()
        self.own_counts.send((self.sent, self.received, self.opened, self.closed))

    def finish(self, seconds):
        self.join(seconds)
        if self.counts.poll():
            self.sent, self.received, self.opened, self.closed = self.counts.recv()

    def attack(self):
        selector = selectors.DefaultSelector()
        alive = 0
        while time.monotonic() < self.end:
            while alive < self.connections and time.monotonic() < self.end:
                try:
                    peer = socket.create_connection(("127.0.0.1", self.port), timeout=5)
                    if self.kind != "http":
                        peer.sendall(HEAD + (DEFLATE if self.kind == "compressed" else b"") + b"\r\n" + frame(10))
                    peer.setblocking(False)
                except OSError:
                    self.closed += 1
                    time.sleep(0.01)
                    break
                selector.register(peer, selectors.EVENT_READ | selectors.EVENT_WRITE, [0])
                alive += 1
                self.opened += 1
            for key, events in selector.select(0.05):
                peer, place = key.fileobj, key.data
                try:
                    if events & selectors.EVENT_READ:
                        data = peer.recv(256 << 10)
                        if not data:
                            raise ConnectionResetError
                        self.received += len(data)
                    if events & selectors.EVENT_WRITE:
                        count = peer.send(memoryview(self.portion)[place[0]:])
                        self.sent += count
                        place[0] = (place[0] + count) % len(self.portion)
                except BlockingIOError:
                    pass
                except OSError:
                    selector.unregister(peer)
                    peer.close()
                    alive -= 1
                    self.closed += 1
        for key in list(selector.get_map().values()):
            key.fileobj.close()
        selector.close()


class GoodClient(threading.Thread):
    """Asks for a pong ten times a second, and reads all prices."""

    def __init__(self, port, end):
        super().__init__(daemon=True)
        self.port, self.end = port, end
        self.times, self.failure = [], None

    def run(self):
        try:
            self.talk()
        except Exception as error:  # told with the figures
            self.failure = repr(error)

    def talk(self):
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall(HEAD + b"\r\n" + frame(10) + text({"op": "subscribe", "streams": ALL[1:4]}))
        data, next_ask, asked = b"", time.monotonic() + 0.5, {}
        while b"\r\n\r\n" not in data:
            data += peer.recv(65536)
        data = data[data.index(b"\r\n\r\n") + 4:]
        number = 0
        while time.monotonic() < self.end + 15:
            now = time.monotonic()
            if now >= self.end and not asked:
                return
            if now >= next_ask and now < self.end:
                number += 1
                asked[number] = time.monotonic()
                peer.sendall(text({"op": "ping", "id": number}))
                next_ask += 0.1
            peer.settimeout(max(0.001, min(next_ask, self.end + 15) - time.monotonic()))
            try:
                chunk = peer.recv(1 << 20)
            except (TimeoutError, BlockingIOError):
                continue
            if not chunk:
                raise ConnectionResetError("the gateway closed a good client")
            arrived = time.monotonic()
            data += chunk
            while len(data) >= 2:
                size, start = data[1], 2
                if size == 126:
                    size, start = struct.unpack("!H", data[2:4].ljust(2, b"\0"))[0], 4
                elif size == 127:
                    size, start = struct.unpack("!Q", data[2:10].ljust(8, b"\0"))[0], 10
                if len(data) < start + size:
                    break
                payload, opcode = data[start:start + size], data[0] & 15
                data = data[start + size:]
                if opcode == 9:
                    peer.sendall(frame(10, payload))
                elif payload.startswith(b'{"type":"pong"'):
                    self.times.append(arrived - asked.pop(json.loads(payload)["id"]))
        raise TimeoutError(f"{len(asked)} pongs did not come within 15 s")


class Probe(threading.Thread):
    """Asks /livez every 50 ms and looks at the process."""

    def __init__(self, port, pid, end):
        super().__init__(daemon=True)
        self.port, self.pid, self.end = port, pid, end
        self.slowest, self.memory = 0.0, 0

    def run(self):
        while time.monotonic() < self.end:
            began = time.monotonic()
            try:
                peer = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                peer.request("GET", "/livez")
                if peer.getresponse().status != 200:
                    self.slowest = 99.0
                peer.close()
            except OSError:
                self.slowest = 99.0
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.memory = max(self.memory, resident(self.pid))
            time.sleep(0.05)


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def processor(pid):
    """Seconds of CPU that a process has taken."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] if values else float("inf")


def free_port():
    with socket.socket() as peer:
        peer.bind(("127.0.0.1", 0))
        return peer.getsockname()[1]


def start(program, extra):
    ports = free_port(), free_port()
    process = subprocess.Popen(
        [program, "serve", "--demo", "--rate", "20", "--listen", f"127.0.0.1:{ports[0]}",
         "--internal-listen", f"127.0.0.1:{ports[1]}", *extra],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "TIDEGATE_DATA_DIRECTORY": "none"})
    for _ in range(600):
        try:
            peer = http.client.HTTPConnection("127.0.0.1", ports[1], timeout=5)
            peer.request("GET", "/readyz")
            if peer.getresponse().status == 200:
                return process, ports
        except OSError:
            pass
        time.sleep(0.1)
    sys.exit("the gateway is not ready after 60 s")


def settle(pid, limit, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end and descriptors(pid) > limit:
        time.sleep(0.2)
    return descriptors(pid)


def run(program, extra, kind, connections, seconds):
    (first, ports), (second, control_ports) = start(program, extra), start(program, extra)
    try:
        time.sleep(2)
        memory, files = resident(first.pid), descriptors(first.pid)
        # The good clients are in before it begins: they share the limits of its address.
        begin = time.monotonic() + 1
        end = begin + seconds
        attack = Attack(ports[0], kind, connections, begin, end)
        attack.start()
        good = [GoodClient(ports[0], end) for _ in range(CLIENTS)]
        control = [GoodClient(control_ports[0], end) for _ in range(CLIENTS)]
        probe = Probe(ports[1], first.pid, end)
        before = processor(first.pid), processor(second.pid)
        threads = [*good, *control, probe]
        for thread in threads:
            thread.start()
        attack.finish(seconds + 60)
        cpu = [(processor(p.pid) - b) / (seconds + 1) * 100 for p, b in zip((first, second), before)]
        for thread in threads:
            thread.join(60)
        left = settle(first.pid, files, 10)
        times = [t for client in good for t in client.times]
        p99, floor = percentile(times, 0.99) * 1e3, percentile([t for c in control for t in c.times], 0.99) * 1e3
        growth = probe.memory - memory
        faults = []
        faults += {client.failure for client in good + control if client.failure}
        if p99 > max(2 * floor, 5):
            faults.append("p99")
        if probe.slowest > 0.1:
            faults.append("/livez")
        if growth > 32:
            faults.append("memory")
        if left > files:
            faults.append("descriptors")
        median = statistics.median(times) * 1e3 if times else float("inf")
        print(
            f"{kind:12} {connections:4} {p99:9.2f} {floor:9.2f} {median:8.2f} {probe.slowest * 1e3:9.1f} {growth:+8.1f}"
            f" {cpu[0]:6.1f} {cpu[1]:7.1f} {files:4} {left:4} {attack.sent * 8 / seconds / 1e6:8.1f}"
            f" {attack.opened:6} {attack.closed:6}"
            f"  {'ok' if not faults else 'FAILED: ' + ', '.join(faults)}", flush=True)
        return not faults
    finally:
        for process in (first, second):
            process.terminate()
        for process in (first, second):
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the gateway: .build/release/tidegate")
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--connections", nargs="+", type=int, default=[1, 5, 40, 200])
    parser.add_argument("--seconds", type=float, default=16, help="of each run (16)")
    parser.add_argument("--serve", nargs="*", default=[], help="further arguments of `tidegate serve`")
    options = parser.parse_args()
    print(f"{'kind':12} {'conn':>4} {'p99 ms':>9} {'control':>9} {'median':>8} {'/livez ms':>9} {'RSS MB':>8}"
          f" {'CPU %':>6} {'control':>7} {'fds':>4} {'left':>4} {'Mbit/s':>8} {'opened':>6} {'closed':>6}")
    good = True
    for kind in options.kinds:
        for connections in options.connections:
            good = run(options.program, options.serve, kind, connections, options.seconds) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
