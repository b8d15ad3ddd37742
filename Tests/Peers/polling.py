#!/usr/bin/env python3
"""Polls a gateway over upgrades, reloads and restarts behind kept sockets: no answer may be 5xx, and no client refused.

    Tests/Peers/polling.py [--rounds 10] [--rate 10] [--seed N] [--short] [--data none] [--binary .build/debug/tidegate]

Pollers request the list of instruments, snapshots, candles, cards, tickers, trades, books, quotes, rates and lines ten
times a second each, half of them with a connection for each request, half with one that they keep. Meanwhile the gateway
is upgraded (SIGUSR2), reads its configuration again (SIGHUP, with another symbol each time) and is restarted (SIGTERM,
with its sockets kept as systemd does), ten times each. Every answer must be 200 with content: the lists have all
markets, candles have candles.

A kept connection may be closed by the gateway between two requests, as HTTP allows: the poller connects again.
With --short it takes half a minute. Exits with 1 if one of these checks fails.
"""

import argparse
import asyncio
import json
import os
import resource
import signal
import sys
import time

import resume
import upgrade
from kill import fetch
from processes import tail

# How long a request may wait for a process that takes over.
PATIENCE = 20


def paths():
    market, other = "kraken:BTC-USD", "kraken:ETH-USD"
    return {
        "instruments": "/v1/instruments", "snapshot": f"/v1/snapshot?symbols={market},{other}",
        "candles": f"/v1/candles/{market}?interval=1m", "hours": f"/v1/candles/{market}?interval=1h",
        "card": f"/v1/cards/price/{market}.svg", "ticker": f"/v1/tickers/{market}", "trades": f"/v1/trades/{market}",
        "book": f"/v1/books/{market}", "quote": f"/v1/quotes/{market}", "composite": "/v1/quotes/composite:BTC-USD",
        "rates": "/v1/rates?base=BTC&quote=USD", "line": f"/v1/sparklines/{market}",
    }


class Poller:
    def __init__(self, name, path, keeps, trial):
        self.name, self.path, self.keeps, self.trial = name, path, keeps, trial
        self.reader = self.writer = None
        self.count = self.slow = 0
        self.slowest = 0

    async def run(self):
        while not self.trial.is_over:
            began = time.monotonic()
            try:
                status, body = await asyncio.wait_for(self.request(), PATIENCE)
                self.judge(status, body)
            except (OSError, ConnectionError, asyncio.IncompleteReadError, asyncio.TimeoutError, ValueError) as error:
                self.drop()
                if not self.trial.is_over:
                    self.trial.ledger.refused += 1
                    self.trial.ledger.fail(f"{self.trial.phase}: {self.path}: {error!r}")
            self.count += 1
            self.slowest = max(self.slowest, time.monotonic() - began)
            await asyncio.sleep(max(0, 1 / self.trial.pace - (time.monotonic() - began)))
        self.drop()

    def drop(self):
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None

    async def request(self):
        kept = self.writer is not None
        try:
            return await self.exchange()
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            self.drop()
            # The gateway has closed it before it read the request (RFC 9112, section 9.3.1).
            if kept and not getattr(error, "partial", b""):
                return await self.exchange()
            raise

    async def exchange(self):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.trial.port, limit=8 << 20)
        connection = "keep-alive" if self.keeps else "close"
        self.writer.write(
            f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\nConnection: {connection}\r\n\r\n".encode())
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await self.reader.readexactly(int(fields["content-length"]))
        if not self.keeps or fields.get("connection") == "close":
            self.drop()
        return int(head.split(" ")[1]), body

    def judge(self, status, body):
        ledger, name = self.trial.ledger, f"{self.trial.phase}: {self.path}"
        if status != 200:
            return ledger.fail(f"{name}: {status} {body[:200]!r}")
        if self.name == "card":
            if b"</svg>" not in body:
                ledger.fail(f"{name}: {body[:200]!r}")
            return
        answer = json.loads(body)
        if self.name == "instruments":
            listed = {item["symbol"] for item in answer["instruments"]}
            if missing := {f"kraken:{market}" for market in resume.MARKETS} - listed:
                ledger.fail(f"{name}: {sorted(missing)} are not listed")
        if self.name in ("candles", "hours") and not answer["candles"]:
            ledger.fail(f"{name}: no candles")
        if self.name == "trades" and not answer["trades"]:
            ledger.fail(f"{name}: no trades")


class Trial(upgrade.Trial):
    phase = "start"

    def __init__(self, options):
        options.window, options.clients = 2, 0
        options.rate, self.pace = 20, options.rate
        super().__init__(options)
        if options.data == "none":
            self.environment["TIDEGATE_DATA_DIRECTORY"] = "none"

    def spawn_gateway(self):
        gateway = self.start()
        self.manager.main = gateway.pid
        return gateway

    async def ended(self, process, seconds=30):
        for _ in range(seconds * 50):
            if os.waitpid(process, os.WNOHANG)[0]:
                return
            await asyncio.sleep(0.02)
        raise SystemExit(f"process {process} does not end; see {self.work}")

    async def upgraded(self):
        old = self.manager.main
        os.kill(old, signal.SIGUSR2)
        await self.until("the next process", lambda: self.manager.main != old)
        await self.ended(old)

    async def reloaded(self, number):
        more = "DOGE-USD" if number % 2 else "LTC-USD"
        with open(self.configuration, encoding="ascii") as file:
            text = file.read()
        symbols = ", ".join(resume.MARKETS)
        lines = [f"    symbols: [{symbols}, {more}]" if "symbols:" in line else line for line in text.split("\n")]
        with open(self.configuration, "w", encoding="ascii") as file:
            file.write("\n".join(lines))
        os.kill(self.manager.main, signal.SIGHUP)
        await asyncio.sleep(1.5)

    async def restarted(self):
        process = self.manager.main
        os.kill(process, signal.SIGTERM)
        await self.ended(process)
        self.spawn_gateway()
        await self.ready_again()

    async def ready_again(self):
        loop = asyncio.get_running_loop()
        for _ in range(600):
            if ((await loop.run_in_executor(None, fetch, self.internal, "/readyz")) or "").startswith("ready"):
                return
            await asyncio.sleep(0.05)
        raise SystemExit(f"the gateway did not get ready; see {self.work}:{tail(self.newest_log)}")

    async def run(self):
        upgrade.ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        await self.start_venue()
        self.manager.listen(asyncio.get_running_loop())
        self.newest_log = os.path.join(self.work, "gateway.log")
        pollers, tasks, slowest = [], [], {}
        try:
            self.spawn_gateway()
            await self.ready_again()
            await asyncio.sleep(3)
            await self.until("two kept sockets", lambda: len(self.manager.kept) == 2)
            pollers = [
                Poller(name, path, keeps, self) for name, path in paths().items() for keeps in (False, True)]
            for poller in pollers:
                tasks.append(asyncio.create_task(poller.run()))
                await asyncio.sleep(0.01)
            await asyncio.sleep(1)
            for kind, step in (
                ("upgrade", lambda _: self.upgraded()), ("reload", self.reloaded),
                ("restart", lambda _: self.restarted()),
            ):
                for number in range(1, self.options.rounds + 1):
                    self.phase = f"{kind} {number}"
                    await step(number)
                    await asyncio.sleep(self.random.uniform(0.5, 2))
                slowest[kind] = max(poller.slowest for poller in pollers)
                for poller in pollers:
                    poller.slowest = 0
                print(f"{self.options.rounds} × {kind}: the slowest answer after {slowest[kind]:.2f} s; "
                      f"{len(self.ledger.failures)} failures", flush=True)
        finally:
            self.is_over = True
            for process in {self.manager.main}:
                try:
                    os.kill(process, signal.SIGKILL)
                except (ProcessLookupError, TypeError):
                    pass
            self.venue.kill()
            self.venue.wait()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 40)
        for task in tasks:
            if task.exception():
                self.ledger.fail(f"a poller failed: {task.exception()!r}")
        count = sum(poller.count for poller in pollers)
        if count < 100 * self.options.rounds:
            self.ledger.fail("too little happened to tell anything")
        print(f"{count} requests over {self.options.rounds} upgrades, reloads and restarts: {self.ledger.refused} "
              f"refused, {len(self.ledger.failures)} failures; seed {self.seed}; see {self.work}")
        return 1 if self.ledger.failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--rate", type=float, default=10, help="requests per second and poller")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", default="kept", help="none: without a data directory")
    parser.add_argument("--short", action="store_true", help="half a minute, for every change")
    parser.add_argument("--binary", default=".build/debug/tidegate")
    options = parser.parse_args()
    if options.short:
        options.rounds = 2
    options.upgrades = options.rounds
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 65_536)), hard))
    sys.exit(asyncio.run(Trial(options).run()))


if __name__ == "__main__":
    main()
