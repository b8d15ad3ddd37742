"""What every client of tidegate.v1 must see, whatever library it is written with.

Pass the text messages to `Checker.take` in order; it returns the next message to send, or None. `finish` returns a
report.
"""

import json
import os
import time

SECONDS = float(os.environ.get("PEER_SECONDS", "4"))
# On a busy machine the required messages may arrive late.
PATIENCE = 40
SYMBOLS = os.environ["PEER_SYMBOLS"].split(",")
SUBPROTOCOL = "tidegate.v1.json"
HELLO = json.dumps({"op": "hello", "id": "h", "client": "peer", "heartbeat_s": 1})
CHANNELS = ["trades", "quote", "ticker", "pulse", "sparkline"]
SUBSCRIBE = json.dumps(
    {
        "op": "subscribe",
        "id": 1,
        "streams": [{"channel": channel, "symbols": SYMBOLS} for channel in CHANNELS]
        + [{"channel": "book", "symbols": SYMBOLS, "depth": 25, "interval_ms": 100}, {"channel": "status"}],
    }
)


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


class Checker:
    def __init__(self):
        self.seqs = {}
        self.counts = {}
        self.data_frames = 0
        self.start = time.monotonic()

    def is_watching(self):
        """True for `SECONDS`, and longer until enough has arrived, at most `PATIENCE` seconds."""
        elapsed = time.monotonic() - self.start
        return elapsed < SECONDS or (elapsed < PATIENCE and not self.has_enough())

    def has_enough(self):
        seen = self.counts
        return seen.get("snapshot", 0) > 20 and seen.get("update", 0) > 20 and seen.get("heartbeat", 0) >= SECONDS / 4

    def take(self, text):
        message = json.loads(text)
        kind = message["type"]
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if kind == "welcome":
            return SUBSCRIBE
        if kind == "subscribed":
            expect(not message["failed"], f"not subscribed: {message['failed']}")
        elif kind == "snapshot":
            expect("subscribed" in self.counts, "a snapshot before the subscription was answered")
            self.data_frames += 1
            self.seqs[message["stream"]] = message["seq"]
        elif kind == "update":
            self.data_frames += 1
            stream, last = message["stream"], self.seqs.get(message["stream"])
            expect(last is not None or message["channel"] == "trades", f"update before a snapshot: {text[:200]}")
            expect(last in (None, message["prev"]), f"prev {message['prev']} after {last}: {text[:200]}")
            self.seqs[stream] = message["seq"]
        elif kind == "heartbeat":
            expect(message["sent"] == self.data_frames, f"sent {message['sent']}, received {self.data_frames}")
        elif kind != "notice":
            raise Failure(f"unexpected: {text[:200]}")
        return None

    def finish(self):
        seen = self.counts
        expect(seen.get("welcome") == 1 and seen.get("subscribed") == 1, f"no welcome or reply: {seen}")
        expect(self.has_enough(), f"too little came: {seen}")
        return seen
