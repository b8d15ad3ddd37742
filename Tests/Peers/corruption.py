"""Puts faults into what a gateway has published. The comparison that has just passed must detect each of them.

A fault takes the messages of one channel, as (place, message), and the places between which the comparison looks and how many messages
later than usual to strike (`within`); it gives other messages. One of `EVERY` means one of twenty, the fifth first, so that short trials have some.
"""

import copy
from decimal import Decimal

from comparison import COUNTED, EACH, NEAR, SOME, Due, Match, judge
from gateway_view import Published

EVERY, FIRST = 20, 4
# How many messages later a fault is tried if it is none: of a level that is too deep to be compared, or an update left
# out before one that sets the same level, which is the same as the two merged.
PHASES = 8


def compared(messages, within):
    """The compared places, without the first."""
    return [place for place, _ in messages if within[0] < place < within[1]]


def chosen(messages, within, of=EVERY):
    """The changed messages: the fifth and every twentieth after it."""
    return set(compared(messages, within)[(FIRST if of == EVERY else 0) + within[2] :: of])


def tripled(text):
    return str(Decimal(text) * 3)


def alter(change, of=EVERY):
    """A fault that changes `data` of one of `of` messages by `change`."""

    def fault(messages, within):
        struck = {place for place, _ in messages} if of == 1 else chosen(messages, within, of)
        altered = []
        for place, message in messages:
            if place in struck:
                message = copy.deepcopy(message)
                change(message["data"])
            altered.append((place, message))
        return altered

    return fault


def resize_level(data):
    """Changes the size of the best changed level of an update; drops an update that only removes levels."""
    for side in ("bids", "asks"):
        for level in data.get(side, ()):
            if Decimal(level[1]) != 0:
                level[1] = tripled(level[1])
                return
    for side in ("bids", "asks"):
        if data.get(side):
            del data[side][0]
            return


def leave_out(messages, within):
    struck = chosen(messages, within)
    return [pair for pair in messages if pair[0] not in struck]


def stop(messages, within):
    """Drops everything after the first half."""
    places = compared(messages, within)
    return [pair for pair in messages if pair[0] < places[len(places) // 2]] if places else messages


def of_trades(change, of=EVERY):
    """A fault of one of `of` trades: `change` gives the trades that stand in its place."""

    def fault(messages, within):
        count, altered = 0, []
        for place, message in messages:
            trades, is_compared = [], within[0] < place < within[1]
            for trade in message["data"]["trades"]:
                count += is_compared
                is_struck = is_compared and count % of == (FIRST + 1 + within[2]) % of
                trades += change(dict(trade)) if is_struck else [trade]
            altered.append((place, message | {"data": {"trades": trades}}))
        return altered

    return fault


def times_three(*keys):
    def change(data):
        for key in keys or [key for key in data if key not in ("time", "source", "own")]:
            if key in data:
                data[key] = data[key] * 3 if isinstance(data[key], int) else tripled(data[key])

    return change


def drop_key(key):
    return lambda data: data.pop(key, None)


OTHER = {"buy": "sell", "sell": "buy"}


def book_faults(rules):
    found = {"one update in 20 has another size": alter(resize_level), "the updates stop halfway": stop}
    return found if rules.whole_books else found | {"one update in 20 is left out": leave_out}


def trade_faults(_):
    def altered(**change):
        return of_trades(lambda trade: [trade | {key: new(trade) for key, new in change.items()}])

    return {
        "one trade in 20 is left out": of_trades(lambda trade: []),
        "half of the trades are left out": of_trades(lambda trade: [], of=2),
        "one trade in 20 comes twice": of_trades(lambda trade: [trade, trade]),
        "one trade in 20 has another price": altered(price=lambda trade: tripled(trade["price"])),
        "one trade in 20 has another size": altered(size=lambda trade: tripled(trade["size"])),
        "one trade in 20 has the other side": altered(side=lambda trade: OTHER[trade["side"]]),
        "one trade in 20 has another time": altered(time=lambda trade: trade["time"] + 1_000_000),
        "one trade in 20 has another id": altered(id=lambda trade: trade["id"] + "0"),
        "the trades stop halfway": stop,
    }


def quote_faults(rules):
    # The other client has not seen all quotes where its stream is the slower one.
    of = 3 if rules.quotes == SOME else EVERY
    return {
        f"one quote in {of} has another bid": alter(times_three("bid"), of),
        f"one quote in {of} has another ask size": alter(times_three("ask_size"), of),
        f"one quote in {of} has no ask": alter(drop_key("ask"), of),
        "every quote is tripled": alter(times_three(), of=1),
        "the quotes stop halfway": stop,
    }


def ticker_faults(rules):
    found = {"every ticker is tripled": alter(times_three(), of=1)}
    fields = ("last", "volume_24h", "trades_24h") if rules.tickers == COUNTED else [f for f in rules.fields if f != "time"]
    if rules.last_by_trades:
        fields = ["last", *fields]
    for field in fields:
        found[f"{field} of every ticker is tripled"] = alter(times_three(field), of=1)
    if rules.tickers == NEAR or rules.rare_tickers:
        return found
    if rules.tickers == EACH:
        found["the tickers stop halfway"] = stop
    found[f"{fields[0]} of one ticker in 3 is tripled"] = alter(times_three(fields[0]), of=3)
    return found


FAULTS = {"book": book_faults, "trades": trade_faults, "quote": quote_faults, "ticker": ticker_faults}


def proof(channel, messages, start, seen, rules, due: Due):
    """Puts each fault into what a gateway has published. Returns their number, and those that the comparison did not
    detect."""
    mine = [(place, message) for place, message in enumerate(messages) if message["channel"] == channel]
    truth = shown(mine, channel, rules, due)
    unnoticed, faults = [], FAULTS[channel](rules)
    for name, fault in faults.items():
        for phase in range(PHASES):
            altered = fault(mine, (start or 0, due.message_count, phase))
            changed = shown(altered, channel, rules, due)
            if changed != truth and (channel == "trades" or fault is stop or Match(changed, truth).lost):
                break
        else:
            unnoticed.append(f"there was too little to try whether it is noticed that {name}")
            continue
        if not judge(channel, Published(altered, rules.levels), seen, rules, due)[2]:
            unnoticed.append(f"it is not noticed when {name}")
    return len(faults), unnoticed


def shown(messages, channel, rules, due):
    """What is compared of the messages of a channel, as values that can be found again."""
    published = Published(messages, rules.levels)
    records = {"book": published.books, "trades": published.trades, "quote": published.quotes, "ticker": published.tickers}[channel]
    return [tuple(value.items()) if channel == "ticker" else value for place, value in records if place < due.message_count]
