"""ccxt's own venue clients (`ccxt.pro`) watch the simulated exchanges that a gateway follows, and must see its books.

usage: ccxt_client.py GATEWAY VENUE=HTTP-URL…

Each venue's client has every URL of its own pointed at the simulated exchange, reads the list of markets there, and watches: what is
checked is that somebody else's reading of the venue is ours, in increments and contract sizes, books, trades and tickers. The venue's
book changes all the time, and the two clients read it at different moments: so every book that the gateway publishes is kept for a
while, and every book that ccxt shows must be one of them. Where a venue's stream has no ticker, ccxt's is the one by REST. Where ccxt
wants a key for what is public too, it gets one that is made up. Both are said in the output.
"""

import asyncio
import os
import sys
import time
from decimal import Decimal
from urllib.parse import urlsplit

import ccxt.pro

from gateway_view import LEVELS, GatewayView, exact, top

SECONDS = float(os.environ.get("PEER_SECONDS", "4")) * 2
PATIENCE = 60
# The fewest books that a client must have shown.
LEAST = 20
# How often a client that joins by chance may try.
JOINS = 3
# What each client watches.
CHANNELS = ("books", "trades", "ticker")
# What ccxt signs with where it wants to: nobody's.
KEY = {"apiKey": "none", "secret": "bm9uZQ==", "password": "none"}


class Venue:
    """A market of a venue, and how ccxt is to watch it.

    - client: ccxt's class. symbol: the gateway's name. unified: ccxt's. types: the lists of markets that it is to read, not all.
    - limit, book: what its `watch_order_book` is called with.
    - levels, least: fewer than everywhere else, where the venue's stream has fewer.
    - is_signed: ccxt signs its subscription to books.
    - maker_side: ccxt gives the side of trades as the venue prints it, which is the maker's there.
    - in_contracts: ccxt gives sizes in contracts.
    - increments: those that are the same for ccxt as for the gateway.
    - joins_by_chance: ccxt leaves out what it kept for a snapshot where none of it bears exactly the snapshot's time; then it is tried again.
    """

    def __init__(
        self, client, symbol, unified, *, types=None, options=None, limit=None, book=None, levels=LEVELS, least=LEAST,
        is_signed=False, maker_side=False, in_contracts=False, increments=("price", "size"), joins_by_chance=False,
    ):  # fmt: skip
        self.client, self.symbol, self.unified = client, symbol, unified
        self.options = {**(options or {}), **({"fetchMarkets": {"types": types}} if types else {})}
        self.limit, self.book, self.levels, self.least = limit, book or {}, levels, least
        self.is_signed, self.maker_side, self.in_contracts, self.increments = is_signed, maker_side, in_contracts, increments
        self.joins_by_chance = joins_by_chance


VENUES = {
    "binance": [
        Venue("binance", "BTC-USDT", "BTC/USDT", types=["spot"]),
        Venue("binanceusdm", "BTC-USDT-PERP", "BTC/USDT:USDT"),
    ],
    # Prices have five significant digits, and no increment.
    "bitfinex": [Venue("bitfinex", "BTC-USD", "BTC/USD", limit=100, increments=())],
    "bitstamp": [Venue("bitstamp", "BTC-USD", "BTC/USD", joins_by_chance=True)],
    "bybit": [
        Venue("bybit", "BTC-USDT", "BTC/USDT", types=["spot"], limit=200),
        Venue("bybit", "BTC-USDT-PERP", "BTC/USDT:USDT", types=["linear"], limit=200),
    ],
    # ccxt would read the channel that is for customers; the public one has the same messages.
    "coinbase": [Venue("coinbaseexchange", "BTC-USD", "BTC/USD", book={"channels": ["level2_batch"]}, is_signed=True)],
    "coinbase-advanced": [Venue("coinbase", "BTC-USD", "BTC/USD", maker_side=True)],
    "deribit": [Venue("deribit", "BTC-USDC-PERP", "BTC/USDC:USDC")],
    "gate": [Venue("gate", "BTC-USDT", "BTC/USDT", types=["spot"], limit=400)],
    # ccxt reads the names of markets only.
    "gemini": [Venue("gemini", "BTC-USD", "BTC/USD", increments=())],
    # Books of five levels come twice a second, those of twenty every 5.4 s. ccxt takes a price's increment from its size.
    "hyperliquid": [
        Venue(
            "hyperliquid", "BTC-USDC-PERP", "BTC/USDC:USDC", increments=("size",),
            book={"subscription": {"type": "l2Book", "coin": "BTC", "fast": True}}, levels=5, least=8,
        )
    ],  # fmt: skip
    "kraken": [Venue("kraken", "BTC-USD", "BTC/USD", limit=100)],
    # The unified API, of which ccxt reads whole books of 50 levels without REST.
    "kucoin": [
        Venue(
            "kucoin", "BTC-USDT", "BTC/USDT",
            options={"uta": True, "fetchMarkets": {"types": ["spot"], "uta": False}, "watchOrderBook": {"uta": True, "utaDepth": "50"}},
        )
    ],  # fmt: skip
    "okx": [
        Venue("okx", "BTC-USDT", "BTC/USDT", types=["spot"]),
        Venue("okx", "BTC-USDT-PERP", "BTC/USDT:USDT", types=["swap"], in_contracts=True),
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


class Watcher:
    """One of ccxt's clients at one market."""

    def __init__(self, name, venue, base, gateway):
        self.name, self.venue, self.gateway = name, venue, gateway
        self.key = f"{name}:{venue.symbol}"
        self.client = getattr(ccxt.pro, venue.client)({"enableRateLimit": False, "newUpdates": True, "options": venue.options})
        self.client.urls = pointed_at(self.client.urls, base)
        self.client.hostname = urlsplit(base).netloc
        self.symbol, self.size = venue.unified, Decimal(1)
        self.books, self.trades, self.tickers = [], set(), 0
        self.notes = []
        if venue.is_signed:
            self.notes.append("books signed with a key that is made up")
            for name, value in KEY.items():
                setattr(self.client, name, value)
        if not self.client.has["watchTicker"]:
            self.notes.append("ticker by REST")

    async def run(self, ours):
        """Reads the list of markets, then watches one of them, the gateway's instrument `ours`, until something fails."""
        self.client.open()
        await self.step("list", self.read_list(ours))
        channels = [asyncio.ensure_future(self.step(channel, getattr(self, f"watch_{channel}")())) for channel in CHANNELS]
        try:
            await asyncio.gather(*channels)
        finally:
            for channel in channels:
                channel.cancel()

    async def step(self, name, work):
        try:
            await work
        except Exception as error:
            raise RuntimeError(f"{self.key} {name}: {error!r}") from error

    async def read_list(self, ours):
        self.client.set_markets(await self.client.fetch_markets())
        market = self.client.market(self.symbol)
        theirs = {"base": market["base"], "quote": market["quote"]}
        if self.venue.in_contracts:
            theirs["contract_size"] = self.size = exact(market["contractSize"])
        for name, key in (("price", "price"), ("size", "amount")):
            if name in self.venue.increments:
                theirs[f"{name}_increment"] = exact(market["precision"][key]) * (self.size if name == "size" else 1)
        for key, value in theirs.items():
            if (type(value)(ours[key]) if key in ours else None) != value:
                raise ValueError(f"{key} is {value} in ccxt's list, {ours.get(key)} at the gateway")

    async def watch_books(self):
        venue, limit = self.venue, [self.venue.limit] if self.venue.limit else []
        while True:
            book = await self.client.watch_order_book(self.symbol, *limit, params=dict(venue.book))
            state = top(book["bids"], book["asks"], venue.levels, self.size)
            if all(len(side) == venue.levels for side in state) and (not self.books or self.books[-1] != state):
                self.books.append(state)

    async def watch_trades(self):
        other = {"buy": "sell", "sell": "buy"}
        while True:
            for trade in await self.client.watch_trades(self.symbol):
                side = other[trade["side"]] if self.venue.maker_side else trade["side"]
                self.trades.add((str(trade["id"]), exact(trade["price"]), exact(trade["amount"]) * self.size, side))

    async def watch_ticker(self):
        streams = self.client.has["watchTicker"]
        while True:
            ticker = await (self.client.watch_ticker if streams else self.client.fetch_ticker)(self.symbol)
            self.tickers += 1 if ticker["last"] else 0
            if not streams:
                await asyncio.sleep(1)

    def has_enough(self):
        enough = {"books": len(self.books) > self.venue.least, "trades": len(self.trades) > 0, "ticker": self.tickers > 0}
        return all(enough[channel] for channel in CHANNELS)

    def problems(self):
        """Books that ccxt shows and the gateway never published, and trades that are not the same."""
        found = []
        if not self.has_enough():
            found.append(f"too little came: {len(self.books)} books, {len(self.trades)} trades, {self.tickers} tickers")
        judged, found_wrong = self.gateway.judge(self.key, self.books, self.trades)
        found += found_wrong
        counts = {**judged, "ticker": self.tickers}
        parts = [f"{counts[channel]} {channel.rstrip('s')}s" for channel in CHANNELS]
        self.summary = ", ".join(parts) + (f" ({'; '.join(self.notes)})" if self.notes else "")
        return found


async def follow(gateway, following, pairs):
    """Watches markets for a while; what is wrong, by market."""
    watchers = [Watcher(name, venue, url, gateway) for name, venue, url in pairs]
    instruments = gateway.instruments()
    tasks = {watcher: asyncio.ensure_future(watcher.run(instruments.get(watcher.key, {}))) for watcher in watchers}
    start = time.monotonic()
    while not following.done() and not all(task.done() for task in tasks.values()) and (
        time.monotonic() - start < SECONDS
        or (time.monotonic() - start < PATIENCE and not all(w.has_enough() or t.done() for w, t in tasks.items()))
    ):  # fmt: skip
        await asyncio.sleep(0.1)
    # What ccxt saw last the gateway may publish a moment later.
    await asyncio.sleep(0.5)
    problems = {}
    for pair, (watcher, task) in zip(pairs, tasks.items()):
        failures = [f"{task.exception()!r}"] if task.done() and task.exception() else []
        problems[pair] = failures + [f"{watcher.key}: {problem}" for problem in watcher.problems()]
        task.cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)
    for watcher in watchers:
        await watcher.client.close()
        print(f"  {watcher.key} {watcher.summary}")
    return problems


async def main():
    gateway_url, *venues = sys.argv[1:]
    pairs = [(name, venue, url) for name, url in (v.split("=", 1) for v in venues) for venue in VENUES[name]]
    gateway = GatewayView(gateway_url, {f"{name}:{venue.symbol}": venue.levels for name, venue, _ in pairs})
    following = asyncio.ensure_future(gateway.run())
    await gateway.wait_until_live(following)
    problems = await follow(gateway, following, pairs)
    for _ in range(JOINS - 1):
        again = [pair for pair in pairs if problems[pair] and pair[1].joins_by_chance]
        if again:
            print("  once more, where ccxt may have joined a snapshot and updates wrongly:")
            problems.update(await follow(gateway, following, again))
    failures = [failure for pair in pairs for failure in problems[pair]]
    if following.done() and following.exception():
        failures.append(f"{following.exception()!r}")
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    for failure in failures:
        print(f"  {failure}")
    sys.exit(1 if failures else 0)


asyncio.run(main())
