"""Unmodified clients of other protocols beside tidegate.v1 at one gateway: compat_clients.py CLIENT HTTP-URL.

Each client stores its ten best levels a side after every message. A reader of tidegate.v1 stores every state of the
same book. Each state of the client must be one of ours, in the same order. The comparison then runs again over the same
states with one size changed, and must fail.
"""

import asyncio
import datetime
import json
import os
import sys
import threading
import time
import urllib.request

import websockets

SECONDS = float(os.environ.get("PEER_SECONDS", "4"))
LEVELS = 10


def top(side):
    return tuple((float(price), float(size)) for price, size in list(side)[:LEVELS])


class Ours:
    """Every state of a book, as tidegate.v1 has it."""

    def __init__(self, url, symbol):
        self.url = "ws" + url.removeprefix("http") + "/v1/stream"
        self.symbol, self.states = symbol, []

    async def run(self):
        sides = {"bids": {}, "asks": {}}
        async with websockets.connect(self.url, subprotocols=["tidegate.v1.json"], max_size=None) as socket:
            item = {"channel": "book", "symbols": [self.symbol], "depth": "full", "interval_ms": 0}
            await socket.send(json.dumps({"op": "subscribe", "streams": [item]}))
            async for text in socket:
                message = json.loads(text)
                if message["type"] == "snapshot":
                    sides = {"bids": {}, "asks": {}}
                elif message["type"] != "update":
                    continue
                for name, levels in sides.items():
                    for price, size in message["data"][name]:
                        if float(size) == 0:
                            levels.pop(float(price), None)
                        else:
                            levels[float(price)] = float(size)
                self.states.append(
                    (top(sorted(sides["bids"].items(), reverse=True)), top(sorted(sides["asks"].items()))))


def missing(theirs, ours):
    """The number of the first state of theirs that is not among ours, behind the one before; None if all are."""
    at = 0
    for number, state in enumerate(theirs):
        while at < len(ours) and ours[at] != state:
            at += 1
        if at == len(ours):
            return number
    return None


def judge(name, theirs, ours, least=10):
    theirs = [state for index, state in enumerate(theirs) if index == 0 or state != theirs[index - 1]]
    assert len(theirs) >= least, f"{name}: only {len(theirs)} states"
    number = missing(theirs, ours)
    assert number is None, f"{name}: state {number} of {len(theirs)} is none of ours: {theirs[number]}"
    bids, asks = theirs[len(theirs) // 2]
    wrong = ((bids[0][0], bids[0][1] + 1e-8),) + bids[1:]
    damaged = theirs[: len(theirs) // 2] + [(wrong, asks)] + theirs[len(theirs) // 2 + 1 :]
    assert missing(damaged, ours) is not None, f"{name}: the comparison does not see a wrong size"
    print(f"  {name}: {len(theirs)} states among {len(ours)} of ours; a wrong size is seen")


async def beside(name, url, symbol, client, **rules):
    """Runs a client that appends its states to a list, beside a reader of ours."""
    ours, theirs = Ours(url, symbol), []
    reader = asyncio.create_task(ours.run())
    while not ours.states:
        await asyncio.sleep(0.05)
    await client(theirs)
    # Ours may be behind.
    await asyncio.sleep(0.5)
    reader.cancel()
    judge(name, theirs, ours.states, **rules)


async def kraken_sdk(url):
    """python-kraken-sdk checks the CRC of every update."""
    from kraken.spot import Market, SpotOrderBookClient

    SpotOrderBookClient.WS_URL = "ws" + url.removeprefix("http") + "/compat/kraken"
    Market.URL = url
    errors = []

    async def client(theirs):
        def note(pair, message):
            if "error" in message:
                errors.append(message)
            book = books.get(pair)
            bids = sorted(((float(p), v[0]) for p, v in book["bid"].items()), reverse=True)
            theirs.append((top(bids), top(sorted((float(p), v[0]) for p, v in book["ask"].items()))))

        books = SpotOrderBookClient(depth=10, callback=note)
        await books.start()
        await books.add_book(pairs=["BTC/USD"])
        await asyncio.sleep(SECONDS)
        assert books.get("BTC/USD")["valid"] and not errors, errors[:1]
        await books.close()

    await beside("python-kraken-sdk", url, "kraken:BTC-USD", client)


async def watch_ccxt(exchange, symbol, theirs):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        book = await asyncio.wait_for(exchange.watch_order_book(symbol), 10)
        theirs.append((top(book["bids"]), top(book["asks"])))
    for trade in await asyncio.wait_for(exchange.watch_trades(symbol), 10):
        assert trade["price"] > 0 and trade["amount"] > 0 and trade["side"] in ("buy", "sell"), trade
    ticker = await asyncio.wait_for(exchange.watch_ticker(symbol), 10)
    assert ticker["low"] <= ticker["last"] <= ticker["high"], ticker
    candles = await asyncio.wait_for(exchange.watch_ohlcv(symbol, "1m"), 10)
    assert candles and all(low <= close <= high for _, _, high, low, close, _ in candles), candles[-1:]
    await exchange.close()


async def ccxt_kraken(url):
    import ccxt.pro

    exchange = ccxt.pro.kraken()
    exchange.urls["api"]["ws"]["publicV2"] = "ws" + url.removeprefix("http") + "/compat/kraken/v2"
    exchange.urls["api"]["public"] = url + "/compat/kraken"
    await beside("ccxt.pro kraken", url, "kraken:BTC-USD", lambda theirs: watch_ccxt(exchange, "BTC/USD", theirs))


async def ccxt_binance(url):
    """ccxt reads the book by REST and checks the numbers of every event."""
    import ccxt.pro

    exchange = ccxt.pro.binance({"options": {"fetchMarkets": {"types": ["spot"]}, "fetchCurrencies": False}})
    exchange.urls["api"]["ws"]["spot"] = "ws" + url.removeprefix("http") + "/compat/binance/stream"
    exchange.urls["api"]["public"] = url + "/compat/binance/api/v3"
    exchange.has["fetchCurrencies"] = False
    await beside("ccxt.pro binance", url, "binance:BTC-USDT", lambda theirs: watch_ccxt(exchange, "BTC/USDT", theirs))


async def python_binance(url):
    """python-binance keeps a book of its own from REST and events."""
    from binance import AsyncClient, BinanceSocketManager, DepthCacheManager

    AsyncClient.API_URL = url + "/compat/binance/api"
    BinanceSocketManager.STREAM_URL = "ws" + url.removeprefix("http") + "/compat/binance/"

    async def client(theirs):
        api = await AsyncClient.create()
        began = time.monotonic()
        async with DepthCacheManager(api, "BTCUSDT", ws_interval=100) as books:
            while time.monotonic() < began + SECONDS:
                book = await asyncio.wait_for(books.recv(), 10)
                # At first it may apply an event to a newer book: its own fault, with the exchange as well.
                if book is not None and time.monotonic() > began + 1:
                    theirs.append((top(book.get_bids()), top(book.get_asks())))
        await api.close_connection()

    await beside("python-binance", url, "binance:BTC-USDT", client)


async def binance_connector(url):
    """binance-connector gets each state whole."""
    from binance.spot import Spot
    from binance.websocket.spot.websocket_stream import SpotWebsocketStreamClient

    rest = Spot(base_url=url + "/compat/binance")
    assert rest.exchange_info(symbol="BTCUSDT")["symbols"][0]["baseAsset"] == "BTC"
    assert rest.depth("BTCUSDT", limit=5)["bids"] and rest.klines("BTCUSDT", "1m", limit=2) and rest.trades("BTCUSDT")
    assert rest.ticker_24hr("BTCUSDT")["lastPrice"] and rest.book_ticker("BTCUSDT")["bidPrice"]

    async def client(theirs):
        lock, kinds = threading.Lock(), set()

        def note(_, text):
            message = json.loads(text)
            with lock:
                kinds.add(message.get("e", "depth" if "bids" in message else "answer"))
                if "bids" in message:
                    theirs.append((top(message["bids"]), top(message["asks"])))

        socket = SpotWebsocketStreamClient(
            stream_url="ws" + url.removeprefix("http") + "/compat/binance", on_message=note)
        socket.partial_book_depth(symbol="btcusdt", level=10, speed=100)
        socket.trade(symbol="btcusdt")
        socket.agg_trade(symbol="btcusdt")
        socket.mini_ticker(symbol="btcusdt")
        socket.kline(symbol="btcusdt", interval="1m")
        await asyncio.sleep(SECONDS)
        socket.stop()
        wanted = {"answer", "depth", "trade", "aggTrade", "24hrMiniTicker", "kline"}
        assert wanted <= kinds, f"no {wanted - kinds}"

    await beside("binance-connector", url, "binance:BTC-USDT", client)


async def nautilus_tardis(url):
    """nautilus_trader reads book changes, trades and quotes of tardis-machine's stream."""
    from nautilus_trader.core import nautilus_pyo3
    from nautilus_trader.model.book import OrderBook
    from nautilus_trader.model.data import OrderBookDelta, OrderBookDeltas, capsule_to_data
    from nautilus_trader.model.enums import BookType
    from nautilus_trader.model.identifiers import InstrumentId

    async def client(theirs):
        book, kinds, failures = OrderBook(InstrumentId.from_str("BTCUSDT.BINANCE"), BookType.L2_MBP), {}, []

        def note(capsule):
            data = capsule_to_data(capsule)
            kinds[type(data).__name__] = kinds.get(type(data).__name__, 0) + 1
            try:
                if isinstance(data, OrderBookDeltas):
                    book.apply_deltas(data)
                elif isinstance(data, OrderBookDelta):
                    book.apply_delta(data)
                else:
                    return
                # nautilus cuts sizes that it reads as binary fractions.
                sides = [
                    tuple((float(str(level.price)), round(float(level.size()), 7)) for level in side[:LEVELS])
                    for side in (book.bids(), book.asks())
                ]
                theirs.append(tuple(sides))
            except Exception as error:  # noqa: BLE001
                failures.append(error)

        stream = nautilus_pyo3.TardisMachineClient(
            base_url="ws" + url.removeprefix("http") + "/compat/tardis", normalize_symbols=True)
        info = nautilus_pyo3.TardisInstrumentMiniInfo(
            nautilus_pyo3.InstrumentId.from_str("BTCUSDT.BINANCE"), "BTCUSDT", "binance", 2, 8)
        options = nautilus_pyo3.StreamNormalizedRequestOptions.from_json(
            b'{"exchange":"binance","symbols":["BTCUSDT"],"dataTypes":["trade","book_change","quote"],'
            b'"withDisconnectMessages":true}')
        try:
            await asyncio.wait_for(stream.stream([info], [options], note), SECONDS)
            raise AssertionError("the stream ended")
        except asyncio.TimeoutError:
            stream.close()
        assert not failures, failures[0]
        assert kinds.get("TradeTick", 0) > 2 and kinds.get("QuoteTick", 0) > 2, kinds

    await beside("nautilus_trader, tardis-machine", url, "binance:BTC-USDT", client)


def past_trades(url, symbol):
    """The trades of all recordings of a gateway, by its own route: how often each time, size and price came."""
    trades, start = [], 0
    while start is not None:
        with urllib.request.urlopen(f"{url}/v1/trades/{symbol}?from={start}") as answer:
            page = json.load(answer)
        trades += [(trade["time"], float(trade["price"]), float(trade["size"])) for trade in page["trades"]]
        start = page.get("next")
    return trades


async def nautilus_replay(url):
    """nautilus_trader replays what the gateway has recorded: the trades are those of /v1/trades, in their order."""
    from nautilus_trader.core import nautilus_pyo3
    from nautilus_trader.model.data import TradeTick, capsule_to_data

    # The recorder writes every two seconds.
    await asyncio.sleep(SECONDS)
    ours, theirs, books = past_trades(url, "binance:BTC-USDT"), [], 0
    assert len(ours) > 2, f"{len(ours)} trades are recorded"

    def note(capsule):
        nonlocal books
        data = capsule_to_data(capsule)
        if isinstance(data, TradeTick):
            theirs.append((data.ts_event // 1_000, float(str(data.price)), float(str(data.size))))
        else:
            books += 1

    client = nautilus_pyo3.TardisMachineClient(
        base_url="ws" + url.removeprefix("http") + "/compat/tardis", normalize_symbols=True)
    info = nautilus_pyo3.TardisInstrumentMiniInfo(
        nautilus_pyo3.InstrumentId.from_str("BTCUSDT.BINANCE"), "BTCUSDT", "binance", 2, 8)
    day = datetime.timedelta(days=1)
    today = datetime.datetime.now(datetime.timezone.utc).date()
    options = nautilus_pyo3.ReplayNormalizedRequestOptions.from_json(json.dumps({
        "exchange": "binance", "symbols": ["BTCUSDT"], "from": str(today - day), "to": str(today + day),
        "dataTypes": ["trade", "book_change"], "withDisconnectMessages": True,
    }).encode())
    await asyncio.wait_for(client.replay([info], [options], note), 30)
    assert theirs[:len(ours)] == ours, f"{len(theirs)} trades beside {len(ours)}: {theirs[:2]} {ours[:2]}"
    assert books > 10, f"{books} messages of the book"
    print(f"  nautilus_trader, replay: {len(theirs)} trades, {books} messages of the book")


CLIENTS = {
    "kraken-sdk": kraken_sdk, "ccxt-kraken": ccxt_kraken, "ccxt-binance": ccxt_binance,
    "python-binance": python_binance, "binance-connector": binance_connector, "nautilus-tardis": nautilus_tardis,
    "nautilus-replay": nautilus_replay,
}

if __name__ == "__main__":
    try:
        asyncio.run(CLIENTS[sys.argv[1]](sys.argv[2]))
    except ImportError as error:
        print(f"  {error}")
        sys.exit(77)
