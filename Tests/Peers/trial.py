"""Lets another client follow the simulated exchanges that a gateway follows, and compares the two, market by market."""

import asyncio
import json
import os
import sys
import time
import traceback

from comparison import COUNTED, Due, Seen, best_of, channels, judge
from corruption import proof
from gateway_view import GatewayView, Published

# How long both are followed, s, and the most time beyond that until enough has arrived.
SECONDS = float(os.environ.get("PEER_SECONDS", "4")) * 2
PATIENCE = 60
# How much later one may show what the other has shown, s.
SETTLING = 15
# The fewest of each kind that a client must have shown. Tickers come once a second.
LEAST = {"book": 12, "trades": 12, "quote": 12, "ticker": 4}
# The folder for both records of a market that differ.
KEEP = os.environ.get("PEER_FAILURES", ".build/peers-failures")


class Market:
    """One market that both follow.

    - least: fewer than everywhere else, by channel.
    - joins: how often a client may try that can join a snapshot and its updates wrongly by chance.
    """

    def __init__(self, key, rules, least=None, joins=1, notes=()):
        self.key, self.rules, self.joins, self.notes = key, rules, joins, list(notes)
        self.least = LEAST | (least or {})
        self.seen = Seen()

    def shown(self):
        quotes = best_of(self.seen.books) if self.rules.quotes_by_book else self.seen.quotes
        return {"book": self.seen.books, "trades": self.seen.trades, "quote": quotes, "ticker": self.seen.tickers}

    def missing(self):
        """The channels with too few messages."""
        shown = self.shown()
        return [channel for channel in channels(self.rules) if len(shown[channel]) < self.needed(channel)]

    def needed(self, channel):
        if channel == "ticker" and self.rules.tickers == COUNTED:
            return 0
        return self.least[channel]

    def compare(self, messages, due):
        """Counts of what both have shown by channel, where the comparison starts, and what is wrong."""
        counts, starts, problems = {}, {}, []
        published = Published(list(enumerate(messages)), self.rules.levels)
        for channel in channels(self.rules):
            counts[channel], starts[channel], wrong = judge(channel, published, self.seen, self.rules, due)
            problems += wrong
            if channel == "trades":
                due.first_trade = starts[channel]
        return counts, starts, problems

    def prove(self, messages, starts, due):
        """How many faults were inserted, and which were not detected."""
        count, unnoticed = 0, []
        for channel in channels(self.rules):
            tried, missed = proof(channel, messages, starts[channel], self.seen, self.rules, due)
            count += tried
            unnoticed += missed
        return count, unnoticed

    def summary(self, counts):
        names = {"book": "books", "trades": "trades", "quote": "quotes", "ticker": "tickers"}
        words = [f"{count} {names[channel]}" for channel, count in counts.items()]
        if self.rules.tickers:
            words[-1] += f" ({' '.join(self.rules.fields)}; {self.rules.tickers})" if self.rules.fields else f" ({self.rules.tickers})"
        return ", ".join(words)

    def keep(self, name, messages, problems):
        """Writes what both have shown to a file; returns its path."""
        os.makedirs(KEEP, exist_ok=True)
        path = os.path.join(KEEP, f"{name}.{self.key.replace(':', '.')}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"problems": problems, "gateway": messages, "other": self.shown()}, file, default=str)
        return path


class Client:
    """Another client at some markets of a venue: subclassed for each library.

    `prepare` does what takes the machine's time, lists of markets above all; `start` begins to follow and returns; what comes goes into
    `market.seen`. `complaints` are what the library itself finds wrong.
    """

    def __init__(self, markets):
        self.markets, self.complaints = markets, []

    async def prepare(self, instruments):
        """instruments: the gateway's, by symbol."""

    async def start(self):
        raise NotImplementedError

    async def stop(self):
        raise NotImplementedError

    def listen(self):
        """Adds the library's other complaints to `complaints`."""

    def name(self):
        return ", ".join(market.key for market in self.markets)

    async def attempt(self, what, work):
        try:
            await work
        except Exception as error:
            self.complaints.append(f"{self.name()} did not {what}: {''.join(traceback.format_exception_only(error)).strip()}")


async def follow(view, following, clients):
    """Lets clients follow for a while: what is compared of each market, and what the libraries complain of."""
    instruments = view.instruments()
    # All are ready before the first connects: venues close connections that request nothing.
    await asyncio.gather(*(client.attempt("get ready", client.prepare(instruments)) for client in clients))
    await asyncio.gather(*(client.attempt("start", client.start()) for client in clients if not client.complaints))
    start = time.monotonic()
    while not following.done():
        passed = time.monotonic() - start
        waiting = [market for client in clients if not client.complaints for market in client.markets if market.missing()]
        if passed > PATIENCE or (passed > SECONDS and not waiting):
            break
        await asyncio.sleep(0.1)
    passed = time.monotonic() - start
    for client in clients:
        for market in client.markets:
            if lacking := market.missing():
                shown = market.shown()
                come = ", ".join(f"{len(shown[channel])} of {market.needed(channel)} {channel}" for channel in lacking)
                client.complaints.append(f"{market.key}: too little came in {passed:.0f} s: {come}")
    # What was shown until now must be shown by the other, too; a busy machine takes its time.
    dues = {market: Due(len(view.messages[market.key]), market.seen) for client in clients for market in client.markets}
    is_broken = {market for client in clients if client.complaints for market in client.markets}
    results, deadline = {}, time.monotonic() + SETTLING
    while len(results) < len(dues):
        await asyncio.sleep(0.25)
        is_late = time.monotonic() > deadline or following.done()
        for market, due in dues.items():
            if market in results:
                continue
            messages = list(view.messages[market.key])
            counts, starts, wrong = market.compare(messages, due)
            if not wrong or is_late or market in is_broken:
                results[market] = (messages, due, counts, starts, wrong)
    for client in clients:
        client.listen()
    problems = [complaint for client in clients for complaint in client.complaints]
    for client in clients:
        client.complaints = []
    await asyncio.gather(*(client.attempt("stop", client.stop()) for client in clients))
    return results, problems + [complaint for client in clients for complaint in client.complaints]


async def run(name, url, make, last_words=()):
    """The trial; exits with 0 if nothing is wrong.

    - make: gives the clients, all of them, or those that follow the markets of the given keys.
    """
    every = make(None)
    view = GatewayView(url, [market.key for client in every for market in client.markets])
    following = asyncio.ensure_future(view.run())
    failures = []
    try:
        await view.wait_until_live(following)
        results, failures = await follow(view, following, every)
        attempt = 1
        while not following.done():
            again = {m.key for m, result in results.items() if result[4] and m.joins > attempt}
            if not again:
                break
            attempt += 1
            print(f"  once more, where the library may have joined a snapshot and updates wrongly: {', '.join(sorted(again))}")
            for market in list(results):
                if market.key in again:
                    for problem in results.pop(market)[4][:2]:
                        print(f"    {problem}")
            more, found = await follow(view, following, make(again))
            results.update(more)
            failures += found
        for market in sorted(results, key=lambda market: market.key):
            failures += finish(name, market, *results[market])
    except Exception as error:
        failures.append(f"{error!r}")
    if following.done() and not following.cancelled() and following.exception():
        failures.append(f"the gateway's client: {following.exception()!r}")
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    for line in (*last_words, *failures):
        print(f"  {line}")
    sys.stdout.flush()
    # Libraries leave threads and tasks behind, which would keep the process alive.
    os._exit(1 if failures else 0)


def finish(name, market, messages, due, counts, starts, wrong):
    """Prints what was compared; returns what is wrong, the proof that it would have been noticed included."""
    if wrong:
        print(f"  {market.key}: {market.summary(counts)}: WRONG")
        path = market.keep(name, messages, wrong)
        shown = ", ".join(f"{count} {what}" for what, count in market.seen.counts().items())
        return [f"{market.key}: {problem}" for problem in wrong] + [
            f"{market.key}: the gateway sent {len(messages)} messages, the other has shown {shown}; all of it is in {path}"
        ]
    tried, unnoticed = market.prove(messages, starts, due)
    notes = f" [{'; '.join(market.notes)}]" if market.notes else ""
    print(f"  {market.key}: {market.summary(counts)}; {tried - len(unnoticed)} of {tried} faults noticed{notes}")
    return [f"{market.key}: {problem}" for problem in unnoticed]
