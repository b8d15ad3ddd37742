"""Decodes the binary records of `tidegate.v1.bin`, as `BinaryEncoding.md` specifies them. Needs Python 3.9 or later.

    python3 tidegate_binary.py binary.jsonl     checks the decoder against the test vectors

A client: `decode(message, streams)` gives a binary message as a dictionary, like those of `tidegate.v1.json`; None if
its stream or its kind is unknown. `streams` has what replies say of each stream: {2: Stream.of(item)}, where `item`
is an element of `ok`.
"""
import json
import sys
from dataclasses import dataclass, field

CHANNELS = {1: "trades", 2: "quote", 3: "book", 4: "pulse", 5: "ticker", 6: "candles", 7: "sparkline"}
GROUP = 15
REASONS = ["subscribe", "resume", "resync", "slow", "epoch"]
INTERVALS = [("1m", 1), ("5m", 5), ("15m", 15), ("1h", 60), ("4h", 240), ("1d", 1440)]
RANGES = ["1h", "24h", "7d", "30d", "90d", "1y", "all"]
PRICES = ["last", "bid", "ask", "open_24h", "high_24h", "low_24h"]
FIGURES = ["open_24h", "high_24h", "low_24h", "volume_24h", "quote_volume_24h", "vwap_24h", "change_24h", "trades_24h"]


class Violation(Exception):
    """Bytes that the encoding does not have."""


@dataclass
class Stream:
    channel: str
    symbol: str
    base: int
    price_digits: int
    size_digits: int
    # Of a group: the symbol and the digits of each member.
    members: list = field(default_factory=list)

    @classmethod
    def of(cls, item):
        """What a reply says of a stream."""
        if item.get("group"):
            members = list(zip(item["symbols"], item["price_digits"], item["size_digits"]))
            return cls(item["channel"], "", item["base"], 0, 0, members)
        return cls(item["channel"], item["symbol"], item["base"], item["price_digits"], item["size_digits"])


def need(condition, what):
    if not condition:
        raise Violation(what)


def wrap(value):
    """A number as 64 bits in two's complement."""
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def decimal(value, digits):
    if digits == 0:
        return str(value)
    text = str(abs(value)).rjust(digits + 1, "0")
    return f"{'-' if value < 0 else ''}{text[:-digits]}.{text[-digits:]}"


def decode(message, streams):
    """The message of a record; None: the record is not known."""
    return Reader(message).record(streams)


class Reader:
    def __init__(self, data):
        self.data, self.index, self.end = data, 0, len(data)

    # Values

    def byte(self):
        need(self.index < self.end, "a record that is too short")
        self.index += 1
        return self.data[self.index - 1]

    def unsigned(self):
        value = 0
        for position in range(10):
            byte = self.byte()
            need(position < 9 or byte <= 1, "a number of more than 64 bits")
            value |= (byte & 127) << 7 * position
            if byte < 128:
                need(byte != 0 or position == 0, "a number that is longer than necessary")
                return value
        raise Violation("a number of more than 64 bits")

    def signed(self):
        value = self.unsigned()
        return -(value >> 1) - 1 if value & 1 else value >> 1

    def bits(self):
        return wrap(self.unsigned())

    def count(self, size):
        value = self.unsigned()
        need(value <= (self.end - self.index) // size, "more items than bytes are left")
        return value

    def digits(self):
        value = self.byte()
        need(value <= 18, "a decimal of more than 18 digits")
        return value

    def text(self):
        length = self.count(1)
        self.index += length
        return bytes(self.data[self.index - length:self.index]).decode("utf-8", "replace")

    def after(self, value):
        return wrap(value + self.signed())

    def before(self, value):
        return wrap(value - self.signed())

    def price(self, value):
        return decimal(value, self.stream.price_digits)

    def size(self, value):
        return decimal(value, self.stream.size_digits)

    def own(self):
        digits = self.digits()
        return decimal(self.signed(), digits)

    def mark(self, data):
        state = self.byte()
        if state == 1:
            data["state"] = "live"
        if state == 2:
            data["state"], data["reason"] = "syncing", self.text()

    # Records

    def record(self, streams):
        first, number = self.byte(), self.unsigned()
        known, kind = streams.get(number), first & 31
        if known is None or kind not in CHANNELS and kind != GROUP:
            return None
        channel, is_group = known.channel, kind == GROUP
        need(is_group == bool(known.members) and (is_group or CHANNELS[kind] == channel),
             "a record of another channel than its stream's")
        seq, is_snapshot = self.unsigned(), bool(first & 32)
        message = {"type": "snapshot" if is_snapshot else "update", "channel": channel}
        message.update({"group": True} if is_group else {"symbol": known.symbol}, stream=number, seq=seq)
        stream = Stream(channel, known.symbol, known.base, known.price_digits, known.size_digits, known.members)
        if is_snapshot:
            reason = self.byte()
            message["reason"] = REASONS[reason] if reason < len(REASONS) else "unknown"
            stream.base = self.signed()
            if not is_group:
                stream.price_digits, stream.size_digits = self.digits(), self.digits()
            streams[number] = stream
        else:
            step = 1 if first & 64 else self.unsigned()
            need(step <= seq, "an update that follows a number below 0")
            message["prev"] = seq - step
            if first & 128:
                stream.price_digits, stream.size_digits = self.digits(), self.digits()
        self.stream = stream
        self.time = message["time"] = wrap(stream.base + self.bits())
        message["data"] = self.group(is_snapshot) if is_group else getattr(self, channel)(is_snapshot)
        return message

    def group(self, is_snapshot):
        stream, data = self.stream, {}
        need(CHANNELS.get(self.byte()) == stream.channel, "a record of another channel than its stream's")
        if is_snapshot:
            stream.members = [(self.text(), self.digits(), self.digits()) for _ in range(self.count(3))]
            need(stream.members, "a group without members")
            data["members"] = [symbol for symbol, _, _ in stream.members]
        start = self.before(self.time)
        data["updates"] = [self.element(start, is_snapshot) for _ in range(self.count(2))]
        return data

    def element(self, start, is_snapshot):
        head = self.unsigned()
        need(head >> 2 < len(self.stream.members), "an element of no member")
        self.stream.price_digits, self.stream.size_digits = self.stream.members[head >> 2][1:]
        self.time = start
        if head & 2:
            self.stream.price_digits, self.stream.size_digits = self.digits(), self.digits()
            self.time = self.after(start)
        element = {"i": head >> 2}
        if head & 1 and not is_snapshot:
            element["snapshot"] = True
        length, end = self.count(1), self.end
        self.end = self.index + length
        element["data"] = getattr(self, self.stream.channel)(is_snapshot or bool(head & 1))
        self.index, self.end = self.end, end
        return element

    def trades(self, _):
        data = {"trades": []}
        identity, price, time = 0, 0, self.time
        while self.index < self.end:
            # A run of trades with the same flags; one without trades is the last.
            run = self.unsigned()
            need(run >> 5 <= (self.end - self.index) // 4, "more trades than bytes are left")
            if run >> 5 == 0:
                break
            flags = run & 31
            for _ in range(run >> 5):
                if flags & 2:
                    identity = (identity + self.signed()) & ((1 << 64) - 1)
                    trade = {"id": str(identity)}
                else:
                    trade = {"id": self.text()}
                price = self.after(price)
                trade["price"], trade["size"] = self.price(price), self.size(self.bits())
                time = self.after(time)
                trade["side"], trade["time"] = "sell" if flags & 1 else "buy", time
                for bit, name in [(12, "gap"), (8, "renumbered"), (16, "late")]:
                    if flags & bit:
                        trade[name] = True
                data["trades"].append(trade)
        if self.index < self.end:
            self.mark(data)
        if self.index < self.end:
            self.hole(data)
        return data

    def hole(self, data):
        kind = self.byte()
        if kind not in (1, 2):
            return
        first, flags = self.signed(), 0
        hole = {"from_id": str(first), "to_id": str(self.after(first))}
        if kind == 2:
            hole["count"], hole["missing"] = self.signed(), self.signed()
        else:
            flags = self.byte()
            if flags & 1:
                hole["count"] = self.signed()
            hole["requested"] = bool(flags & 2)
        hole["from"] = self.after(self.time)
        hole["to"] = self.after(hole["from"])
        data["lost" if kind == 1 else "found"] = hole

    def quote(self, _):
        data, bid = {}, 0
        size = self.bits()
        if size != 0:
            bid = self.signed()
            data["bid"], data["bid_size"] = self.price(bid), self.size(size)
        size = self.bits()
        if size != 0:
            data["ask"], data["ask_size"] = self.price(self.after(bid)), self.size(size)
        data["time"] = self.before(self.time)
        if self.index < self.end:
            self.mark(data)
        return data

    def side(self, price):
        levels, first = [], None
        for _ in range(self.count(2)):
            price = self.after(price)
            first = price if first is None else first
            size = self.bits()
            levels.append([self.price(price), "0" if size == 0 else self.size(size)])
        return levels, first

    def book(self, is_snapshot):
        flags = self.byte()
        bids, bid = self.side(0)
        asks, ask = self.side(bid or 0)
        data = {"bids": bids, "asks": asks, "time": self.before(self.time)}
        if flags & 1:
            data["state"], data["reason"] = "syncing", self.text()
        elif is_snapshot:
            data["state"] = "live"
            if bid is not None and ask is not None:
                data["spread"] = self.price(wrap(ask - bid))
        if flags & 2:
            data["spread_pct"] = decimal(self.signed(), 4)
        if flags & 4:
            members = self.text()
            need(members.startswith(","), "members without a comma before them")
            try:
                data = {**json.loads("{" + members[1:] + "}"), **data}
            except ValueError as error:
                raise Violation("members that are not JSON") from error
        return data

    def pulse(self, _):
        flags, price = self.byte(), self.signed()
        data = {"price": self.price(price)}
        if flags & 1:
            previous = self.after(price)
            data["direction"], data["previous"] = "up" if price >= previous else "down", self.price(previous)
        if flags & 2:
            data["change_pct"] = decimal(self.signed(), 4)
        if flags & 4:
            data["change_pct_24h"] = decimal(self.signed(), 2)
        data["merged"], data["time"] = self.unsigned(), self.before(self.time)
        if flags & 8:
            self.mark(data)
        return data

    def ticker(self, _):
        fields, source, data, prices, price = self.unsigned(), self.byte(), {}, {}, 0
        for bit, name in enumerate(PRICES):
            if fields & 1 << bit:
                price = prices[name] = self.after(price)
                data[name] = self.price(price)
        for bit, name in [(6, "volume_24h"), (7, "quote_volume_24h"), (8, "vwap_24h"), (9, "change_24h")]:
            if fields & 1 << bit:
                data[name] = self.own()
        if fields & 1 << 10 and not fields & 1 << 9:
            data["change_24h"] = self.price(wrap(prices.get("last", 0) - prices.get("open_24h", 0)))
        if fields & 1 << 11:
            data["change_pct_24h"] = decimal(self.signed(), 2)
        if fields & 1 << 12:
            data["trades_24h"] = self.signed()
        data["source"] = ["venue", "gateway", "mixed"][source] if source < 3 else "unknown"
        if fields & 1 << 13:
            own = self.byte()
            data["own"] = [name for bit, figure in enumerate(FIGURES) if own & 1 << bit
                           for name in ([figure, "change_pct_24h"] if figure == "change_24h" else [figure])]
        if fields & 1 << 14:
            data["covered_from"] = self.before(self.time)
        data["time"] = self.before(self.time)
        if fields & 1 << 15:
            self.mark(data)
        return data

    def candles(self, _):
        interval = self.byte()
        need(interval < len(INTERVALS), "an unknown interval")
        name, minutes = INTERVALS[interval]
        candles, number, close = [], 0, 0
        for _ in range(self.count(7)):
            flags, number = self.byte(), self.after(number)
            first = self.after(close)
            candle = {"time": wrap(number * minutes * 60_000_000), "open": self.price(first),
                      "high": self.price(self.after(first)), "low": self.price(self.after(first))}
            close = self.after(first)
            candle["close"] = self.price(close)
            if flags & 2:
                candle["volume"] = self.own()
            if flags & 4:
                candle["quote_volume"] = self.own()
            if flags & 8:
                candle["trades"] = self.signed()
            candle["closed"], candle["rev"] = bool(flags & 1), self.unsigned()
            candle["source"] = ["own", "partial", "venue", "unknown"][flags >> 4 & 3]
            candles.append(candle)
        return {"interval": name, "candles": candles}

    def sparkline(self, is_snapshot):
        flags = self.byte()
        if not is_snapshot:
            data, price = {"index": self.unsigned()}, self.signed()
            data["price"], data["from"] = self.price(price), self.before(self.time)
            self.change(data, flags, price)
            return data
        kind, price = self.byte(), 0
        need(kind < len(RANGES), "an unknown range")
        data = {"range": RANGES[kind], "from": self.before(self.time), "step_s": self.signed(), "points": []}
        for _ in range(self.count(1)):
            price = self.after(price)
            data["points"].append(self.price(price))
        self.change(data, flags, price)
        if flags & 64:
            data["covered_from"] = self.before(self.time)
        data["gaps"] = []
        for _ in range(self.count(2)):
            start = self.before(self.time)
            data["gaps"].append({"from": start, "to": self.after(start)})
        return data

    def change(self, data, flags, price):
        if not flags & 1:
            return
        if flags & 2:
            data["open"] = self.price(self.after(price))
        data["trend"] = "up" if flags & 16 else "down" if flags & 32 else "flat"
        if flags & 4:
            data["change"] = self.own()
        if flags & 8:
            data["change_pct"] = decimal(self.signed(), 2)


def check(path):
    """Compares every vector of a file with what the decoder makes of it."""
    count = 0
    with open(path, encoding="utf-8") as lines:
        for count, line in enumerate(lines, 1):
            vector = json.loads(line)
            streams = {item["stream"]: Stream.of(item) for item in vector["streams"]}
            try:
                message = decode(bytes.fromhex(vector["hex"]), streams)
                messages = [] if message is None else [message]
            except Violation:
                messages = None
            expected = None if vector.get("error") else vector["messages"]
            if messages != expected:
                sys.exit(f"line {count}: {vector['hex']}\n{expected}\n{messages}")
    if count == 0:
        sys.exit(f"{path} has no vectors")
    print(f"{count} vectors: equal")


if __name__ == "__main__":
    check(sys.argv[1])
