"""nautilus_trader's own adapters follow the simulated exchanges that a gateway follows, and must see the same.

usage: nautilus_client.py GATEWAY VENUE=HTTP-URL…

What is its own: the live data clients of Binance (spot and USD-M), Bybit and OKX with their sockets, parsing and joining of snapshots
and changes, the data engine that they feed, and the engine's order books. What is not: its lists of instruments, which it reads from
routes that are for customers with keys (fees); it is given instruments with the increments of the gateway's own list instead. Its Hyperliquid
adapter cannot be pointed at another address. comparison.py says how the two are compared.
"""

import asyncio
import logging
import os
import sys
import tempfile
from decimal import Decimal

from nautilus_trader.adapters.binance import BinanceAccountType, BinanceDataClientConfig
from nautilus_trader.adapters.binance.factories import get_cached_binance_http_client
from nautilus_trader.adapters.binance.futures.data import BinanceFuturesDataClient
from nautilus_trader.adapters.binance.spot.data import BinanceSpotDataClient
from nautilus_trader.adapters.bybit import BybitDataClientConfig, BybitProductType
from nautilus_trader.adapters.bybit.data import BybitDataClient
from nautilus_trader.adapters.bybit.factories import get_bybit_http_client
from nautilus_trader.adapters.okx import OKXDataClientConfig
from nautilus_trader.adapters.okx.data import OKXDataClient
from nautilus_trader.common.actor import Actor
from nautilus_trader.common.providers import InstrumentProvider
from nautilus_trader.config import InstrumentProviderConfig, LoggingConfig, TradingNodeConfig
from nautilus_trader.core import nautilus_pyo3
from nautilus_trader.live.factories import LiveDataClientFactory
from nautilus_trader.live.node import TradingNode
from nautilus_trader.model.enums import AggressorSide, BookType
from nautilus_trader.model.identifiers import ClientId, InstrumentId, Venue
from nautilus_trader.model.instruments import instruments_from_pyo3

import trial
from comparison import EACH, Rules
from gateway_view import plain

# Levels a side that are compared.
LEVELS = 50
SIDES = {AggressorSide.BUYER: "buy", AggressorSide.SELLER: "sell"}
# Invented keys: the clients require them, and send them only to the simulated exchange.
KEY = {"api_key": "none", "api_secret": "none"}
BINANCE, BINANCE_USDM = Venue("BINANCE"), Venue("BINANCE_USDM")


class Followed:
    """A market: the gateway's symbol, nautilus's instrument, the client that follows it, and that venue's name for it.

    - depth: of the book that is asked for; the venue's own if left out. more: of its subscription.
    - quotes: how they are compared.
    """

    def __init__(self, key, instrument, client, raw, depth=0, more=None, quotes=EACH):
        self.key, self.instrument, self.client, self.raw, self.depth = key, instrument, client, raw, depth
        self.more = more or {}
        self.is_perpetual = key.endswith("-PERP")
        note = "quotes of a stream" if quotes else "nautilus takes quotes from the ticker, once a second: not compared"
        self.market = trial.Market(key, Rules(LEVELS, quotes=quotes), notes=[note])
        self.size = Decimal(1)


def followed():
    return [
        Followed("binance:BTC-USDT", "BTCUSDT.BINANCE", "BINANCE", "BTCUSDT"),
        Followed("binance:BTC-USDT-PERP", "BTCUSDT-PERP.BINANCE_USDM", "BINANCE_USDM", "BTCUSDT", more={"update_speed": 100}),
        Followed("bybit:BTC-USDT", "BTCUSDT-SPOT.BYBIT", "BYBIT", "BTCUSDT", 200),
        Followed("bybit:BTC-USDT-PERP", "BTCUSDT-LINEAR.BYBIT", "BYBIT", "BTCUSDT", 200, quotes=None),
        Followed("okx:BTC-USDT", "BTC-USDT.OKX", "OKX", "BTC-USDT"),
        Followed("okx:BTC-USDT-PERP", "BTC-USDT-SWAP.OKX", "OKX", "BTC-USDT-SWAP"),
    ]


def milliseconds(nanoseconds):
    """nautilus turns the venues' ms into ns by way of a double, which is up to 0.3 µs too little."""
    return (nanoseconds + 1000) // 1_000_000


def made(market, listed):
    """An instrument of nautilus's with the increments of the gateway's list."""
    # The gateway's sizes are in base units; nautilus's are in contracts.
    market.size = Decimal(listed.get("contract_size", "1"))
    tick, step = Decimal(listed["price_increment"]), Decimal(listed["size_increment"]) / market.size
    tick, step = Decimal(plain(tick)), Decimal(plain(step))
    digits = lambda number: max(0, -number.as_tuple().exponent)
    # OKX's contracts come in hundredths.
    currencies = [nautilus_pyo3.Currency.from_str(listed[name]) for name in ("base", "quote")]
    values = [
        nautilus_pyo3.InstrumentId.from_str(market.instrument), nautilus_pyo3.Symbol(market.raw), *currencies,
        *([currencies[1], False] if market.is_perpetual else []), digits(tick), digits(step),
        nautilus_pyo3.Price(float(tick), digits(tick)), nautilus_pyo3.Quantity(float(step), digits(step)), 0, 0,
    ]  # fmt: skip
    return (nautilus_pyo3.CryptoPerpetual if market.is_perpetual else nautilus_pyo3.CurrencyPair)(*values)


class Instruments(InstrumentProvider):
    """Instruments that are given, not read."""

    def __init__(self, given):
        super().__init__(InstrumentProviderConfig(load_all=True))
        self.given = given
        self.instrument_types = ()

    def instruments_pyo3(self):
        return self.given

    async def load_all_async(self, filters=None):
        for instrument in instruments_from_pyo3(self.given):
            self.add(instrument)
            for currency in (instrument.base_currency, instrument.quote_currency):
                self.add_currency(currency)


def factory(make):
    """A factory of data clients, as a node wants it: `make` gets what every client is made of."""

    class Factory(LiveDataClientFactory):
        @staticmethod
        def create(loop, name, config, msgbus, cache, clock):
            shared = {"loop": loop, "msgbus": msgbus, "cache": cache, "clock": clock, "config": config, "name": name}
            return make(shared)

    return Factory


class Follower(Actor):
    """Takes what nautilus's data engine gives."""

    def __init__(self, markets, complaints):
        super().__init__()
        self.markets, self.complaints = {market.instrument: market for market in markets}, complaints

    def on_start(self):
        for market in self.markets.values():
            instrument, client = InstrumentId.from_str(market.instrument), ClientId(market.client)
            self.subscribe_order_book_deltas(
                instrument, book_type=BookType.L2_MBP, depth=market.depth, client_id=client, params=market.more
            )
            self.subscribe_trade_ticks(instrument, client_id=client)
            if market.market.rules.quotes:
                self.subscribe_quote_ticks(instrument, client_id=client)

    def take(self, data, body):
        try:
            body(self.markets[str(data.instrument_id)], data)
        except Exception as error:
            self.complaints.append(f"cannot be read: {data}: {error!r}")

    def on_order_book_deltas(self, deltas):
        self.take(deltas, self.take_book)

    def on_trade_tick(self, trade):
        self.take(trade, self.take_trade)

    def on_quote_tick(self, quote):
        self.take(quote, self.take_quote)

    def take_book(self, market, deltas):
        book = self.cache.order_book(deltas.instrument_id)
        sides = book.bids()[:LEVELS], book.asks()[:LEVELS]
        if min(len(side) for side in sides) < LEVELS:
            return
        size = market.size
        state = tuple(
            tuple((plain(level.price.as_decimal()), plain(Decimal(str(level.orders()[0].size)) * size)) for level in side) for side in sides
        )
        market.market.seen.add_book(state)

    def take_trade(self, market, trade):
        size = plain(trade.size.as_decimal() * market.size)
        market.market.seen.add_trade(
            str(trade.trade_id), plain(trade.price.as_decimal()), size, SIDES[trade.aggressor_side], milliseconds(trade.ts_event)
        )

    def take_quote(self, market, quote):
        sizes = [plain(size.as_decimal() * market.size) for size in (quote.bid_size, quote.ask_size)]
        market.market.seen.add_quote(plain(quote.bid_price.as_decimal()), sizes[0], plain(quote.ask_price.as_decimal()), sizes[1])


class Node(trial.Client):
    """A trading node that follows every market."""

    def __init__(self, bases, markets):
        super().__init__([market.market for market in markets])
        self.followed, self.bases = markets, bases
        self.node = self.running = None
        self.folder = tempfile.mkdtemp(prefix="tidegate-nautilus-")

    def stream(self, venue, path):
        return self.bases[venue].replace("http", "ws", 1) + path

    def clients(self, instruments):
        """Configuration and factory of each data client."""
        # Its candles come from a fixed address; nothing is requested from it here.
        nautilus_pyo3.get_okx_ws_url_business = lambda _: self.stream("okx", "/ws/v5/public")
        given = {market.key: made(market, instruments[market.key]) for market in self.followed}
        of = lambda name: Instruments([given[market.key] for market in self.followed if market.client == name])

        def binance(venue, kind, account, route):
            config = BinanceDataClientConfig(
                venue=venue, account_type=account, base_url_http=self.bases["binance"], base_url_ws=self.stream("binance", route), **KEY
            )

            def make(shared):
                client = get_cached_binance_http_client(
                    clock=shared["clock"], account_type=account, base_url=config.base_url_http, **KEY
                )
                return kind(
                    client=client, instrument_provider=of(venue.value), account_type=account, base_url_ws=config.base_url_ws, **shared
                )

            return config, factory(make)

        def bybit():
            products = (BybitProductType.SPOT, BybitProductType.LINEAR)
            config = BybitDataClientConfig(product_types=products, base_url_http=self.bases["bybit"], **KEY)

            def make(shared):
                client = get_bybit_http_client(
                    clock=shared["clock"], key=KEY["api_key"], secret=KEY["api_secret"], base_url=config.base_url_http
                )
                streams = {product: self.stream("bybit", f"/v5/public/{product.value}") for product in products}
                return BybitDataClient(
                    client=client, instrument_provider=of("BYBIT"), product_types=products, ws_base_urls=streams, **shared
                )

            return config, factory(make)

        def okx():
            for name in ("KEY", "SECRET", "PASSPHRASE"):
                os.environ[f"OKX_API_{name}"] = "none"
            config = OKXDataClientConfig(base_url_http=self.bases["okx"], base_url_ws=self.stream("okx", "/ws/v5/public"))

            def make(shared):
                client = nautilus_pyo3.OKXHttpClient(base_url=config.base_url_http)
                return OKXDataClient(client=client, instrument_provider=of("OKX"), **shared)

            return config, factory(make)

        return {
            "BINANCE": binance(BINANCE, BinanceSpotDataClient, BinanceAccountType.SPOT, ""),
            "BINANCE_USDM": binance(BINANCE_USDM, BinanceFuturesDataClient, BinanceAccountType.USDT_FUTURES, "/public"),
            "BYBIT": bybit(),
            "OKX": okx(),
        }

    async def prepare(self, instruments):
        clients = self.clients(instruments)
        config = TradingNodeConfig(
            logging=LoggingConfig(
                log_level="ERROR", log_level_file="WARNING", log_directory=self.folder, log_file_name="nautilus", log_colors=False
            ),
            data_clients={name: config for name, (config, _) in clients.items()},
        )
        self.node = TradingNode(config, loop=asyncio.get_running_loop())
        for name, (_, made_by) in clients.items():
            self.node.add_data_client_factory(name, made_by)
        self.node.trader.add_actor(Follower(self.followed, self.complaints))
        self.node.build()

    async def start(self):
        self.running = asyncio.ensure_future(self.node.run_async())

    def listen(self):
        """An error in nautilus's log is one."""
        for name in os.listdir(self.folder):
            with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                self.complaints += [line.strip() for line in file if "[ERROR]" in line]

    async def stop(self):
        # An orderly end takes seconds without need: the process ends, and its connections with it.
        pass


def main():
    gateway, *urls = sys.argv[1:]
    bases = dict(url.split("=", 1) for url in urls)
    logging.disable(logging.CRITICAL)
    asyncio.run(trial.run("nautilus", gateway, lambda keys: [Node(bases, followed())] if keys is None else []))


main()
