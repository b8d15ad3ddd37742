"""Hyperliquid's own SDK watches the simulated Hyperliquid that a gateway follows, and must see its books and trades.

usage: hyperliquid_client.py GATEWAY VENUE=HTTP-URL…

It reads lists, prices and a book by POST, and books, quotes, trades and 24 h figures over its socket, on a thread of its own.
"""

import asyncio
import os
import sys
import time
from decimal import Decimal

from hyperliquid.info import Info

from gateway_view import GatewayView, top

SECONDS = float(os.environ.get("PEER_SECONDS", "4")) * 2
PATIENCE = 60
COIN, SYMBOL = "BTC", "hyperliquid:BTC-USDC-PERP"
# Levels a side of the books that come twice a second.
LEVELS = 5
# The fewest messages of each kind.
LEAST = {"l2Book": 8, "bbo": 8, "trades": 1, "activeAssetCtx": 3}


class Watcher:
    """The SDK at one market."""

    def __init__(self, base):
        self.info = Info(base)
        self.counts = dict.fromkeys(LEAST, 0)
        self.books, self.trades, self.crossed = [], set(), 0
        for kind in LEAST:
            more = {"fast": True} if kind == "l2Book" else {}
            self.info.subscribe({"type": kind, "coin": COIN, **more}, self.take)

    def take(self, message):
        kind, data = message["channel"], message["data"]
        if kind == "l2Book":
            state = self.state(data)
            if not self.books or self.books[-1] != state:
                self.books.append(state)
        elif kind == "trades":
            sides = {"B": "buy", "A": "sell"}
            self.trades.update((str(t["tid"]), Decimal(t["px"]), Decimal(t["sz"]), sides[t["side"]]) for t in data)
        elif kind == "bbo":
            bid, ask = data["bbo"]
            self.crossed += 1 if bid and ask and Decimal(bid["px"]) >= Decimal(ask["px"]) else 0
        self.counts[kind] += 1

    @staticmethod
    def state(book):
        return top(*([(level["px"], level["sz"]) for level in side] for side in book["levels"]), LEVELS)

    def has_enough(self):
        return all(self.counts[kind] >= least for kind, least in LEAST.items())

    def problems(self, instrument):
        """What is wrong with what it asked for once, and with what came."""
        found = [] if self.has_enough() else [f"too little came: {self.counts}"]
        if self.crossed:
            found.append(f"{self.crossed} quotes are crossed")
        asset = self.info.name_to_asset(COIN)
        increment = Decimal(1).scaleb(-self.info.asset_to_sz_decimals[asset])
        if Decimal(instrument["size_increment"]) != increment:
            found.append(f"sizes are in {increment} for the SDK, in {instrument['size_increment']} at the gateway")
        book, middle = self.info.l2_snapshot(COIN), Decimal(self.info.all_mids()[COIN])
        if [len(side) for side in book["levels"]] != [20, 20]:
            found.append("a book that was asked for does not have 20 levels a side")
        if abs(Decimal(book["levels"][0][0]["px"]) / middle - 1) > Decimal("0.01"):
            found.append(f"the middle is {middle}, the best bid {book['levels'][0][0]['px']}")
        return found


async def main():
    base = dict(venue.split("=", 1) for venue in sys.argv[2:])["hyperliquid"]
    view = GatewayView(sys.argv[1], {SYMBOL: LEVELS})
    following = asyncio.ensure_future(view.run())
    await view.wait_until_live(following)
    watcher = await asyncio.to_thread(Watcher, base)
    start = time.monotonic()
    while not following.done() and (
        time.monotonic() - start < SECONDS or (time.monotonic() - start < PATIENCE and not watcher.has_enough())
    ):  # fmt: skip
        await asyncio.sleep(0.1)
    # What the SDK saw last the gateway may publish a moment later.
    await asyncio.sleep(0.5)
    books, trades = list(watcher.books), set(watcher.trades)
    instrument = view.instruments()[SYMBOL]
    failures = await asyncio.to_thread(watcher.problems, instrument)
    if following.done() and following.exception():
        failures.append(f"the gateway: {following.exception()!r}")
    counts, wrong = view.judge(SYMBOL, books, trades)
    await asyncio.to_thread(watcher.info.disconnect_websocket)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    seen = watcher.counts
    print(f"  {SYMBOL} {counts['books']} books, {counts['trades']} trades, {seen['bbo']} quotes, {seen['activeAssetCtx']} tickers")
    for failure in failures + wrong:
        print(f"  {failure}")
    sys.exit(1 if failures + wrong else 0)


asyncio.run(main())
