#!/usr/bin/env python3
"""Kills a gateway with SIGKILL at random moments under load, starts it again, and checks its stored history.

    Tests/Peers/kill.py [--rounds 100] [--long 0.05] [--short] [--seed N] [--binary .build/debug/tidegate]

After each kill, Python's own SQLite reads the data file:
- every minute that the run watched from its first second to its last, and that had closed 2 s before the kill, is there,
- no candle is there twice, and the file is not damaged,
- the newest stored trade of any market is from at most 2 s before the kill.
After each start, first of all: the gateway shows the last trades of every market, with those from before the kill, in
order and each once.
After each start, from the gateway and the file:
- it is ready within the limit, and every instrument has its history again before it is shown,
- every market has a gap for the time between the two runs, unless a venue's candles have closed it already, or the
  venue has shown that no trade is missing: the ids of the trades then continue from one run to the next.
Finally, one run continues for a minute and a half without a kill:
- the venue's candles have closed every gap, and there is a candle of every minute since the first start.

With --short it takes at most a minute and a half. No run lasts a whole minute, but at least one is killed shortly after
the end of a minute that it saw a part of. At the end, only candles before the last run's first minute must be complete:
the gateway requests these at once. Exits with 1 if one of these checks fails.
"""

import argparse
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

from processes import free_port, tail

MINUTE = 60
# The grace before a minute closes, and the time whose data may be lost.
GRACE, LOSS = 1.0, 2.0
# What a busy machine adds to both.
SLACK = 0.5
# The gateway requests a venue's minute this long after its end.
SETTLING = 5.5
MARKETS = ["BTC-USD", "ETH-USD", "SOL-USD", "ZEC-USD", "XRP-USD", "ADA-USD", "DOGE-USD", "LTC-USD"]


def fetch(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.read().decode()
    except OSError:
        return None


class Trial:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.work = tempfile.mkdtemp(prefix="tidegate-kill-")
        self.file = os.path.join(self.work, "data", "history.sqlite")
        self.venue_port, self.port, self.internal = free_port(), free_port(), free_port()
        self.failures = []
        self.ready_times = []
        self.closed_minutes = 0
        self.trades_seen = 0
        # The trades that a run shows first, and the markets whose runs joined, as their ids show.
        self.first_trades = {}
        self.joined = self.unproved = 0
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("TIDEGATE_")}
        self.environment["TIDEGATE_DATA_DIRECTORY"] = os.path.join(self.work, "data")

    def fail(self, text):
        self.failures.append(text)
        print(f"FAILED {text}", flush=True)

    def start_venue(self):
        log = open(os.path.join(self.work, "venue.log"), "w")
        self.venue = subprocess.Popen(
            [self.options.binary, "simulate", "--venue", "kraken", "--seed", str(self.options.seed), "--rate",
             str(self.options.rate), "--listen", f"127.0.0.1:{self.venue_port}"],
            stdout=log, stderr=log, env=self.environment)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.venue_port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("the simulated venue did not start")

    def start_gateway(self, number):
        log = open(os.path.join(self.work, f"gateway-{number}.log"), "w")
        began = time.time()
        gateway = subprocess.Popen(
            [self.options.binary, "serve", "--feed", "kraken=" + ",".join(MARKETS), "--endpoint",
             f"kraken=ws://127.0.0.1:{self.venue_port}", "--listen", f"127.0.0.1:{self.port}", "--internal-listen",
             f"127.0.0.1:{self.internal}"], stdout=log, stderr=log, env=self.environment)
        while time.time() - began < 30:
            if (fetch(self.internal, "/readyz") or "").startswith("ready"):
                break
            time.sleep(0.05)
        else:
            raise SystemExit(f"the gateway did not get ready; see {log.name}:{tail(log.name)}")
        ready = time.time()
        self.ready_times.append(ready - began)
        if number > 0:
            if ready - began > self.options.ready_limit:
                self.fail(f"round {number}: ready after {ready - began:.2f} s")
            listed = json.loads(fetch(self.port, "/v1/instruments?venue=kraken") or "{}").get("instruments", [])
            self.trades_are_back(number, began)
            restored = self.metric("tidegate_history_instruments_restored_total")
            if listed and restored < len(MARKETS):
                self.fail(f"round {number}: {len(listed)} instruments are shown and {restored} have their past")
        return gateway, began, ready

    def trades_are_back(self, number, began):
        """The trades of a market continue after the last stored trades of the previous run."""
        self.first_trades = {}
        # Data of a configured endpoint is stored under another name, which contains the endpoint.
        kept = dict(self.rows(
            "SELECT symbol, max(trade_time) FROM latest JOIN instrument ON instrument.id = latest.instrument "
            "WHERE last_trades IS NOT NULL AND trade_time < ? GROUP BY symbol", int(began * 1e6)))
        for symbol in sorted(kept):
            trades = self.trades(symbol)
            self.first_trades[symbol] = trades
            times = [trade["time"] for trade in trades]
            ids = [trade["id"] for trade in trades]
            if len(set(ids)) != len(ids):
                self.fail(f"round {number}: {symbol} shows a trade twice: {ids}")
            if times != sorted(times):
                self.fail(f"round {number}: the trades of {symbol} are out of order: {times}")
            # At most fifty are shown; if the new run has had fifty, older ones are not shown.
            if len(trades) < 50 and not any(time / 1e6 < began for time in times):
                self.fail(f"round {number}: {symbol} shows none of the trades from before the kill")
            self.trades_seen += any(time / 1e6 < began for time in times)

    def trades(self, symbol):
        return json.loads(fetch(self.port, f"/v1/trades/{symbol.split('@')[0]}") or "{}").get("trades", [])

    def metric(self, name):
        for line in (fetch(self.internal, "/metrics") or "").splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return -1

    def rows(self, sql, *values):
        # Read only: reads what the kill left in the log, and changes nothing before the next start.
        database = sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)
        try:
            return database.execute(sql, values).fetchall()
        finally:
            database.close()

    def after_kill(self, number, ready, killed):
        problems = [row[0] for row in self.rows("PRAGMA integrity_check") if row[0] != "ok"]
        if problems:
            self.fail(f"round {number}: the file is damaged: {problems[0]}")
        instruments = dict(self.rows("SELECT id, symbol FROM instrument"))
        if len(instruments) != len(MARKETS):
            self.fail(f"round {number}: {len(instruments)} instruments are kept")
        # A minute that the run saw a part of closes as well; in a few seconds every market trades.
        saw_part = self.options.short and ready % MINUTE < MINUTE - 3
        first = int(ready // MINUTE) + (0 if saw_part else 1)
        last = int((killed - GRACE - LOSS - SLACK) // MINUTE) - 1
        for minute in range(first, last + 1):
            kept = {row[0] for row in self.rows("SELECT instrument FROM candle_1m WHERE start = ?", minute)}
            self.closed_minutes += 1
            for missing in sorted(set(instruments) - kept):
                self.fail(f"round {number}: {instruments[missing]} has no candle of minute {minute}")
        for table in ("candle_1m", "candle_15m", "candle_1h", "candle_1d"):
            double = self.rows(
                f"SELECT count(*) FROM (SELECT 1 FROM {table} GROUP BY instrument, start HAVING count(*) > 1)")
            if double[0][0]:
                self.fail(f"round {number}: {double[0][0]} candles of {table} are there twice")
        if killed - ready > 3:
            newest = self.rows("SELECT max(time) FROM latest")[0][0] / 1e6
            if killed - newest > LOSS + SLACK:
                self.fail(f"round {number}: the newest trade that was kept is {killed - newest:.2f} s old")
        alive = self.rows("SELECT max(alive) FROM run")[0][0] / 1e6
        if killed - alive > LOSS + SLACK:
            self.fail(f"round {number}: the run was last noted {killed - alive:.2f} s before the kill")
        return alive

    def after_start(self, number, alive, began):
        """The gap of every market covers at least the time from the end of the last run to the start of this one."""
        time.sleep(2.5)
        gaps = self.rows("SELECT instrument, start, end, filled FROM gap")
        for instrument, symbol in self.rows("SELECT id, symbol FROM instrument"):
            mine = [(s / 1e6, e / 1e6) for i, s, e, _ in gaps if i == instrument]
            # Parts of it may have been closed by the venue's candles; together they cover it.
            covered = alive
            for start, end in sorted(mine):
                if start <= covered + 0.001 and end > covered:
                    covered = end
            # It observes again between its start and the moment at which it is ready, which may take a while.
            if covered < began and not self.joins(symbol, alive, began):
                self.fail(f"round {number}: of the gap of {symbol} {began - covered:.2f} s are not marked")

    def joins(self, symbol, alive, began):
        """Whether no trade is missing between two runs: the simulated venue numbers its trades without holes."""
        trades = self.first_trades.get(symbol, [])
        # When it got ready, perhaps none had been made since its start.
        later = self.trades(symbol)
        if trades and later and int(later[0]["id"]) <= int(trades[-1]["id"]) + 1:
            trades = trades + [trade for trade in later if int(trade["id"]) > int(trades[-1]["id"])]
        ids = [int(trade["id"]) for trade in trades]
        if any(after != before + 1 for before, after in zip(ids, ids[1:])) or any("gap" in trade for trade in trades):
            return False
        times = [trade["time"] / 1e6 for trade in trades]
        is_shown = any(time < alive for time in times) and any(time >= began for time in times)
        self.joined += is_shown
        # At most fifty trades are shown: of a busy market they do not reach back to the earlier run.
        self.unproved += not is_shown
        return True

    def in_the_end(self, first, began):
        # A venue is asked for what is missing when a market is observed again, and for the minute in which that began
        # 75 s later.
        if self.options.short:
            self.wait_for_backfill(began)
        else:
            time.sleep(95)
        now = time.time()
        until = self.askable(began) if self.options.short else now
        for instrument, symbol in self.rows("SELECT id, symbol FROM instrument"):
            minutes = {row[0] for row in self.rows("SELECT start FROM candle_1m WHERE instrument = ?", instrument)}
            wanted = range(int(first // MINUTE), int(min(now - 20, until) // MINUTE))
            missing = [minute for minute in wanted if minute not in minutes]
            if missing:
                self.fail(f"in the end {symbol} has no candle of minutes {missing}")
            gaps = self.rows(
                "SELECT start, end FROM gap WHERE instrument = ? AND filled > 0 AND start < ?", instrument,
                int(min(now - 30, until) * 1e6))
            if gaps:
                self.fail(f"in the end {len(gaps)} gaps of {symbol} are open: {gaps[:3]}")

    @staticmethod
    def askable(began):
        """The end of the last minute that a run asks the venue for at its start: venues have 5 s to publish it."""
        return (began - SETTLING) // MINUTE * MINUTE

    def wait_for_backfill(self, began, patience=25):
        until = int(self.askable(began) * 1e6)
        deadline = time.time() + patience
        while time.time() < deadline:
            if not self.rows("SELECT 1 FROM gap WHERE filled > 0 AND start < ? AND end <= ? LIMIT 1", until, until):
                return
            time.sleep(0.5)

    def short_wait(self):
        """Up to 2 s, or until the minute that is about to end has closed and was written."""
        left = MINUTE - time.time() % MINUTE
        if not 3 < left < 12:
            return self.random.uniform(0, 2)
        return left + GRACE + LOSS + SLACK + 0.3

    def run(self):
        self.start_venue()
        alive = None
        began = time.time()
        number = 0
        try:
            # In the short form it goes on until a minute has closed.
            while number < self.options.rounds or self.options.short and self.closed_minutes == 0:
                gateway, started, ready = self.start_gateway(number)
                if alive is not None:
                    self.after_start(number, alive, started)
                if self.options.short:
                    # In the first run, the observation of every market must be written.
                    wait = self.short_wait() + (LOSS + SLACK if number == 0 else 0)
                else:
                    # Some rounds are long enough for minutes to close in them.
                    is_long = number == 1 and self.options.long > 0 or self.random.random() < self.options.long
                    # A minute of a whole run, with what it takes to get ready, to close and to be written.
                    wait = self.random.uniform(66, 130) if is_long else self.random.uniform(0, 5)
                time.sleep(wait)
                gateway.send_signal(signal.SIGKILL)
                killed = time.time()
                gateway.wait()
                alive = self.after_kill(number, ready, killed)
                if number % 10 == 9:
                    print(f"{number + 1} kills, {self.closed_minutes} closed minutes, {len(self.failures)} failures",
                          flush=True)
                number += 1
            if self.options.long > 0 and self.closed_minutes == 0:
                self.fail("no minute closed in any run, so that nothing could be lost")
            if self.options.short and time.time() % MINUTE < SETTLING + 1:
                # The gateway must request the minute that has just ended at once.
                time.sleep(SETTLING + 1 - time.time() % MINUTE)
            gateway, started, _ = self.start_gateway(number)
            self.in_the_end(began, started)
            gateway.kill()
            gateway.wait()
        finally:
            self.venue.kill()
            self.venue.wait()
        if self.unproved > self.joined:
            self.fail(f"{self.unproved} gaps are not marked and their trades not shown, only {self.joined} are")
        if self.trades_seen == 0:
            self.fail("no start showed a trade from before it")
        times = sorted(self.ready_times)
        print(f"{number} kills, {self.closed_minutes} closed minutes of {len(MARKETS)} markets; ready after "
              f"{times[len(times) // 2]:.2f} s in the middle, {times[-1]:.2f} s at most; {self.joined} times the trades of both runs joined; {len(self.failures)} failures")
        return 1 if self.failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=int, default=50, help="messages per second and market")
    parser.add_argument("--long", type=float, default=0.05, help="part of the rounds that last for a minute")
    parser.add_argument("--short", action="store_true", help="a minute and a half at most, for every change")
    parser.add_argument("--ready-limit", type=float, default=10)
    parser.add_argument("--binary", default=".build/debug/tidegate")
    sys.exit(Trial(parser.parse_args()).run())


if __name__ == "__main__":
    main()
