#!/usr/bin/env python3
"""Ends a gateway at random moments of a minute, with SIGKILL or SIGTERM, and compares its candles with all trades.

    Tests/Peers/restart.py [--rounds 50] [--kills 0.7] [--backfill] [--seed N] [--short] [--binary .build/debug/tidegate]

A reader of the simulated exchange, which never disconnects, notes every trade: the naive model. The exchange sends its
last fifty trades to each newcomer, so the gateway can have all of them. After each start, and before the next end:
- the candle of each minute since the first start has the first trades of that minute, all that arrived until the
  request and each once: open, high, low, close, volume and number are theirs,
- a closed candle has all of its minute's trades, and its source is `own`: nothing is missing,
- the last trades are consecutive, and end with the newest,
- a candle for which trades are missing is `partial`. That can be so if more than fifty were made during a restart.

With --backfill the gateway may request the venue's candles; these must not replace candles that are whole.
With --short it takes half a minute. Exits with 1 if one of these checks fails.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import time
import urllib.request
from datetime import datetime
from decimal import Decimal

import resume

MINUTE = 60_000_000
# A candle closes a second after its minute; a changed one is published again a second later.
CLOSING = 3_500_000
# How long a trade may be under way on a busy machine, µs.
LATENCY = 700_000


class Model:
    """Every trade of the exchange, by market."""

    def __init__(self, port):
        self.port = port
        self.trades = {name: {} for name in resume.MARKETS}
        self.task = None

    async def run(self, ready):
        peer = resume.Socket()
        await peer.open(self.port, "/v2")
        peer.send({"method": "subscribe", "params": {
            "channel": "trade", "symbol": [name.replace("-", "/") for name in resume.MARKETS], "snapshot": True}})
        ready.set()
        while (message := await peer.receive()) is not None:
            if message.get("channel") != "trade":
                continue
            for trade in message["data"]:
                moment = datetime.fromisoformat(trade["timestamp"].replace("Z", "+00:00"))
                time_us = int(moment.timestamp()) * 1_000_000 + moment.microsecond
                market = self.trades[trade["symbol"].replace("/", "-")]
                market.setdefault(int(trade["trade_id"]), (
                    time_us, Decimal(str(trade["price"])), Decimal(str(trade["qty"])), time.time() * 1e6))

    def minute(self, market, start):
        """The trades of a minute in the order of their numbers."""
        return [trade for _, trade in sorted(self.trades[market].items()) if start <= trade[0] < start + MINUTE]


def candle_of(trades):
    prices = [trade[1] for trade in trades]
    return prices[0], max(prices), min(prices), prices[-1], sum(trade[2] for trade in trades), len(trades)


class Trial(resume.Trial):
    def __init__(self, options):
        options.keep_ports = False
        super().__init__(options)
        self.environment["TIDEGATE_DATA_BACKFILL"] = "true" if options.backfill else "false"
        self.model = Model(self.venue_port)
        self.compared = self.whole = self.partial = self.restarted = 0
        # The gateway's restarts: (from, to).
        self.downtimes = []

    def is_bridged(self, market, start):
        """Whether every restart that touches a minute was short enough for the exchange's fifty trades."""
        for begin, end in self.downtimes:
            if begin - 2_000_000 < start + MINUTE and end > start:
                missed = sum(1 for trade in self.model.trades[market].values() if begin - 2_000_000 <= trade[3] <= end)
                if missed > 45:
                    return False
        return True

    async def get(self, path):
        """The gateway's answer, within 30 s: a machine that stands still for some says nothing about candles. Ends the
        trial if the answer is an error."""
        def request():
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
                return answer.read().decode()
        try:
            return json.loads(await asyncio.get_running_loop().run_in_executor(None, request))
        except OSError as error:
            raise SystemExit(f"{path}: {error}; see {self.work}")

    async def compare(self, number, first):
        for market in resume.MARKETS:
            asked = time.time() * 1e6
            answer = await self.get(f"/v1/candles/kraken:{market}?interval=1m&limit=200")
            await asyncio.sleep(0)
            candles = {candle["time"]: candle for candle in answer["candles"]}
            # All trades that had a while to arrive.
            starts = {trade[0] // MINUTE * MINUTE for trade in self.model.trades[market].values()}
            for start in sorted(starts):
                if start < first:
                    continue
                self.look(number, market, start, candles.get(start), asked)
            trades = (await self.get(f"/v1/trades/kraken:{market}"))["trades"]
            ids = [int(trade["id"]) for trade in trades]
            if ids != list(range(ids[0], ids[0] + len(ids))) and self.is_bridged(market, first):
                self.ledger.fail(f"round {number}: the last trades of {market} are not consecutive: {ids}")
            due = [key for key, trade in self.model.trades[market].items() if trade[3] < asked - LATENCY]
            if due and ids[-1] < max(due):
                self.ledger.fail(f"round {number}: {market}: trade {max(due)} is not shown; the newest is {ids[-1]}")

    def look(self, number, market, start, candle, asked):
        trades = self.model.minute(market, start)
        due = [trade for trade in trades if trade[3] < asked - LATENCY]
        name = f"round {number}: {market} {datetime.utcfromtimestamp(start / 1e6):%H:%M}"
        if candle is None:
            if due:
                self.ledger.fail(f"{name}: no candle of {len(due)} trades")
            return
        self.compared += 1
        shown = tuple(Decimal(candle[key]) for key in ("open", "high", "low", "close", "volume")) + (candle["trades"],)
        is_bridged = self.is_bridged(market, start)
        self.restarted += any(begin < start + MINUTE and end > start for begin, end in self.downtimes)
        if candle["source"] == "partial":
            self.partial += 1
            if is_bridged and start + MINUTE + CLOSING < asked:
                self.ledger.fail(f"{name}: partial, although the exchange sent all of it again")
            if not is_bridged:
                return
        else:
            self.whole += 1
        if not len(due) <= candle["trades"] <= len(trades):
            return self.ledger.fail(f"{name}: {candle['trades']} trades of {len(due)} to {len(trades)}: {candle}")
        wanted = candle_of(trades[:candle["trades"]])
        if shown != wanted and candle["source"] != "venue":
            self.ledger.fail(f"{name}: {[str(value) for value in shown]} and not {[str(value) for value in wanted]}")

    async def run(self):
        await self.start_venue()
        ready = asyncio.Event()
        reading = asyncio.create_task(self.model.run(ready))
        await asyncio.wait([reading, asyncio.create_task(ready.wait())], return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            reading.result()
        await asyncio.sleep(1)
        loop = asyncio.get_running_loop()
        gateway = self.start_gateway(0)
        kills = 0
        try:
            await self.ready(gateway)
            # Of the minute of the first start the gateway has only what the exchange sends at the start.
            first = (int(time.time() * 1e6) // MINUTE + 1) * MINUTE
            if self.options.short:
                await asyncio.sleep(max(0, first / 1e6 - time.time() - 0.5))
            for number in range(1, self.options.rounds + 1):
                # Most within a minute; some shortly after its end, and some over more than one.
                wait = self.random.uniform(0.3, 9)
                if self.random.random() < 0.3:
                    wait = 60 - time.time() % 60 + self.random.uniform(0, 2.5)
                await asyncio.sleep(min(wait, 5) if self.options.short else wait)
                await self.compare(number, first)
                is_kill = self.random.random() < self.options.kills
                kills += is_kill
                began = time.time() * 1e6
                gateway.send_signal(signal.SIGKILL if is_kill else signal.SIGTERM)
                await loop.run_in_executor(None, gateway.wait)
                gateway = self.start_gateway(number)
                await self.ready(gateway)
                await asyncio.sleep(0.5)
                self.downtimes.append((began, time.time() * 1e6))
                await self.compare(number, first)
                if number % 10 == 0:
                    print(f"{number} restarts, {self.compared} candles compared, {len(self.ledger.failures)} failures",
                          flush=True)
            await asyncio.sleep(CLOSING / 1e6)
            await self.compare(self.options.rounds, first)
        finally:
            self.is_over = True
            reading.cancel()
            gateway.kill()
            gateway.wait()
            self.venue.kill()
            self.venue.wait()
        ledger = self.ledger
        if reading.done() and not reading.cancelled() and reading.exception():
            ledger.fail(f"the reader failed: {reading.exception()!r}")
        if self.restarted < 2 * self.options.rounds:
            ledger.fail("too little happened to tell anything")
        count = sum(len(market) for market in self.model.trades.values())
        print(f"{self.options.rounds} restarts, {kills} of them kills; {count} trades; {self.compared} candles compared, "
              f"{self.restarted} of them of a minute with a restart; {self.whole} whole, {self.partial} partial; "
              f"{len(ledger.failures)} failures; seed {self.seed}; {self.work}")
        return 1 if ledger.failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--kills", type=float, default=0.7, help="part of the rounds that end with SIGKILL")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=int, default=20, help="messages per second and market")
    parser.add_argument("--backfill", action="store_true", help="request the venue's candles")
    parser.add_argument("--short", action="store_true", help="half a minute, for every change")
    parser.add_argument("--binary", default=".build/debug/tidegate")
    options = parser.parse_args()
    if options.short:
        options.rounds = 4
    sys.exit(asyncio.run(Trial(options).run()))


if __name__ == "__main__":
    main()
