"""Hyperliquid's own SDK watches the simulated Hyperliquid that a gateway follows, and must see the same.

usage: hyperliquid_client.py GATEWAY VENUE=HTTP-URL…

It reads lists, prices and a book by POST, and books, quotes, trades and 24 h figures over its socket, on a thread of its own.
comparison.py says how the two are compared.
"""

import asyncio
import sys
from decimal import Decimal

from hyperliquid.info import Info

import trial
from comparison import Rules
from gateway_view import plain, top

COIN, SYMBOL = "BTC", "hyperliquid:BTC-USDC-PERP"
# Levels a side of the books that come twice a second.
LEVELS = 5
FIELDS = ("open_24h", "volume_24h", "quote_volume_24h", "change_24h")


class Watcher(trial.Client):
    """The SDK at one market."""

    def __init__(self, base):
        rules = Rules(LEVELS, tickers="each", fields=FIELDS, whole_books=True)
        super().__init__([trial.Market(SYMBOL, rules, notes=["quotes of a stream"])])
        self.base, self.seen, self.info = base, self.markets[0].seen, None

    async def prepare(self, instruments):
        self.info = await asyncio.to_thread(Info, self.base)
        await asyncio.to_thread(self.ask, instruments[SYMBOL])

    async def start(self):
        for kind, more in (("l2Book", {"fast": True}), ("bbo", {}), ("trades", {}), ("activeAssetCtx", {})):
            self.info.subscribe({"type": kind, "coin": COIN, **more}, self.take)

    def ask(self, instrument):
        """What it reads once."""
        asset = self.info.name_to_asset(COIN)
        increment = plain(Decimal(1).scaleb(-self.info.asset_to_sz_decimals[asset]))
        if plain(instrument["size_increment"]) != increment:
            self.complaints.append(f"sizes are in {increment} for the SDK, in {instrument['size_increment']} at the gateway")
        book, middle = self.info.l2_snapshot(COIN), Decimal(self.info.all_mids()[COIN])
        if [len(side) for side in book["levels"]] != [20, 20]:
            self.complaints.append("a book that was asked for does not have 20 levels a side")
        if abs(Decimal(book["levels"][0][0]["px"]) / middle - 1) > Decimal("0.01"):
            self.complaints.append(f"the middle is {middle}, the best bid {book['levels'][0][0]['px']}")

    def take(self, message):
        try:
            getattr(self, f"take_{message['channel']}")(message["data"])
        except Exception as error:
            self.complaints.append(f"cannot be read: {message}: {error!r}")

    def take_l2Book(self, book):
        state = top(*([(level["px"], level["sz"]) for level in side] for side in book["levels"]), LEVELS)
        self.seen.add_book(state)

    def take_bbo(self, data):
        bid, ask = data["bbo"]
        best = [plain(side[key]) if side else None for side in (bid, ask) for key in ("px", "sz")]
        self.seen.add_quote(*best)

    def take_trades(self, trades):
        sides = {"B": "buy", "A": "sell"}
        for trade in trades:
            self.seen.add_trade(str(trade["tid"]), plain(trade["px"]), plain(trade["sz"]), sides[trade["side"]], trade["time"])

    def take_activeAssetCtx(self, data):
        figures = data["ctx"]
        middle, before = figures["midPx"], figures["prevDayPx"]
        self.seen.add_ticker({
            "open_24h": plain(before), "volume_24h": plain(figures["dayBaseVlm"]), "quote_volume_24h": plain(figures["dayNtlVlm"]),
            "change_24h": plain(Decimal(middle) - Decimal(before)),
        })  # fmt: skip

    async def stop(self):
        if self.info:
            await asyncio.to_thread(self.info.disconnect_websocket)


def main():
    base = dict(venue.split("=", 1) for venue in sys.argv[2:])["hyperliquid"]
    asyncio.run(trial.run("hyperliquid", sys.argv[1], lambda keys: [Watcher(base)] if keys is None or SYMBOL in keys else []))


main()
