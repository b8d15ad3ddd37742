"""cryptofeed's own feeds follow the simulated exchanges that a gateway follows, and must see its books and trades.

usage: cryptofeed_client.py GATEWAY VENUE=HTTP-URL…

Every endpoint of a feed is pointed at the simulated exchange, its list of markets included. comparison.py says how the two are compared;
quotes are those of cryptofeed's book where the gateway takes them from the book, too. cryptofeed checks the order of
messages itself: a complaint in its log fails the check. Venues that it does not know, or follows only with a key, are
left out; the output names them.
"""

import asyncio
import logging
import sys
from decimal import Decimal
from urllib.parse import urlsplit

from cryptofeed import connection
from cryptofeed.defines import L2_BOOK, TRADES
from cryptofeed.exchanges import EXCHANGE_MAP

import trial
from comparison import EACH, LEAD, Rules
from gateway_view import plain, top

# Levels a side that are compared.
LEVELS = 50


# Its sockets accept only secure addresses; the simulated exchanges do not use TLS.
connect = connection.connect
connection.connect = lambda address, **options: connect(address.replace("wss://", "ws://", 1), **options)


class Source:
    """A feed of cryptofeed's at some markets.

    - route: stands before the paths of its sockets. lists: of its lists of markets those with one of these words, not all.
    - channels: of aggregated trades the gateway's trades are not the like.
    - sizes: what a size of a market is in base units, if not one.
    - levels: fewer than everywhere else. quotes: the gateway takes them from the book.
    - joins: how often it may try where it can join a snapshot and its updates wrongly; lead: how many books it may show until it has.
    - least: more than everywhere else of what must come.
    """

    def __init__(
        self, feed, *symbols, route="", lists=None, channels=(L2_BOOK, TRADES), sizes=None, levels=LEVELS, quotes=None, joins=1,
        lead=LEAD, least=None,
    ):  # fmt: skip
        self.feed, self.symbols, self.route, self.lists = feed, symbols, route, lists
        self.channels, self.sizes, self.joins, self.least = channels, sizes or {}, joins, least
        self.rules = Rules(levels, quotes=quotes, trades=TRADES in channels, quotes_by_book=True, lead=lead)


SOURCES = {
    "binance": [
        Source("BINANCE", "BTC-USDT", channels=(L2_BOOK,)),
        Source("BINANCE_FUTURES", "BTC-USDT-PERP", route="/public", channels=(L2_BOOK,)),
    ],
    "bitfinex": [Source("BITFINEX", "BTC-USD", quotes=EACH)],
    # Of the updates that came before its snapshot cryptofeed leaves out those of earlier seconds only: its book goes
    # back to the beginning of the second, and comes forward again.
    "bitstamp": [Source("BITSTAMP", "BTC-USD", quotes=EACH, lead=12, least={"book": 26}, joins=3)],
    "bybit": [Source("BYBIT", "BTC-USDT", "BTC-USDT-PERP")],
    # cryptofeed begins with 100 levels, and never receives those below them.
    "gate": [Source("GATEIO", "BTC-USDT", levels=20)],
    "gemini": [Source("GEMINI", "BTC-USD")],
    "okx": [Source("OKX", "BTC-USDT", "BTC-USDT-PERP", lists=("SPOT", "SWAP", "FUTURES"), sizes={"BTC-USDT-PERP": Decimal("0.01")})],
}


class Follower(trial.Client, logging.Handler):
    """One feed, and what it has shown of each of its markets."""

    def __init__(self, venue, source, base):
        logging.Handler.__init__(self, logging.WARNING)
        notes = ["quotes by cryptofeed's book"] if source.rules.quotes else []
        trial.Client.__init__(self, [trial.Market(f"{venue}:{s}", source.rules, source.least, source.joins, notes) for s in source.symbols])
        self.seen = {symbol: market.seen for symbol, market in zip(source.symbols, self.markets)}
        self.source, self.base, self.running = source, base, None
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

    async def prepare(self, _):
        self.running = await asyncio.to_thread(self.make)

    async def start(self):
        self.running.start(asyncio.get_running_loop())

    async def stop(self):
        logging.getLogger("feedhandler").removeHandler(self)
        if self.running:
            self.running.stop()
            await self.running.shutdown()

    async def take_book(self, book, _):
        levels = self.source.rules.levels
        if min(len(book.book.bids), len(book.book.asks)) < levels:
            return
        sides = [[side.index(i) for i in range(levels)] for side in (book.book.bids, book.book.asks)]
        self.seen[book.symbol].add_book(top(*sides, levels, self.source.sizes.get(book.symbol, 1)))

    async def take_trade(self, trade, _):
        size = plain(trade.amount * self.source.sizes.get(trade.symbol, 1))
        self.seen[trade.symbol].add_trade(trade.id, plain(trade.price), size, trade.side, int(trade.timestamp * 1000 + 0.0005))


def main():
    gateway, *urls = sys.argv[1:]
    bases = dict(url.split("=", 1) for url in urls)

    def make(keys):
        return [
            Follower(venue, source, base)
            for venue, base in bases.items()
            for source in SOURCES.get(venue, [])
            if keys is None or any(f"{venue}:{symbol}" in keys for symbol in source.symbols)
        ]

    left_out = ", ".join(venue for venue in bases if venue not in SOURCES)
    asyncio.run(trial.run("cryptofeed", gateway, make, [f"not followed without a key, or not known: {left_out}"]))


main()
