"""Reads what a gateway publishes of markets that another client follows at the same simulated exchange.

usage: gateway_view.py URL SYMBOL… (a process of its own: prints the gateway's messages, a line each, until its standard input ends)
"""

import asyncio
import bisect
import functools
import json
import os
import sys
import tempfile
import urllib.request
from decimal import Decimal
from urllib.parse import urlsplit

import websockets

CHANNELS = ("book", "trades", "quote", "ticker")
# Seconds until every book must be live.
PATIENCE = 60
# Messages that are kept of all symbols together: minutes of what the trials need seconds of.
KEPT = 200_000


@functools.lru_cache(1 << 16)
def plain(number):
    """A number in one spelling: `0.50`, `0.5` and `5e-1` become the same text. None stays None."""
    if number is None:
        return None
    value = Decimal(str(number))
    return format(value.normalize(), "f") if value else "0"


def top(bids, asks, levels, size=1):
    """The best levels of both sides, sizes times `size`."""
    scaled = (lambda s: plain(Decimal(str(s)) * size)) if size != 1 else plain
    return tuple(tuple((plain(level[0]), scaled(level[1])) for level in list(side)[:levels]) for side in (bids, asks))


class Side:
    """One side of a book, by price."""

    def __init__(self, sign):
        self.sign, self.ranks, self.sizes = sign, [], {}

    def clear(self):
        self.ranks.clear()
        self.sizes.clear()

    def set(self, price, size):
        rank = self.sign * Decimal(price)
        place = bisect.bisect_left(self.ranks, rank)
        is_there = place < len(self.ranks) and self.ranks[place] == rank
        if plain(size) == "0":
            if is_there:
                del self.ranks[place]
                del self.sizes[rank]
            return
        if not is_there:
            self.ranks.insert(place, rank)
        self.sizes[rank] = (plain(price), plain(size))

    def top(self, levels):
        return tuple(self.sizes[rank] for rank in self.ranks[:levels])


class Published:
    """A gateway's messages about one symbol, read: what was shown, in its order.

    Each record is (place of its message, value): `books` are the best levels of both sides, `quotes` (bid, size, ask, size), `tickers` are
    `data` with plain numbers, `trades` (id, price, size, side, ms). What repeats the state before is left out.
    """

    def __init__(self, messages, levels):
        """messages: (place, message) in order; of one channel or of all."""
        self.books, self.trades, self.quotes, self.tickers = [], [], [], []
        sides = Side(-1), Side(1)
        for place, message in messages:
            channel, data = message["channel"], message["data"]
            if channel == "book":
                if message["type"] == "snapshot":
                    for side in sides:
                        side.clear()
                for side, changed in zip(sides, (data.get("bids", ()), data.get("asks", ()))):
                    for price, size in changed:
                        side.set(price, size)
                self.add(self.books, place, tuple(side.top(levels) for side in sides))
            elif channel == "trades":
                self.trades += [
                    (place, (t["id"], plain(t["price"]), plain(t["size"]), t["side"], t["time"] // 1000)) for t in data["trades"]
                ]
            elif channel == "quote":
                self.add(self.quotes, place, tuple(plain(data.get(key)) for key in ("bid", "bid_size", "ask", "ask_size")))
            elif channel == "ticker":
                # Whose figures they are (`source`, `own`) is not a figure; `own` is kept, for what the venue has not said yet.
                figures = {key: plain(value) for key, value in data.items() if key not in ("source", "own")}
                self.add(self.tickers, place, figures | {"own": tuple(data.get("own", ()))})

    @staticmethod
    def add(records, place, value):
        if not records or records[-1][1] != value:
            records.append((place, value))


async def print_messages(url, symbols):
    """Reads as fast as the gateway sends, so that it never has a reason to send less."""
    loop = asyncio.get_running_loop()
    loop.run_in_executor(None, lambda: (sys.stdin.read(), os._exit(0)))
    async with websockets.connect(url, subprotocols=["tidegate.v1.json"], max_size=None) as socket:
        await socket.send(json.dumps({"op": "subscribe", "id": 1, "streams": [
            {"channel": channel, "symbols": symbols, "interval_ms": 0} | ({"depth": "full"} if channel == "book" else {})
            for channel in CHANNELS
        ]}))  # fmt: skip
        async for text in socket:
            print(text, flush=True)


class GatewayView:
    """The messages of a gateway about some symbols, as they came.

    A separate process reads them into a file. The libraries in this process sometimes block the event loop for a second
    or more. A gateway sends such a slow reader fewer, merged messages, which could not be compared.
    """

    def __init__(self, url, symbols):
        self.url = url
        self.messages = {symbol: [] for symbol in symbols}
        self.live = set()
        self.count = 0

    async def run(self):
        """Follows the gateway; ends only with an error."""
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            reader = await asyncio.create_subprocess_exec(
                sys.executable, os.path.abspath(__file__), self.url, *self.messages,
                stdin=asyncio.subprocess.PIPE, stdout=output, stderr=errors,
            )  # fmt: skip
            try:
                offset, rest = 0, b""
                while True:
                    has_ended = reader.returncode is not None
                    # The process writes at the file's own position, which is shared; reading at an offset leaves it
                    # alone.
                    while part := os.pread(output.fileno(), 1 << 20, offset):
                        offset += len(part)
                        *lines, rest = (rest + part).split(b"\n")
                        for line in lines:
                            self.take(json.loads(line))
                    if has_ended:
                        raise RuntimeError(f"the connection to the gateway ended: {os.pread(errors.fileno(), 4096, 0).decode()}")
                    await asyncio.sleep(0.05)
            finally:
                if reader.returncode is None:
                    reader.kill()
                    await reader.wait()

    def take(self, message):
        if message["type"] in ("subscribed", "error") and (message.get("failed") or message["type"] == "error"):
            raise RuntimeError(f"the gateway refused: {message}")
        if message["type"] == "notice":
            raise RuntimeError(f"the gateway says that something is amiss: {message}")
        if message["type"] not in ("snapshot", "update"):
            return
        symbol = message["symbol"]
        self.messages[symbol].append(message)
        self.count += 1
        if self.count > KEPT:
            raise RuntimeError(f"more than {KEPT} messages")
        if message["channel"] == "book":
            self.live.add(symbol)

    async def wait_until_live(self, following):
        """Waits until every book has arrived, `following` has ended, or the time is up."""
        for _ in range(PATIENCE * 10):
            if len(self.live) == len(self.messages) or following.done():
                break
            await asyncio.sleep(0.1)
        missing = sorted(set(self.messages) - self.live)
        if missing and not following.done():
            raise RuntimeError(f"the gateway has no book of {', '.join(missing)} after {PATIENCE} s")

    def instruments(self):
        """The gateway's instruments by their symbols."""
        with urllib.request.urlopen(f"http://{urlsplit(self.url).netloc}/v1/instruments") as answer:
            return {instrument["symbol"]: instrument for instrument in json.load(answer)["instruments"]}


if __name__ == "__main__":
    asyncio.run(print_messages(sys.argv[1], sys.argv[2:]))
