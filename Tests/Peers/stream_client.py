"""A client of tidegate.v1 written with the `websockets` package: checks what the protocol promises.

Usage: stream_client.py ws://HOST:PORT   (PEER_SECONDS: how long to watch)
"""

import asyncio
import json
import os
import sys
import urllib.request

import websockets

SECONDS = float(os.environ.get("PEER_SECONDS", "10"))
CHANNELS = ["trades", "quote", "ticker", "pulse", "book", "sparkline", "status"]


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


class Book:
    def __init__(self, data):
        self.sides = {side: dict(data[side]) for side in ("bids", "asks")}

    def update(self, data):
        for side in ("bids", "asks"):
            for price, size in data.get(side, []):
                if float(size) == 0:
                    self.sides[side].pop(price, None)
                else:
                    self.sides[side][price] = size

    def state(self):
        bids = sorted(self.sides["bids"].items(), key=lambda level: -float(level[0]))
        asks = sorted(self.sides["asks"].items(), key=lambda level: float(level[0]))
        return json.dumps([bids, asks])


class Watcher:
    """One connection; follows every stream by the rules of the protocol, and stores the book after each seq."""

    def __init__(self, url, name):
        self.url, self.name = url, name
        self.streams, self.seqs, self.books, self.states = {}, {}, {}, {}
        self.updates = self.snapshots = self.heartbeats = self.data_frames = 0
        self.by_channel = {}

    async def run(self, symbols, seconds):
        async with websockets.connect(
            self.url, subprotocols=["tidegate.v1.json"], max_size=16 << 20
        ) as socket:
            expect(socket.subprotocol == "tidegate.v1.json", "the subprotocol was not chosen")
            await socket.send(json.dumps({"op": "hello", "id": "h", "client": "peer-test", "heartbeat_s": 1}))
            welcome = json.loads(await socket.recv())
            expect(welcome["type"] == "welcome" and welcome["id"] == "h", f"no welcome: {welcome}")
            wanted = [{"channel": c, "symbols": symbols} for c in CHANNELS if c not in ("book", "status")]
            wanted += [{"channel": "status"}]
            wanted += [{"channel": "book", "symbols": symbols, "depth": d, "interval_ms": 0} for d in (10, 25, 100)]
            wanted += [{"channel": "book", "symbols": symbols, "depth": "full", "interval_ms": 100}]
            wanted += [{"channel": "book", "symbols": ["kraken:NOPE-USD"]}]
            await socket.send(json.dumps({"op": "subscribe", "id": 2, "streams": wanted}))
            end = asyncio.get_running_loop().time() + seconds
            while (left := end - asyncio.get_running_loop().time()) > 0:
                try:
                    self.take(json.loads(await asyncio.wait_for(socket.recv(), left)))
                except asyncio.TimeoutError:
                    break
            await socket.send(json.dumps({"op": "list", "id": 3}))
            await socket.send(json.dumps({"op": "nonsense", "id": 4}))
            replies = {}
            while len(replies) < 2:
                message = json.loads(await asyncio.wait_for(socket.recv(), 10))
                if message.get("id") in (3, 4):
                    replies[message["id"]] = message
                else:
                    self.take(message)
            expect(replies[4]["type"] == "error" and "nonsense" in replies[4]["message"], f"{replies[4]}")
        self.check()

    def take(self, message):
        kind = message["type"]
        if kind == "subscribed":
            expect(len(message["failed"]) == 1, f"one symbol should fail: {message['failed']}")
            expect(message["failed"][0]["error"]["code"] == "unknown_symbol", f"{message['failed']}")
            for item in message["ok"]:
                self.streams[item["stream"]] = item
        elif kind == "snapshot":
            self.snapshots += 1
            self.data_frames += 1
            stream = message["stream"]
            expect(stream in self.streams, f"a snapshot of {stream} before its subscription was answered")
            self.seqs[stream] = message["seq"]
            if message["channel"] == "book":
                self.books[stream] = Book(message["data"])
                self.remember(stream, message["seq"])
        elif kind == "update":
            self.updates += 1
            self.data_frames += 1
            stream = message["stream"]
            expect(stream in self.streams, f"an update of unknown stream {stream}")
            if message["channel"] != "trades":
                expect(stream in self.seqs, f"{message['channel']} {message.get('symbol')}: update before its snapshot")
            if stream in self.seqs:
                expect(
                    message["prev"] == self.seqs[stream],
                    f"{message['channel']} {message.get('symbol')}: prev {message['prev']} after {self.seqs[stream]}",
                )
            self.seqs[stream] = message["seq"]
            self.by_channel[message["channel"]] = self.by_channel.get(message["channel"], 0) + 1
            if message["channel"] == "book":
                self.books[stream].update(message["data"])
                self.remember(stream, message["seq"])
        elif kind == "heartbeat":
            self.heartbeats += 1
            expect(message["sent"] == self.data_frames, f"sent {message['sent']}, received {self.data_frames}")
            for venue in ("kraken", "coinbase", "binance"):
                expect(venue in message["feeds"], f"no {venue} in {message}")
        elif kind not in ("notice", "welcome", "pong"):
            raise Failure(f"unexpected message {message}")

    def remember(self, stream, seq):
        self.states.setdefault(stream, {})[seq] = self.books[stream].state()

    def check(self):
        expect(self.streams, "the subscription was never answered")
        for channel in ("trades", "quote", "pulse", "book", "sparkline"):
            expect(self.by_channel.get(channel, 0) > 0, f"no update on {channel}")
        expect(self.heartbeats >= SECONDS / 4, f"{self.heartbeats} heartbeats")
        for stream, item in self.streams.items():
            if item["channel"] in ("book", "quote", "ticker", "pulse", "sparkline", "status"):
                expect(stream in self.seqs, f"nothing on {item}")


def get(url, path):
    with urllib.request.urlopen(url.replace("ws://", "http://") + path, timeout=10) as answer:
        return json.loads(answer.read())


async def main(url):
    for _ in range(100):
        instruments = get(url, "/v1/instruments")["instruments"]
        live = [i["symbol"] for i in instruments if i["state"] == "live"]
        if len({s.split(":")[0] for s in live}) == 3:
            break
        await asyncio.sleep(0.2)
    chosen = [next(s for s in live if s.startswith(v + ":BTC")) for v in ("kraken", "coinbase", "binance")]
    chosen += [s for s in live if ":ZEC-" in s]
    expect(len(chosen) >= 4, f"no ZEC among {live}")
    first, late = Watcher(url + "/v1/stream", "first"), Watcher(url + "/v1/stream", "late")

    async def join_late():
        await asyncio.sleep(SECONDS / 2)
        await late.run(chosen, SECONDS / 2)

    async def read_books():
        """`/v1/books` must be a book that the stream also showed."""
        bodies = []
        await asyncio.sleep(SECONDS / 4)
        for _ in range(int(SECONDS)):
            for symbol in chosen:
                bodies.append((symbol, await asyncio.to_thread(get, url, f"/v1/books/{symbol}?depth=25")))
            await asyncio.sleep(0.25)
        return bodies

    _, _, bodies = await asyncio.gather(first.run(chosen, SECONDS), join_late(), read_books())

    compared = 0
    for stream, states in late.states.items():
        for seq, state in states.items():
            if seq in first.states.get(stream, {}):
                compared += 1
                expect(first.states[stream][seq] == state, f"stream {stream}: two clients differ at seq {seq}")
    expect(compared > 20, f"only {compared} books could be compared")
    by_symbol = {
        item["symbol"]: set(first.states[stream].values())
        for stream, item in first.streams.items()
        if item["channel"] == "book" and item.get("depth") == 25
    }
    found = sum(Book(body).state() in by_symbol[symbol] for symbol, body in bodies)
    expect(found == len(bodies) > 0, f"{len(bodies) - found} of {len(bodies)} books of /v1/books were never streamed")
    print(
        f"  {first.snapshots} snapshots, {first.updates} updates {first.by_channel}, {first.heartbeats} heartbeats; "
        f"{compared} books equal between two clients, {found} of {len(bodies)} equal to /v1/books"
    )


try:
    asyncio.run(main(sys.argv[1]))
except Failure as failure:
    print(f"  {failure}")
    sys.exit(1)
