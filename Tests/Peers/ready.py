#!/usr/bin/env python3
"""Starts a gateway that has a long past of many instruments, and measures when it is ready.

    Tests/Peers/ready.py [--markets 500] [--starts 5] [--limit 3] [--binary .build/release/tidegate] [--exchange PATH]

A first run learns the instruments from a simulated exchange. Then its data file is given candles of every instrument:
of a day and an hour each minute, of 90 days each quarter of an hour, of a year each hour, of 5 years each day; some
14,000 of each instrument. Every further run is killed (SIGKILL) and started again. Of each start are told: when /readyz
says ready, when all instruments are listed, which they are when their past is back, and how much CPU time it took.
Exits with 1 if one of the starts takes longer than the limit, or an instrument comes without its past.
"""

import argparse
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

# Name, length in seconds, how far back.
RESOLUTIONS = [("1m", 60, 90_000), ("15m", 900, 90 * 86_400), ("1h", 3_600, 365 * 86_400),
               ("1d", 86_400, 5 * 365 * 86_400)]


def free_port():
    with socket.socket() as peer:
        peer.bind(("127.0.0.1", 0))
        return peer.getsockname()[1]


def fetch(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.read().decode()
    except OSError:
        return None


class Trial:
    def __init__(self, options):
        self.options = options
        self.work = tempfile.mkdtemp(prefix="tidegate-ready-")
        self.data = os.path.join(self.work, "data")
        self.file = os.path.join(self.data, "history.sqlite")
        self.venue_port, self.port, self.internal = free_port(), free_port(), free_port()
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("TIDEGATE_")}
        self.environment.update(TIDEGATE_DATA_DIRECTORY=self.data, TIDEGATE_DATA_BACKFILL="false")
        self.failures = 0

    def start_venue(self):
        log = open(os.path.join(self.work, "venue.log"), "w")
        binary = self.options.exchange or self.options.binary
        self.venue = subprocess.Popen(
            [binary, "simulate", "--venue", self.options.venue, "--markets", str(self.options.markets), "--rate", "1",
             "--listen", f"127.0.0.1:{self.venue_port}"], stdout=log, stderr=log, env=self.environment)
        for _ in range(200):
            try:
                return socket.create_connection(("127.0.0.1", self.venue_port), 1).close()
            except OSError:
                time.sleep(0.05)
        raise SystemExit("the simulated exchange did not start")

    def start(self, name, patience=120):
        """The gateway, and after how many seconds it was ready and had listed all instruments."""
        log = open(os.path.join(self.work, f"{name}.log"), "w")
        began = time.time()
        gateway = subprocess.Popen(
            [self.options.binary, "serve", "--feed", f"{self.options.venue}=*", "--endpoint",
             f"{self.options.venue}=ws://127.0.0.1:{self.venue_port}", "--listen", f"127.0.0.1:{self.port}",
             "--internal-listen", f"127.0.0.1:{self.internal}"], stdout=log, stderr=log, env=self.environment)
        ready = listed = None
        while time.time() - began < patience and (ready is None or listed is None):
            if ready is None and (fetch(self.internal, "/readyz") or "").startswith("ready"):
                ready = time.time() - began
            instruments = json.loads(fetch(self.port, "/v1/instruments") or "{}").get("instruments", [])
            if listed is None and len(instruments) >= self.options.markets:
                listed = time.time() - began
            time.sleep(0.02)
        if listed is None or ready is None:
            gateway.kill()
            raise SystemExit(f"after {patience} s it is not ready, or not all instruments are there; see {log.name}")
        with open(f"/proc/{gateway.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return gateway, ready, listed, cpu

    def metric(self, name):
        for line in (fetch(self.internal, "/metrics") or "").splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return -1

    def fill(self):
        """Candles of every instrument, from a venue, that go up and down around its last price."""
        database = sqlite3.connect(self.file)
        now = int(time.time())
        total = 0
        for name, length, back in RESOLUTIONS:
            database.execute(
                f"""WITH RECURSIVE back(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM back WHERE n < ?)
                INSERT OR IGNORE INTO candle_{name}
                SELECT i.id, ? - n, p, p + 9, p - 9, p + n % 7, 1000 + n % 50, NULL, 5,
                  256 * i.price_scale + i.size_scale, 1, 0
                FROM (SELECT id, price_scale, size_scale,
                  coalesce((SELECT trade_price FROM latest WHERE instrument = id), 100000) + 20 AS p FROM instrument) i,
                  back""", (back // length, now // length))
            total += database.execute(f"SELECT count(*) FROM candle_{name}").fetchone()[0]
        database.execute("UPDATE coverage SET start = ?", ((now - RESOLUTIONS[-1][2]) * 1_000_000,))
        database.commit()
        database.close()
        return total

    def run(self):
        self.start_venue()
        try:
            gateway, _, listed, _ = self.start("first")
            print(f"{self.options.markets} instruments without a past are listed after {listed:.2f} s", flush=True)
            time.sleep(4)
            gateway.send_signal(signal.SIGTERM)
            gateway.wait()
            candles = self.fill()
            size = os.path.getsize(self.file) / 1e6
            print(f"the file has {candles:,} candles in {size:.0f} MB", flush=True)
            for number in range(self.options.starts):
                gateway, ready, listed, cpu = self.start(f"start-{number}")
                restored = self.metric("tidegate_history_instruments_restored_total")
                rss = self.metric("process_resident_memory_bytes") / 1e6
                line = json.loads(fetch(self.port, f"/v1/sparklines/{self.some()}?range=1y&points=200") or "{}")
                points = len(line.get("points", []))
                isGood = max(ready, listed) <= self.options.limit and restored >= self.options.markets and points > 150
                self.failures += not isGood
                print(f"{'' if isGood else 'FAILED '}start {number}: ready after {ready:.2f} s, all {restored:.0f} "
                      f"with their past after {listed:.2f} s; {cpu:.2f} s of CPU time, {rss:.0f} MB resident, "
                      f"{points} points of a year", flush=True)
                gateway.kill()
                gateway.wait()
        finally:
            self.venue.kill()
            self.venue.wait()
        return 1 if self.failures else 0

    def some(self):
        return json.loads(fetch(self.port, "/v1/instruments"))["instruments"][-1]["symbol"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markets", type=int, default=500)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--limit", type=float, default=3)
    parser.add_argument("--venue", default="okx", help="one whose books need no REST: those come at its pace")
    parser.add_argument("--binary", default=".build/release/tidegate")
    parser.add_argument("--exchange", help="another binary for the simulated exchange")
    sys.exit(Trial(parser.parse_args()).run())


if __name__ == "__main__":
    main()
