"""What a gateway publishes of markets that another client follows too, at the same simulated exchange: the two must see the same."""

import asyncio
import collections
import heapq
import json
import time
import urllib.request
from decimal import Decimal
from urllib.parse import urlsplit

import websockets

# Levels a side that are compared: the fewest that any venue's stream has in the other clients.
LEVELS = 10
# Seconds until every book must be live.
PATIENCE = 60
# States of a book that are kept.
KEPT = 20_000


def exact(number):
    """A number of another client's as it was printed."""
    return Decimal(str(number))


def top(bids, asks, levels, size=1):
    """The best levels of both sides as exact numbers, sizes in units of `size`."""
    side = lambda list: tuple((exact(l[0]).normalize(), (exact(l[1]) * size).normalize()) for l in list[:levels])
    return side(bids), side(asks)


class GatewayView:
    """What a gateway publishes of some symbols: every state of their books, and trades."""

    def __init__(self, url, levels):
        """levels: symbols, and how many levels of their books are to be kept."""
        self.url, self.symbols, self.levels = url, list(levels), levels
        self.books = {symbol: ({}, {}) for symbol in levels}
        self.seen = {symbol: collections.OrderedDict() for symbol in levels}
        self.trades = {symbol: set() for symbol in levels}
        self.live = set()

    async def run(self):
        async with websockets.connect(self.url, subprotocols=["tidegate.v1.json"], max_size=None) as socket:
            await socket.send(json.dumps({"op": "subscribe", "id": 1, "streams": [
                {"channel": "book", "symbols": self.symbols, "depth": "full", "interval_ms": 0},
                {"channel": "trades", "symbols": self.symbols},
            ]}))  # fmt: skip
            async for text in socket:
                self.take(json.loads(text))

    def take(self, message):
        if message["type"] == "subscribed" and message["failed"]:
            raise SystemExit(f"the gateway refused {message['failed']}")
        if message["type"] not in ("snapshot", "update"):
            return
        symbol, data = message["symbol"], message["data"]
        if message["channel"] == "trades":
            self.trades[symbol].update((t["id"], Decimal(t["price"]), Decimal(t["size"]), t["side"]) for t in data["trades"])
            return
        sides = self.books[symbol]
        if message["type"] == "snapshot":
            for side in sides:
                side.clear()
        for side, levels in zip(sides, (data.get("bids", ()), data.get("asks", ()))):
            for price, size in levels:
                if Decimal(size) == 0:
                    side.pop(Decimal(price), None)
                else:
                    side[Decimal(price)] = Decimal(size)
        levels, seen = self.levels[symbol], self.seen[symbol]
        seen[top(heapq.nlargest(levels, sides[0].items()), heapq.nsmallest(levels, sides[1].items()), levels)] = True
        self.live.add(symbol)
        while len(seen) > KEPT:
            seen.popitem(last=False)

    async def wait_until_live(self, following):
        """Until every book has come, `following` has ended, or it takes too long."""
        start = time.monotonic()
        while len(self.live) < len(self.symbols) and time.monotonic() - start < PATIENCE and not following.done():
            await asyncio.sleep(0.1)

    def instruments(self):
        """The gateway's instruments by their symbols."""
        with urllib.request.urlopen(f"http://{urlsplit(self.url).netloc}/v1/instruments") as answer:
            return {instrument["symbol"]: instrument for instrument in json.load(answer)["instruments"]}

    def judge(self, symbol, books, trades):
        """Counts of what another client saw and the gateway published, and what is wrong: books that the gateway never published,
        and trades that are not the same."""
        problems, seen = [], self.seen[symbol]
        # Messages that came together are published as one state, on a busy machine those of a second, and where the two read streams of
        # different pace, each has states between those of the other. A book that is wrong stays wrong.
        missing = sum(book not in seen for book in books)
        run = longest = 0
        for book in books:
            run = 0 if book in seen else run + 1
            longest = max(longest, run)
        if longest > 10 or missing > len(books) // 4:
            problems.append(f"{missing} of {len(books)} books are none of the {len(seen)} that the gateway published")
        ours = {trade[0]: trade for trade in self.trades[symbol]}
        common = [trade for trade in trades if trade[0] in ours]
        problems += [f"trade {trade} is {ours[trade[0]]} at the gateway" for trade in common if ours[trade[0]] != trade]
        if trades and not common:
            problems.append("no trade that both have seen")
        return {"books": f"{len(books) - missing}/{len(books)}", "trades": len(common)}, problems
