#!/usr/bin/env python3
"""What a poller costs: the gateway's CPU time for each answer, of requests that are repeated on connections that stay.

    Benchmarks/poll.py .build/release/tidegate [--nginx /usr/sbin/nginx] [--connections 32] [--pipeline 4] [--seconds 4]

A simulated exchange and a gateway, each a process of its own on loopback, and pollers that send the same request again
and again, with the entity tag of the answer before. The market is at rest for a while (the exchange is stopped with
SIGSTOP, for less time than a feed needs to be called stale), so that there is something to repeat; then it moves, and
what pollers then get is partly new. CPU time is that of all threads (/proc/PID/task/*/schedstat), the kernel's work for
the sockets included; on loopback that holds the receiver's part of TCP, too.

With --nginx the same requests are answered by nginx, one process, from a file that holds the same bytes, in turns
with the gateway. The pollers are Python: they are the bottleneck, so that rates say nothing; times for each request do.
Without a file to serve and a tag to compare, the least that a port of the gateway costs is shown beside it: /livez.
"""

import argparse
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time

HEAD_END = b"\r\n\r\n"


def free_port():
    with socket.socket() as peer:
        peer.bind(("127.0.0.1", 0))
        return peer.getsockname()[1]


def cpu_seconds(pids):
    total = 0
    for pid in pids:
        for task in os.listdir(f"/proc/{pid}/task"):
            try:
                with open(f"/proc/{pid}/task/{task}/schedstat") as stat:
                    total += int(stat.read().split()[0])
            except OSError:
                pass
    return total / 1e9


class Poller:
    """A connection that repeats its request, so many at a time."""

    def __init__(self, port, path, pipeline, knows):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.path, self.pipeline, self.knows = path, pipeline, knows
        self.tag = None
        self.received = b""
        self.skip = 0
        self.owed = 0
        self.make_request()

    def make_request(self):
        known = f"If-None-Match: {self.tag}\r\n" if self.tag and self.knows else ""
        self.request = f"GET {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{known}\r\n".encode() * self.pipeline

    def ask(self):
        self.owed = self.pipeline
        self.socket.sendall(self.request)

    def read(self, counts):
        """Takes what came; asks again when all answers are there."""
        chunk = self.socket.recv(1 << 20)
        if not chunk:
            raise SystemExit(f"{self.path}: the server closed")
        if self.skip >= len(chunk):
            self.skip -= len(chunk)
            if self.skip == 0:
                self.done()
            return
        if self.skip > 0:
            chunk = chunk[self.skip:]
            self.skip = 0
            self.done(asks=False)
        data = self.received + chunk
        start = 0
        while True:
            end = data.find(HEAD_END, start)
            if end < 0:
                break
            status = data[start + 9:start + 12]
            counts[status] = counts.get(status, 0) + 1
            body = 0
            if status != b"304":
                head = data[start:end]
                body = int(re.search(rb"Content-Length: (\d+)", head).group(1))
                tag = re.search(rb"ETag: (\S+)", head)
                if tag and tag.group(1).decode() != self.tag:
                    self.tag = tag.group(1).decode()
                    self.make_request()
            start = end + 4
            if len(data) - start < body:
                self.skip = body - (len(data) - start)
                start = len(data)
                break
            start += body
            self.owed -= 1
        self.received = data[start:]
        if self.owed == 0:
            self.ask()

    def done(self, asks=True):
        self.owed -= 1
        if asks and self.owed == 0:
            self.ask()


def poll(port, path, pids, options, pipeline, knows=True):
    """Answers by status, and the servers' CPU time for each, µs."""
    pollers = [Poller(port, path, pipeline, knows) for _ in range(options.connections)]
    selector = selectors.DefaultSelector()
    for poller in pollers:
        selector.register(poller.socket, selectors.EVENT_READ, poller)
        poller.ask()
    counts = {}
    begun = None
    start = time.time()
    while True:
        for key, _ in selector.select(1):
            key.data.read(counts)
        now = time.time()
        if begun is None and now - start > 0.5:
            begun, counts, before = now, {}, cpu_seconds(pids)
        if begun is not None and now - begun > options.seconds:
            break
    spent = cpu_seconds(pids) - before
    total = sum(counts.values())
    for poller in pollers:
        poller.socket.close()
    return counts, spent / total * 1e6, total / (now - begun), spent / (now - begun)


class Servers:
    def __init__(self, options):
        self.options = options
        self.work = tempfile.mkdtemp(prefix="tidegate-poll-")
        self.venue_port, self.port, self.internal, self.nginx_port = (free_port() for _ in range(4))
        self.processes = []
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TIDEGATE_")}
        environment["TIDEGATE_DATA_DIRECTORY"] = "none"
        for name in ("CONNECTIONS_PER_ADDRESS", "CONNECTIONS_PER_SECOND_PER_ADDRESS", "HTTP_REQUESTS_PER_SECOND",
                     "HTTP_REQUESTS_PER_SECOND_PER_ADDRESS"):
            environment[f"TIDEGATE_LIMITS_{name}"] = "100000"
        environment["TIDEGATE_HTTP_REQUESTS_PER_CONNECTION"] = "1000000000"
        self.exchange = self.start(
            "exchange", environment, "simulate", "--venue", "kraken", "--markets", "50", "--rate", "1", "--listen",
            f"127.0.0.1:{self.venue_port}")
        self.wait(self.venue_port)
        self.gateway = self.start(
            "gateway", environment, "serve", "--feed", "kraken=*", "--endpoint",
            f"kraken=ws://127.0.0.1:{self.venue_port}", "--listen", f"127.0.0.1:{self.port}", "--internal-listen",
            f"127.0.0.1:{self.internal}")
        self.wait(self.port)
        for _ in range(400):
            symbols = re.findall(rb'"symbol":"([^"]+)"', self.get("/v1/instruments"))
            if len(symbols) == 50 and all(b'"error"' not in self.get(f"/v1/tickers/{s.decode()}") for s in symbols[:5]):
                break
            time.sleep(0.05)
        else:
            raise SystemExit("the gateway has not got its markets")
        self.symbols = [symbol.decode() for symbol in symbols]
        time.sleep(3)

    def start(self, name, environment, *arguments):
        log = open(os.path.join(self.work, f"{name}.log"), "w")
        process = subprocess.Popen([self.options.binary, *arguments], stdout=log, stderr=log, env=environment)
        self.processes.append(process)
        return process

    @staticmethod
    def wait(port):
        for _ in range(400):
            try:
                return socket.create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"nobody listens on {port}")

    def get(self, path):
        with socket.create_connection(("127.0.0.1", self.port)) as peer:
            peer.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            data = b""
            while chunk := peer.recv(1 << 20):
                data += chunk
        return data.split(HEAD_END, 1)[1]

    def start_nginx(self, files):
        """One worker that answers from files; returns it."""
        for name, body in files.items():
            with open(os.path.join(self.work, name), "wb") as file:
                file.write(body)
        os.chmod(self.work, 0o755)
        paths = "".join(f"{kind}_temp_path {self.work}/{kind};"
                        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(os.path.join(self.work, "nginx.conf"), "w") as file:
            file.write(f"""master_process off; daemon off; pid {self.work}/nginx.pid; error_log {self.work}/nginx.log;
                events {{ worker_connections 1024; }}
                http {{ access_log off; sendfile on; tcp_nodelay on; keepalive_requests 1000000000;
                open_file_cache max=100; {paths}
                server {{ listen 127.0.0.1:{self.nginx_port}; root {self.work}; default_type application/json; }} }}""")
        nginx = subprocess.Popen([self.options.nginx, "-c", f"{self.work}/nginx.conf", "-p", self.work],
                                 stderr=subprocess.DEVNULL)
        self.processes.append(nginx)
        self.wait(self.nginx_port)
        return [nginx.pid]

    def rest(self, isAtRest):
        self.exchange.send_signal(signal.SIGSTOP if isAtRest else signal.SIGCONT)
        # What was on its way arrives; or the market moves again.
        time.sleep(0.5)

    def stop(self):
        self.exchange.send_signal(signal.SIGCONT)
        for process in reversed(self.processes):
            process.terminate()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--nginx")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--pipeline", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    servers = Servers(options)
    one = f"/v1/tickers/{servers.symbols[0]}"
    many = "/v1/snapshot?symbols=" + ",".join(servers.symbols)
    gateway = [servers.gateway.pid]
    try:
        workers = options.nginx and servers.start_nginx({"one": servers.get(one), "many": servers.get(many)})
        print(f"one ticker: {len(servers.get(one))} bytes; a snapshot of 50 symbols: {len(servers.get(many)):,} bytes")
        rows = []

        def measure(title, port, path, pids, isAtRest, pipeline, knows=True):
            best = None
            for _ in range(options.rounds):
                if isAtRest:
                    servers.rest(True)
                found = poll(port, path, pids, options, pipeline, knows)
                if isAtRest:
                    servers.rest(False)
                best = found if best is None or found[1] < best[1] else best
            counts, microseconds, rate, cores = best
            told = ", ".join(f"{count} × {status.decode()}" for status, count in sorted(counts.items()))
            rows.append((title, microseconds, rate, cores, told))
            print(
                f"{title:46} {microseconds:7.2f} µs {rate:8.0f}/s {cores * 100:4.0f} % of a core  {told}", flush=True)

        for pipeline in (1, options.pipeline):
            how = "one by one" if pipeline == 1 else f"{pipeline} at a time"
            measure(f"/livez, {how}", servers.internal, "/livez", gateway, True, pipeline)
            measure(f"304 of a ticker, at rest, {how}", servers.port, one, gateway, True, pipeline)
            if workers:
                measure(f"nginx: 304 of the same, {how}", servers.nginx_port, "/one", workers, False, pipeline)
            measure(f"304 of 50 symbols, at rest, {how}", servers.port, many, gateway, True, pipeline)
        measure("a ticker that moves each second, one by one", servers.port, one, gateway, False, 1)
        measure("50 symbols that move each second, one by one", servers.port, many, gateway, False, 1)
        measure("200 of 50 symbols, at rest", servers.port, many, gateway, True, 1, knows=False)
        if workers:
            measure("nginx: 200 of the same", servers.nginx_port, "/many", workers, False, 1, knows=False)
    finally:
        servers.stop()


if __name__ == "__main__":
    sys.exit(main())
