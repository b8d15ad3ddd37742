"""ccxt's own venue clients (`ccxt.pro`) watch the simulated exchanges that a gateway follows, and must see the same.

usage: ccxt_client.py GATEWAY VENUE=HTTP-URL…

All URLs of each venue's client are replaced by those of the simulated exchange. The client reads the list of markets
there; increments and contract sizes are compared. Then it watches. After each message that ccxt has handled, its book,
trades, quote and ticker are stored, so that no state is left out. comparison.py compares them with the gateway's. If a
venue's stream has no ticker, ccxt's comes from REST. If it has no quotes that ccxt can watch, they are the best levels
of ccxt's book. If ccxt requires a key for public data, it gets an invented one. The output has the differences between
markets.
"""

import asyncio
import sys
from decimal import Decimal
from urllib.parse import urlsplit

import ccxt.pro

import trial
from comparison import COUNTED, EACH, FEWER, NEAR, SOME, Rules
from gateway_view import plain, top

# Levels a side that are compared.
LEVELS = 50
# An invented key, if ccxt requires one.
KEY = {"apiKey": "none", "secret": "bm9uZQ==", "password": "none"}
# The gateway's words for the fields of ccxt's tickers.
FIELDS = {
    "last": "last", "bid": "bid", "ask": "ask", "open_24h": "open", "high_24h": "high", "low_24h": "low", "volume_24h": "baseVolume",
    "quote_volume_24h": "quoteVolume", "vwap_24h": "vwap", "change_24h": "change", "change_pct_24h": "percentage",
}  # fmt: skip


class Venue:
    """A market of a venue, and how ccxt is to watch it.

    - client: ccxt's class. symbol: the gateway's name. unified: ccxt's. types: the lists of markets that it is to read, not all.
    - limit, book: what its `watch_order_book` is called with.
    - levels, books, quotes, tickers, fields, whole_books, rare_tickers, last_by_trades: how they are compared (`comparison.Rules`). least: fewer than
      everywhere else.
    - has_quotes: the venue has a stream of quotes that ccxt can watch.
    - is_signed: ccxt signs its subscription to books.
    - maker_side: ccxt gives the side of trades as the venue prints it, which is the maker's there.
    - in_contracts: ccxt gives sizes in contracts.
    - increments: those that are the same for ccxt as for the gateway.
    - joins: ccxt leaves out what it kept for a snapshot where none of it bears exactly the snapshot's time; so often it may try.
    - words: ccxt's fields of tickers, where they differ from what they are called.
    """

    def __init__(
        self, client, symbol, unified, fields=(), *, types=None, options=None, limit=None, book=None, levels=LEVELS, least=None,
        books=EACH, quotes=EACH, tickers=EACH, whole_books=False, rare_tickers=False, has_quotes=False, is_signed=False, maker_side=False, in_contracts=False,
        increments=("price", "size"), joins=1, words=None, last_by_trades=False,
    ):  # fmt: skip
        self.client, self.symbol, self.unified = client, symbol, unified
        self.options = {"tradesLimit": 100_000, **(options or {}), **({"fetchMarkets": {"types": types}} if types else {})}
        self.limit, self.book, self.least = limit, book or {}, least or {}
        self.rules = Rules(
            levels, books, quotes, tickers, fields, whole_books=whole_books, rare_tickers=rare_tickers, quotes_by_book=not has_quotes,
            last_by_trades=last_by_trades,
        )
        self.has_quotes, self.is_signed, self.maker_side, self.in_contracts = has_quotes, is_signed, maker_side, in_contracts
        self.increments, self.joins, self.words = increments, joins, {**FIELDS, **(words or {})}


LAST, BEST, EXTREMES = ("last",), ("bid", "ask"), ("high_24h", "low_24h")
VOLUME, OPEN, CHANGE = ("volume_24h",), ("open_24h",), ("change_24h",)
VENUES = {
    "binance": [
        Venue(
            "binance", "BTC-USDT", "BTC/USDT", LAST + BEST + OPEN + EXTREMES + VOLUME + CHANGE, types=["spot"], has_quotes=True,
            options={"watchTickers": {"name": "ticker"}},
        ),
        Venue("binanceusdm", "BTC-USDT-PERP", "BTC/USDT:USDT", tickers=COUNTED, has_quotes=True),
    ],
    # Prices have five significant digits, and no increment.
    "bitfinex": [
        Venue(
            "bitfinex", "BTC-USD", "BTC/USD", LAST + BEST + EXTREMES + VOLUME + CHANGE, limit=100, increments=(), least={"ticker": 3}, rare_tickers=True,
        )
    ],
    # ccxt's quotes are the best of its book; the gateway reads a faster channel of their own.
    "bitget": [
        Venue("bitget", "BTC-USDT", "BTC/USDT", LAST + BEST + OPEN + EXTREMES + VOLUME, types=["spot"], quotes=SOME),
        Venue(
            "bitget", "BTC-USDT-PERP", "BTC/USDT:USDT", LAST + BEST + OPEN + EXTREMES + VOLUME, types=["swap"], quotes=SOME,
        ),
    ],
    "bitstamp": [Venue("bitstamp", "BTC-USD", "BTC/USD", tickers=COUNTED, joins=4)],
    "bybit": [
        Venue(
            "bybit", "BTC-USDT", "BTC/USDT", LAST + OPEN + EXTREMES + VOLUME + CHANGE, types=["spot"], limit=200, has_quotes=True,
        ),
        Venue(
            "bybit", "BTC-USDT-PERP", "BTC/USDT:USDT", LAST + BEST + VOLUME, types=["linear"], limit=200, has_quotes=True,
        ),
    ],
    # ccxt would read the channel that is for customers; the public one has the same messages.
    "coinbase": [
        Venue(
            "coinbaseexchange", "BTC-USD", "BTC/USD", LAST + BEST + OPEN + EXTREMES + VOLUME + CHANGE,
            book={"channels": ["level2_batch"]}, is_signed=True,
        )
    ],
    # Its trades come in batches, after the tickers of the same moment.
    "coinbase-advanced": [
        Venue("coinbase", "BTC-USD", "BTC/USD", BEST + EXTREMES + VOLUME, maker_side=True, last_by_trades=True)
    ],
    # The gateway reads tickers ten times a second at most, ccxt all.
    # Not compared yet: its own client of ccxt has not been tried on what the simulation sends.
    "crypto-com": [],
    "deribit": [Venue("deribit", "BTC-USDC-PERP", "BTC/USDC:USDC", LAST + BEST + EXTREMES + VOLUME, tickers=FEWER, has_quotes=True)],
    "gate": [
        Venue(
            "gate", "BTC-USDT", "BTC/USDT", LAST + BEST + EXTREMES + VOLUME, types=["spot"], limit=400, has_quotes=True,
        )
    ],
    # ccxt reads the names of markets only. Both ask for tickers by REST. The stream of quotes is faster than the
    # book's.
    "gemini": [
        Venue(
            "gemini", "BTC-USD", "BTC/USD", LAST + BEST + VOLUME, quotes=SOME, tickers=NEAR, increments=(), least={"ticker": 1},
        )
    ],
    # Books of five levels come twice a second, those of twenty every 5.4 s. ccxt takes a price's increment from its
    # size. It does not watch quotes there; hyperliquid_client.py does.
    "hyperliquid": [
        Venue(
            "hyperliquid", "BTC-USDC-PERP", "BTC/USDC:USDC", OPEN + ("quote_volume_24h",), increments=("size",), quotes=None,
            book={"subscription": {"type": "l2Book", "coin": "BTC", "fast": True}}, levels=5, whole_books=True,
            words={"open_24h": "previousClose"},
        )
    ],  # fmt: skip
    "kraken": [
        Venue("kraken", "BTC-USD", "BTC/USD", LAST + BEST + EXTREMES + VOLUME + CHANGE + ("vwap_24h",), limit=100)
    ],
    # The unified API, of which ccxt reads whole books of 50 levels without REST; the gateway reads every change.
    # As for Crypto.com.
    "kraken-futures": [],
    "kucoin": [
        Venue(
            "kucoin", "BTC-USDT", "BTC/USDT", books=SOME, quotes=SOME, tickers=COUNTED,
            options={"uta": True, "fetchMarkets": {"types": ["spot"], "uta": False}, "watchOrderBook": {"uta": True, "utaDepth": "50"}},
        )
    ],  # fmt: skip
    "okx": [
        Venue("okx", "BTC-USDT", "BTC/USDT", LAST + BEST + OPEN + EXTREMES + VOLUME + CHANGE, types=["spot"], has_quotes=True),
        Venue(
            "okx", "BTC-USDT-PERP", "BTC/USDT:USDT", LAST + BEST + OPEN + EXTREMES + CHANGE, types=["swap"], has_quotes=True,
            in_contracts=True,
        ),
    ],
}


def pointed_at(urls, base):
    """Every URL in `urls` with its host replaced by that of `base`, in the clear."""
    if isinstance(urls, dict):
        return {key: pointed_at(value, base) for key, value in urls.items()}
    if isinstance(urls, str) and "://" in urls:
        scheme = "ws" if urls.startswith("ws") else "http"
        return f"{scheme}://{urlsplit(base).netloc}{urlsplit(urls).path}"
    return urls


class Watcher(trial.Client):
    """ccxt at one market."""

    def __init__(self, name, venue, base):
        notes = []
        self.venue, self.base, self.symbol = venue, base, venue.unified
        self.client = self.make()
        # Quotes have a client of their own: where they are books of one level, ccxt would mix them into the other book.
        self.quoter = self.make() if venue.has_quotes else None
        if venue.is_signed:
            notes.append("books signed with a key that is made up")
        if not self.client.has["watchTicker"] and venue.rules.tickers == NEAR:
            notes.append("ticker by REST")
        if venue.maker_side:
            notes.append("the other side of trades, the maker's, is ccxt's")
        if venue.rules.quotes:
            notes.append("quotes of a stream" if venue.has_quotes else "quotes by ccxt's book")
        self.market = trial.Market(f"{name}:{venue.symbol}", venue.rules, venue.least, venue.joins, notes)
        super().__init__([self.market])
        self.size, self.trades, self.trade_count, self.tasks = Decimal(1), None, 0, []

    def make(self):
        client = getattr(ccxt.pro, self.venue.client)({"enableRateLimit": False, "newUpdates": True, "options": self.venue.options})
        client.urls = pointed_at(client.urls, self.base)
        client.hostname = urlsplit(self.base).netloc
        if self.venue.is_signed:
            for key, value in KEY.items():
                setattr(client, key, value)
        return client

    async def prepare(self, instruments):
        self.client.open()
        markets = await self.client.fetch_markets()
        self.client.set_markets(markets)
        if self.quoter:
            self.quoter.open()
            self.quoter.set_markets(markets)
        self.compare_lists(instruments.get(self.market.key, {}))

    async def start(self):
        self.look_after(self.client, self.take)
        limit = [self.venue.limit] if self.venue.limit else []
        watched = {
            "books": lambda: self.client.watch_order_book(self.symbol, *limit, params=dict(self.venue.book)),
            "trades": lambda: self.client.watch_trades(self.symbol),
        }
        if self.venue.rules.tickers not in (COUNTED, NEAR):
            watched["ticker"] = lambda: self.client.watch_ticker(self.symbol)
        if self.venue.rules.tickers == NEAR:
            watched["ticker by REST"] = self.ask_for_ticker
        if self.quoter:
            self.look_after(self.quoter, self.take_quote)
            watched["quotes"] = lambda: self.quoter.watch_bids_asks([self.symbol])
        self.tasks = [asyncio.ensure_future(self.watch(name, call)) for name, call in watched.items()]

    async def stop(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for client in filter(None, (self.client, self.quoter)):
            await client.close()

    async def watch(self, name, call):
        try:
            while True:
                await call()
        except Exception as error:
            self.complaints.append(f"{self.market.key} {name}: {error!r}")

    def compare_lists(self, ours):
        market = self.client.market(self.symbol)
        theirs = {"base": market["base"], "quote": market["quote"]}
        if self.venue.in_contracts:
            theirs["contract_size"] = plain(market["contractSize"])
            self.size = Decimal(theirs["contract_size"])
        for name, key in (("price", "price"), ("size", "amount")):
            if name in self.venue.increments:
                theirs[f"{name}_increment"] = plain(Decimal(str(market["precision"][key])) * (self.size if name == "size" else 1))
        for key, value in theirs.items():
            mine = ours.get(key)
            if (plain(mine) if mine and key not in ("base", "quote") else mine) != value:
                self.complaints.append(f"{self.market.key}: {key} is {value} in ccxt's list, {mine} at the gateway")

    def look_after(self, client, take):
        """Calls `take` after each message that a client has handled."""
        handle = client.handle_message

        def handle_and_look(connection, message):
            handle(connection, message)
            try:
                take(client)
            except Exception as error:
                self.complaints.append(f"{self.market.key}: cannot be read after {message}: {error!r}")

        client.handle_message = handle_and_look

    def take(self, client):
        seen, levels = self.market.seen, self.venue.rules.levels
        book = (client.orderbooks or {}).get(self.symbol)
        if book and len(book["bids"]) >= levels and len(book["asks"]) >= levels:
            seen.add_book(top(book["bids"], book["asks"], levels, self.size))
        trades = (client.trades or {}).get(self.symbol) or []
        # Of some venues ccxt keeps the trades of the latest message only, in a list of their own each time.
        if trades is not self.trades:
            self.trades, self.trade_count = trades, 0
        for trade in list(trades)[self.trade_count :]:
            self.trade_count += 1
            side = {"buy": "sell", "sell": "buy"}[trade["side"]] if self.venue.maker_side else trade["side"]
            size = plain(Decimal(str(trade["amount"])) * self.size)
            seen.add_trade(str(trade["id"]), plain(trade["price"]), size, side, trade["timestamp"])
        if self.venue.rules.tickers not in (COUNTED, NEAR) and (ticker := (client.tickers or {}).get(self.symbol)):
            self.take_ticker(ticker)

    def take_quote(self, client):
        quote = (client.bidsasks or {}).get(self.symbol)
        if quote:
            sizes = [plain(Decimal(str(quote[key])) * self.size) for key in ("bidVolume", "askVolume")]
            self.market.seen.add_quote(plain(quote["bid"]), sizes[0], plain(quote["ask"]), sizes[1])

    def take_ticker(self, ticker):
        self.market.seen.add_ticker({field: plain(ticker[self.venue.words[field]]) for field in self.venue.rules.fields})

    async def ask_for_ticker(self):
        self.take_ticker(await self.client.fetch_ticker(self.symbol))
        await asyncio.sleep(1)


def main():
    gateway, *urls = sys.argv[1:]
    bases = dict(url.split("=", 1) for url in urls)

    def make(keys):
        return [
            Watcher(name, venue, base)
            for name, base in bases.items()
            for venue in VENUES[name]
            if keys is None or f"{name}:{venue.symbol}" in keys
        ]

    asyncio.run(trial.run("ccxt", gateway, make))


main()
