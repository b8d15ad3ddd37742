#!/usr/bin/env python3
"""Upgrades a gateway many times under load (SIGUSR2), and checks what its clients see.

    Tests/Peers/upgrade.py [--upgrades 10] [--clients 2000] [--window 3] [--seed N] [--short]
                           [--binary .build/debug/tidegate]

The gateway's program is a symbolic link, which each upgrade resolves anew. The clients follow trades, quotes and books
of a simulated exchange that numbers its trades without gaps. Other clients connect and leave all the time. Over all of
its connections each client checks that
- every trade arrives once and in order, and no stream of trades begins anew,
- an update follows the message whose `seq` is its `prev`,
- no connection, no handshake and no session is refused,
- it is told when to go, is closed with 4201 at that moment and not before, and is served by the next process at once,
- no feed whose data has stopped is called live.

Each replaced process ends by itself with 0, and the service manager learns which process is the main one. An impossible
upgrade (a failing program, a wrong configuration, an upgrade during another) does not affect the clients.

With --short it takes half a minute. Exits with 1 if one of these checks fails.
"""

import argparse
import asyncio
import ctypes
import json
import os
import resource
import signal
import sys
import time

import resume
from kill import fetch
from processes import tail

# How late the gateway may be on a busy machine.
SLACK = 1.0
PROBERS = 2


class Client(resume.Client):
    """A client that counts each end of its connection."""

    def __init__(self, number, port, ledger, world):
        super().__init__(number, port, ledger, world)
        market = resume.MARKETS[number % len(resume.MARKETS)]
        interval = 0 if number % 10 == 0 else 1000
        self.wanted = [("trades", f"kraken:{market}", interval), ("quote", f"kraken:{market}", 1000)]
        if number % 4 == 0:
            self.wanted.append(("book", f"kraken:{market}", 1000))
        # Of how many messages a copy is kept, to be compared with what others were told.
        self.is_noted = number % 20 == 0
        self.connections = 0
        self.told = None
        self.due = None

    async def connection(self):
        peer = resume.Socket()
        try:
            await asyncio.wait_for(peer.open(self.port()), 30)
        except (ConnectionError, OSError, asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
            if not self.world.is_over:
                self.ledger.refused += 1
                self.ledger.fail(f"{self.name} was refused: {error!r}")
                await asyncio.sleep(0.5)
            return
        peer.code = None
        self.told = None
        try:
            self.begin(peer)
            while (message := await asyncio.wait_for(peer.receive(), 60)) is not None:
                self.watch(message)
                self.take(message, peer)
                if self.world.is_over:
                    return
        except (ConnectionError, OSError, asyncio.IncompleteReadError) as error:
            if not self.world.is_over:
                self.ledger.fail(f"{self.name} was cut off: {error!r}")
            return
        finally:
            peer.close()
        self.ended(peer.code)

    def watch(self, message):
        kind, now = message["type"], time.monotonic()
        if kind == "welcome":
            self.connections += 1
            if self.due is not None:
                late = now - self.due
                self.ledger.slowest = max(self.ledger.slowest, late)
                if late > SLACK + self.world.lag():
                    self.ledger.fail(f"{self.name} was served {late:.2f} s after it was to come")
                self.due = None
        elif kind == "notice" and message.get("code") == "drain":
            if self.told:
                self.ledger.fail(f"{self.name} was told twice")
            # When it was written is known by the end of the drain, which does not depend on when it is read here.
            ago = time.time() - (message["deadline"] / 1e6 - self.world.options.window)
            self.told = (now - ago, message["reconnect_in_ms"] / 1000)
        elif kind == "heartbeat":
            states = {name: feed["state"] for name, feed in message["feeds"].items()}
            if self.told and "live" in states.values():
                self.ledger.fail(f"{self.name} hears that what stands still is live: {states}")

    def ended(self, code):
        now = time.monotonic()
        if self.world.is_over:
            return
        if code != 4201 or not self.told:
            return self.ledger.fail(f"{self.name} was closed with {code}, told {self.told}")
        at, wait = self.told
        self.due = at + wait
        if now < self.due - 0.01 or now > self.due + SLACK + self.world.lag():
            self.ledger.fail(f"{self.name} was told {wait} s and closed after {now - at:.2f} s")
        self.ledger.closed += 1

    def open(self, message, peer):
        if message["type"] == "welcome" and self.connections > 1:
            for item in message.get("ok", []):
                if item["channel"] == "trades" and not item.get("recovered"):
                    self.ledger.fail(f"{self.name}: trades of {item['symbol']} begin anew after an upgrade")
            if len(message.get("ok", [])) != len(self.positions):
                self.ledger.fail(f"{self.name}: {len(self.positions)} streams, and back are {message.get('ok')}")
        super().open(message, peer)

    def data(self, message, is_snapshot):
        if self.is_noted or is_snapshot:
            return super().data(message, is_snapshot)
        key = self.keys[message["stream"]]
        stream, epoch, seq = self.positions[key]
        self.positions[key] = (stream, epoch, message["seq"])
        if message["prev"] != seq:
            self.ledger.fail(f"{self.name}: {key}: prev {message['prev']} after {seq}")
        if key[0] == "trades":
            self.trades(key, message, False)


class Trial(resume.Trial):
    def __init__(self, options):
        options.keep_ports = True
        super().__init__(options)
        self.ledger.closed = self.ledger.probes = 0
        self.lags = []
        self.most_lag = 0
        self.link = os.path.join(self.work, "tidegate")
        self.place(os.path.abspath(options.binary))
        self.configuration = os.path.join(self.work, "tidegate.yaml")
        self.configure()
        os.mkdir(os.path.join(self.work, "data"))

    def place(self, program):
        """Replaces the gateway's program by another one, as a package does."""
        os.symlink(program, self.link + ".new")
        os.replace(self.link + ".new", self.link)

    def configure(self, more=""):
        limits = {
            "clients": 20_000, "connections-per-address": 20_000, "connections-per-second-per-address": 100_000,
            "handshakes-per-second": 100_000, "handshakes-per-second-per-address": 100_000,
        }
        with open(self.configuration, "w", encoding="ascii") as file:
            file.write(
                f"listen: 127.0.0.1:{self.port}\ninternal-listen: 127.0.0.1:{self.internal}\nloops: 2\n"
                f"feeds:\n  kraken:\n    symbols: [{', '.join(resume.MARKETS)}]\n"
                f"    endpoint: ws://127.0.0.1:{self.venue_port}\n"
                f"upgrade:\n  drain-seconds: {self.options.window}\n  warm-seconds: 20\nlimits:\n"
                + "".join(f"  {key}: {value}\n" for key, value in limits.items()) + more)

    def start(self):
        log = open(os.path.join(self.work, "gateway.log"), "w", encoding="utf-8")
        return self.manager.spawn([self.link, "serve", "--config", self.configuration], self.environment, log)

    def logged(self, text):
        with open(os.path.join(self.work, "gateway.log"), encoding="utf-8", errors="replace") as log:
            return log.read().count(text)

    def metric(self, name):
        for line in (fetch(self.internal, "/metrics") or "").splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        return None

    def resumed(self, client, message):
        self.ledger.sessions += message["resumed"]
        if not message["resumed"]:
            self.ledger.fail(f"{client.name}: its session is gone")
        for item in message.get("failed", []):
            self.ledger.fail(f"{client.name}: {item}")

    def gap(self, client, key, last, numbers):
        self.ledger.fail(f"{client.name}: {key} begins anew after {last}, with {numbers[:1]}")

    async def until(self, what, body, seconds=90):
        end = time.monotonic() + seconds
        while not body():
            if time.monotonic() > end:
                raise SystemExit(f"waited in vain for {what}; see {self.work}:{tail(self.newest_log)}")
            await asyncio.sleep(0.02)

    async def watch_itself(self):
        """Measures how late this process does its work, because a busy reader is not the gateway's fault."""
        while not self.is_over:
            began = time.monotonic()
            await asyncio.sleep(0.02)
            self.lags.append((began, time.monotonic() - began - 0.02))
            self.most_lag = max(self.most_lag, self.lags[-1][1])
            del self.lags[:-1_000]

    def lag(self):
        """How late a message may have been read here in the last seconds, because each is read and answered after
        others."""
        now = time.monotonic()
        return 3 * max((lag for at, lag in self.lags if at > now - 10), default=0)

    async def probe(self):
        """Connects and leaves again, without end."""
        while not self.is_over:
            peer = resume.Socket()
            try:
                await asyncio.wait_for(peer.open(self.port), 30)
                peer.send({"op": "hello", "id": 1})
                while (message := await asyncio.wait_for(peer.receive(), 30)) and message["type"] != "welcome":
                    pass
                if message is None:
                    raise ConnectionError(f"closed with {peer.code}")
                self.ledger.probes += 1
                peer.close()
            except (ConnectionError, OSError, asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
                if not self.is_over:
                    self.ledger.refused += 1
                    self.ledger.fail(f"a newcomer was refused: {error!r}")
            await asyncio.sleep(0.02)

    async def upgrade(self, number, clients):
        old = self.manager.main
        began = time.monotonic()
        os.kill(old, signal.SIGUSR2)
        await self.until("the next process", lambda: self.manager.main != old)
        handed_over = time.monotonic() - began
        await self.until("every client", lambda: all(client.connections == number + 1 for client in clients))
        # It has no clients any more.
        for _ in range(500):
            process, status = os.waitpid(old, os.WNOHANG)
            if process:
                break
            await asyncio.sleep(0.02)
        else:
            self.ledger.fail(f"the process before upgrade {number} does not end")
            os.kill(old, signal.SIGKILL)
            _, status = os.waitpid(old, 0)
        if status != 0:
            self.ledger.fail(f"the process before upgrade {number} ended with status {status}")
        for client in clients:
            await asyncio.wait_for(client.is_there.wait(), 60)
        if (done := self.metric("tidegate_upgrades_total")) != number:
            self.ledger.fail(f"the gateway counts {done} upgrades after {number}")
        return handed_over

    async def fail_to_upgrade(self, number, clients, words):
        """Requests an impossible upgrade."""
        main, closed = self.manager.main, self.ledger.closed
        os.kill(main, signal.SIGUSR2)
        await self.until("the failure", lambda: self.metric("tidegate_upgrade_failures_total") == number)
        await asyncio.sleep(1.5)
        if self.manager.main != main or self.ledger.closed != closed or not all(c.is_there.is_set() for c in clients):
            self.ledger.fail(f"clients noticed an upgrade that failed: {words}")
        if not self.logged(words):
            self.ledger.fail(f"the log does not say {words!r}")

    async def faults(self, clients):
        with open(os.path.join(self.work, "broken"), "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nexit 3\n")
        os.chmod(file.name, 0o755)
        self.place(file.name)
        await self.fail_to_upgrade(1, clients, "it ended with status 3")
        self.place(os.path.abspath(self.options.binary))
        self.configure("no-such-setting: 1\n")
        await self.fail_to_upgrade(2, clients, "no-such-setting")
        self.configure()

    async def run(self):
        # Processes whose parent has ended are this one's, as they would be the service manager's
        # (PR_SET_CHILD_SUBREAPER).
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        await self.start_venue()
        self.manager.listen(asyncio.get_running_loop())
        gateway = self.start()
        self.manager.main = gateway.pid
        tasks, clients, times = [], [], []
        try:
            await self.ready(gateway)
            clients = [Client(number, lambda: self.port, self.ledger, self) for number in range(self.options.clients)]
            for client in clients:
                tasks.append(asyncio.create_task(client.run()))
                await asyncio.sleep(0.001)
            for client in clients:
                await asyncio.wait_for(client.is_there.wait(), 120)
            tasks += [asyncio.create_task(self.probe()) for _ in range(PROBERS)]
            tasks.append(asyncio.create_task(self.watch_itself()))
            await asyncio.sleep(2)
            await self.faults(clients)
            for number in range(1, self.options.upgrades + 1):
                await asyncio.sleep(self.random.uniform(0.2, 2))
                times.append(await self.upgrade(number, clients))
                print(f"upgrade {number}: handed over after {times[-1]:.1f} s, the slowest client came "
                      f"{self.ledger.slowest:.2f} s after its moment; {len(self.ledger.failures)} failures", flush=True)
            await asyncio.sleep(1.5)
        finally:
            self.is_over = True
            for process in {self.manager.main, gateway.pid}:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.venue.kill()
            self.venue.wait()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 70)
        ledger = self.ledger
        for task in tasks:
            if task.exception():
                ledger.fail(f"a client failed: {task.exception()!r}")
        count = self.options.upgrades * len(clients)
        if ledger.sessions != count or ledger.closed != count or ledger.trades < count or ledger.probes < count / 100:
            ledger.fail("too little happened to tell anything")
        print(f"{self.options.upgrades} upgrades under {len(clients)} clients: {ledger.trades} trades, each once; "
              f"{ledger.sessions} of {count} sessions and {ledger.recovered} streams of trades went on, {ledger.gaps} "
              f"gaps; {ledger.probes} newcomers, {ledger.refused} refused; handed over after at most {max(times):.1f} "
              f"s, the slowest client was served {ledger.slowest:.2f} s after its moment (this reader was late by "
              f"{self.most_lag:.2f} s); {len(ledger.failures)} failures; seed {self.seed}")
        if ledger.failures:
            with open(os.path.join(self.work, "failures"), "w", encoding="utf-8") as file:
                file.write("\n".join(ledger.failures))
            print(f"see {self.work}:{tail(self.newest_log)}")
        return 1 if ledger.failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upgrades", type=int, default=10)
    parser.add_argument("--clients", type=int, default=2000)
    parser.add_argument("--window", type=int, default=3, help="seconds over which clients are sent over")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=int, default=5, help="messages per second and market")
    parser.add_argument("--short", action="store_true", help="half a minute, for every change")
    parser.add_argument("--binary", default=".build/debug/tidegate")
    options = parser.parse_args()
    if options.short:
        options.upgrades, options.clients, options.window = 2, 60, 2
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 65_536)), hard))
    sys.exit(asyncio.run(Trial(options).run()))


if __name__ == "__main__":
    main()
