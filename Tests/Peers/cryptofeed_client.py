"""cryptofeed's own feeds follow the simulated exchanges that a gateway follows, and must see its books and trades.

usage: cryptofeed_client.py GATEWAY VENUE=HTTP-URL…

Every endpoint of a feed is pointed at the simulated exchange, its list of markets included. cryptofeed tests the order of messages
itself, and complains in its log: what stands there fails the check. Venues that it does not know, or follows with a key only,
are left out, and said so.
"""

import asyncio
import logging
import os
import sys
import time
from decimal import Decimal
from urllib.parse import urlsplit

from cryptofeed import connection
from cryptofeed.defines import L2_BOOK, TRADES
from cryptofeed.exchanges import EXCHANGE_MAP

from gateway_view import LEVELS, GatewayView, top

SECONDS = float(os.environ.get("PEER_SECONDS", "4")) * 2
PATIENCE = 60
# The fewest books that a client must have shown.
LEAST = 20


# Its sockets take secure addresses only; the simulated exchanges are in the clear.
connect = connection.connect
connection.connect = lambda address, **options: connect(address.replace("wss://", "ws://", 1), **options)


class Source:
    """A feed of cryptofeed's at some markets.

    - route: stands before the paths of its sockets. lists: of its lists of markets those with one of these words, not all.
    - channels: of aggregated trades the gateway's trades are not the like.
    - sizes: what a size of a market is in base units, if not one.
    """

    def __init__(self, feed, *symbols, route="", lists=None, channels=(L2_BOOK, TRADES), sizes=None):
        self.feed, self.symbols, self.route, self.lists = feed, symbols, route, lists
        self.channels, self.sizes = channels, sizes or {}


SOURCES = {
    "binance": [
        Source("BINANCE", "BTC-USDT", channels=(L2_BOOK,)),
        Source("BINANCE_FUTURES", "BTC-USDT-PERP", route="/public", channels=(L2_BOOK,)),
    ],
    "bitfinex": [Source("BITFINEX", "BTC-USD")],
    "bitstamp": [Source("BITSTAMP", "BTC-USD")],
    "bybit": [Source("BYBIT", "BTC-USDT", "BTC-USDT-PERP")],
    "gate": [Source("GATEIO", "BTC-USDT")],
    "gemini": [Source("GEMINI", "BTC-USD")],
    "okx": [Source("OKX", "BTC-USDT", "BTC-USDT-PERP", lists=("SPOT", "SWAP", "FUTURES"), sizes={"BTC-USDT-PERP": Decimal("0.01")})],
}


class Follower(logging.Handler):
    """One feed, and what it saw of each of its markets."""

    def __init__(self, venue, source, base, view):
        super().__init__(logging.WARNING)
        self.venue, self.source, self.base, self.view = venue, source, base, view
        self.books = {symbol: [] for symbol in source.symbols}
        self.trades = {symbol: set() for symbol in source.symbols}
        self.complaints = []
        logging.getLogger("feedhandler").addHandler(self)

    def emit(self, record):
        if self.source.feed in record.getMessage():
            self.complaints.append(f"{self.source.feed}: {record.getMessage()}" + (f" ({record.exc_info[1]!r})" if record.exc_info else ""))

    def make(self):
        """Reads the list of markets, which blocks."""
        kind, place = EXCHANGE_MAP[self.source.feed], urlsplit(self.base).netloc
        for endpoint in kind.websocket_endpoints:
            endpoint.address = f"wss://{place}{self.source.route}{urlsplit(endpoint.address).path}"
        for endpoint in kind.rest_endpoints:
            endpoint.address = f"http://{place}"
            if self.source.lists:
                endpoint.routes.instruments = [
                    path for path in endpoint.routes.instruments if any(path.endswith(word) for word in self.source.lists)
                ]
        return kind(
            symbols=list(self.source.symbols), channels=list(self.source.channels),
            callbacks={L2_BOOK: self.take_book, TRADES: self.take_trade}, retries=0,
        )  # fmt: skip

    async def start(self):
        self.running = await asyncio.to_thread(self.make)
        self.running.start(asyncio.get_running_loop())

    async def take_book(self, book, _):
        sides = [[side.index(i) for i in range(min(LEVELS, len(side)))] for side in (book.book.bids, book.book.asks)]
        state, books = top(*sides, LEVELS, self.source.sizes.get(book.symbol, 1)), self.books[book.symbol]
        if all(len(side) == LEVELS for side in state) and (not books or books[-1] != state):
            books.append(state)

    async def take_trade(self, trade, _):
        size = trade.amount * self.source.sizes.get(trade.symbol, 1)
        self.trades[trade.symbol].add((trade.id, trade.price, size, trade.side))

    def has_enough(self):
        return all(len(books) > LEAST for books in self.books.values()) and (
            TRADES not in self.source.channels or all(self.trades.values())
        )

    def problems(self):
        """Prints what was seen; returns what is wrong."""
        found = list(self.complaints)
        for symbol in self.source.symbols:
            key = f"{self.venue}:{symbol}"
            counts, wrong = self.view.judge(key, self.books[symbol], self.trades[symbol])
            parts = [f"{counts['books']} books"] + ([f"{counts['trades']} trades"] if TRADES in self.source.channels else [])
            print(f"  {key} {', '.join(parts)}")
            found += [f"{key}: {problem}" for problem in wrong]
        if not self.has_enough():
            found.append(f"{self.source.feed}: too little came")
        return found


async def main():
    gateway_url, *venues = sys.argv[1:]
    bases = dict(venue.split("=", 1) for venue in venues)
    pairs = [(venue, source) for venue in bases for source in SOURCES.get(venue, [])]
    view = GatewayView(gateway_url, {f"{venue}:{symbol}": LEVELS for venue, source in pairs for symbol in source.symbols})
    followers = [Follower(venue, source, bases[venue], view) for venue, source in pairs]
    following = asyncio.ensure_future(view.run())
    await view.wait_until_live(following)
    started = await asyncio.gather(*(follower.start() for follower in followers), return_exceptions=True)
    failures = [f"{f.source.feed}: {problem!r}" for f, problem in zip(followers, started) if problem]
    start = time.monotonic()
    while not following.done() and not failures and (
        time.monotonic() - start < SECONDS
        or (time.monotonic() - start < PATIENCE and not all(f.has_enough() or f.complaints for f in followers))
    ):  # fmt: skip
        await asyncio.sleep(0.1)
    # What a feed saw last the gateway may publish a moment later.
    await asyncio.sleep(0.5)
    if following.done() and following.exception():
        failures.append(f"the gateway: {following.exception()!r}")
    for follower in followers:
        failures += follower.problems()
        logging.getLogger("feedhandler").removeHandler(follower)
        follower.running.stop()
        await follower.running.shutdown()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    print(f"  not followed without a key, or not known: {', '.join(venue for venue in bases if venue not in SOURCES)}")
    for failure in failures:
        print(f"  {failure}")
    sys.exit(1 if failures else 0)


asyncio.run(main())
