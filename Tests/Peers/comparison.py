"""Compares what a gateway and another client of the same simulated exchange have shown of a market.

Nothing here waits or connects: the input is what both have shown, the output is the differences. So the same comparison
judges a gateway's real output, and the same output with an inserted fault (corruption.py), which it must detect.

What is compared, and what is allowed:

- trades: from the first that both have shown to the end, each by id, price, size, side and ms, exactly once on both sides.
- books, quotes and tickers are states, one after the other. Where both read streams of the same pace (EACH), every state that the
  gateway has shown must be one of the other client's, in the same order, without exception. The gateway shows messages that came
  together as one state, so it may lack up to half of the other's; where it stops before the other, that is wrong. Where the gateway
  reads a slower stream (FEWER), it may lack more, and its last state must be among the last quarter of the other's. Where it
  reads a faster stream than the other client (SOME), every state of the other must be one of the gateway's; a book that is not, must lie
  between two that follow each other: each of its levels as in one of them or in those that the gateway has shown in between.
- tickers that the gateway works out itself (COUNTED): from one to the next, trades and volume grow by the other client's trades, the last
  of which has the price `last`. Where the other client can only ask for tickers now and then (NEAR): within 1 %.
"""

import collections
import itertools
from decimal import Decimal

EACH, FEWER, SOME, COUNTED, NEAR = "each", "each, of a slower stream", "some", "counted", "near"
# States that a client may show at its start which the gateway never has, if not said otherwise: it joined between two
# messages.
LEAD = 5
# What NEAR allows.
TOLERANCE = Decimal("0.01")
# How many differences of each kind are printed.
TOLD = 3


class Rules:
    """How a client's view of a market is compared.

    - levels: of each side of a book. books, quotes, tickers: EACH, SOME, …; None where there is nothing to compare with.
    - lead: how many books the other client may show at its start that the gateway never has.
    - quotes_by_book: the other client's quotes are the best of its book.
    - fields: of tickers, in the gateway's words.
    - trades: whether they are compared. whole_books: each message has the whole book, so that one left out is like one merged.
    - rare_tickers: they come every few seconds, so few that one of them, or their end, is beyond proof.
    - last_by_trades: the venue's trades come later than its tickers, and a ticker's `last` is the newest trade's at the gateway: it is
      compared with the other client's trades.
    """

    def __init__(
        self, levels, books=EACH, quotes=EACH, tickers=None, fields=(), trades=True, whole_books=False, rare_tickers=False,
        quotes_by_book=False, lead=LEAD, last_by_trades=False,
    ):  # fmt: skip
        self.levels, self.books, self.quotes, self.tickers, self.fields = levels, books, quotes, tickers, tuple(fields)
        self.trades, self.whole_books, self.rare_tickers = trades, whole_books, rare_tickers
        self.quotes_by_book, self.lead, self.last_by_trades = quotes_by_book, lead, last_by_trades


class Seen:
    """What another client has shown of a market, in order."""

    def __init__(self):
        self.books, self.trades, self.quotes, self.tickers = [], [], [], []

    @staticmethod
    def _add(states, state):
        if not states or states[-1] != state:
            states.append(state)

    def add_book(self, state):
        self._add(self.books, state)

    def add_quote(self, *quote):
        self._add(self.quotes, quote)

    def add_ticker(self, ticker):
        self._add(self.tickers, ticker)

    def add_trade(self, *trade):
        """(id, price, size, side, ms)."""
        self.trades.append(trade)

    def counts(self):
        return {name: len(getattr(self, name)) for name in ("books", "trades", "quotes", "tickers")}


class Match:
    """The places of the elements of a sequence in another, in order; None for a missing element."""

    def __init__(self, inner, outer, first=0):
        places = collections.defaultdict(list)
        for place, value in enumerate(outer):
            places[value].append(place)
        last = first - 1
        self.places = []
        for value in inner:
            place = next((p for p in places.get(value, ()) if p > last), None)
            self.places.append(place)
            last = last if place is None else place
        self.last = last
        self.lost = sum(place is None for place in self.places)


def judge_states(name, ours, theirs, relation, ours_due, theirs_due, tell, is_between=None, lead_limit=LEAD):
    """Compares two sequences of states.

    - ours_due, theirs_due: how many of each must have been shown by the other; those that came later may still be on their way.
    - tell: words for a state of ours (or of theirs) that the other has not shown.
    - lead_limit: how many of theirs may come before the first that both have.
    - is_between: whether a state of theirs lies between some of ours that follow each other, which is enough for SOME.
    Returns how many both have, the places of the first and last of ours that were compared, and what is wrong.
    """
    known = set(ours)
    lead = next((place for place, state in enumerate(theirs) if state in known), None)
    if lead is None or lead > (lead_limit if relation != FEWER else theirs_due // 2):
        return 0, None, [f"{name}: of {len(theirs)} the gateway has shown none, of its {len(ours)}, at the start"]
    if relation == SOME:
        match = Match(theirs[lead:], ours)
        wrong = []
        for place in range(min(len(match.places), theirs_due - lead)):
            if match.places[place] is None:
                before = next((p for p in reversed(match.places[:place]) if p is not None), 0)
                after = next((p for p in match.places[place:] if p is not None), len(ours) - 1)
                if is_between is None or not is_between(theirs[lead + place], ours[before : after + 1]):
                    wrong.append((lead + place, before))
        problems = []
        if wrong:
            problems.append(f"{name}: {len(wrong)} of {theirs_due - lead} of the other's were never shown by the gateway")
            problems += [tell(theirs[place], ours[max(0, near - 3) : near + 20], "the other", "the gateway") for place, near in wrong[:TOLD]]
        found = sum(place is not None for place in match.places)
        start = next((p for p in match.places if p is not None), 0)
        return found, start, problems
    starts = [place for place, state in enumerate(ours) if state == theirs[lead]]
    start, match = min(((s, Match(ours[s:], theirs, lead)) for s in starts), key=lambda pair: pair[1].lost)
    due = match.places[: max(0, ours_due - start)]
    wrong = [place for place, matched in enumerate(due) if matched is None]
    problems = []
    if wrong:
        problems.append(f"{name}: {len(wrong)} of {len(due)} that the gateway has shown are none of the other's {len(theirs)}")
        for place in wrong[:TOLD]:
            near = next((p for p in reversed(match.places[:place]) if p is not None), lead)
            problems.append(tell(ours[start + place], theirs[max(0, near - 3) : near + 20], "the gateway", "the other"))
    end = theirs_due if relation == EACH else theirs_due * 3 // 4
    if match.last < end - 1:
        problems.append(
            f"{name}: the gateway stopped {theirs_due - 1 - match.last} before the other's {theirs_due}, after {len(due)} of its own"
        )
    found = sum(place is not None for place in match.places)
    if relation == EACH and found * 2 < theirs_due - lead:
        problems.append(f"{name}: the gateway has shown only {found} of the other's {theirs_due - lead}")
    return found, start, problems


def is_book_between(state, shown):
    """Whether each level of a book is as in one of the books `shown`, at that price."""
    for side in range(2):
        allowed, prices = set(), set()
        for other in shown:
            allowed.update(other[side])
            prices.update(price for price, _ in other[side])
        if not set(state[side]) <= allowed:
            return False
        # A level that is gone here must be gone in one of them.
        here = {price for price, _ in state[side]}
        always = set.intersection(*({price for price, _ in other[side]} for other in shown))
        worst = state[side][-1][0]
        inside = (lambda p: Decimal(p) > Decimal(worst)) if side == 0 else (lambda p: Decimal(p) < Decimal(worst))
        if any(inside(price) for price in always - here):
            return False
    return True


def tell_book(state, others, whose, other):
    """The levels in which a book differs from the nearest of the other's."""

    def difference(nearest):
        lines = []
        for side, word in enumerate(("bid", "ask")):
            mine, yours = dict(state[side]), dict(nearest[side])
            lines += [
                f"{word} {price}: {mine.get(price, 'none')} at {whose}, {yours.get(price, 'none')} at {other}"
                for price in sorted(mine.keys() | yours.keys(), key=Decimal)
                if mine.get(price) != yours.get(price)
            ]
        return lines

    nearest = min((difference(book) for book in others), key=len, default=["nothing to compare it with"])
    return f"  a book of {whose} differs from the nearest of {other} in {len(nearest)} levels: {'; '.join(nearest[:4])}"


def tell_tuple(state, others, whose, other):
    nearest = max(others, key=lambda value: sum(a == b for a, b in zip(value, state)), default=None)
    return f"  {whose} has {state}, the nearest of {other} is {nearest}"


def judge_trades(ours, theirs, ours_due, theirs_due):
    """Compares trades one by one; returns how many both have, and what is wrong."""
    mine, yours = ({trade[0]: trade for trade in trades} for trades in (ours, theirs))
    common = mine.keys() & yours.keys()
    if not common:
        return 0, None, [f"trades: the gateway has shown {len(ours)}, the other {len(theirs)}, and none that both have"]
    problems = []

    def report(wrong, words):
        if wrong:
            problems.append(f"trades: {len(wrong)} {words}: {'; '.join(str(trade) for trade in wrong[:TOLD])}")

    start = next(place for place, trade in enumerate(ours) if trade[0] in common)
    their_start = next(place for place, trade in enumerate(theirs) if trade[0] in common)
    # What a client is told at its start may reach further back than what the other was told, newest first or last.
    ours_from, theirs_from = (min(trade[4] for trade in trades) for trades in (ours, theirs))
    due = [trade for trade in ours[start:ours_due] if trade[4] > theirs_from]
    report([trade for trade in due if trade[0] not in yours], f"of the gateway's {len(due)} were never shown by the other")
    due = [trade for trade in theirs[their_start:theirs_due] if trade[4] > ours_from]
    report([trade for trade in due if trade[0] not in mine], f"of the other's {len(due)} were never shown by the gateway")
    report([(mine[i], yours[i]) for i in sorted(common) if mine[i] != yours[i]], "differ (the gateway's, the other's)")
    for trades, whose in ((ours, "the gateway"), (theirs, "the other")):
        counts = collections.Counter(trade[0] for trade in trades)
        report([(trade, count) for trade, count in counts.items() if count > 1], f"were shown more than once by {whose}")
    return len(common), start, problems


def judge_counted(ours, theirs):
    """Tickers that the gateway works out, by the trades of the other client.

    ours: those that follow the first trade that both have shown. Of the first it is found out which trade is its last.
    """
    if len(ours) < 2:
        return 0, [f"tickers: {len(ours)} since the first trade that both have shown"]
    totals = [Decimal(0), *itertools.accumulate(Decimal(trade[2]) for trade in theirs)]
    base, best = ours[0], None
    for offset in range(1, len(theirs) + 1):
        if theirs[offset - 1][1] != base["last"]:
            continue
        wrong, right = [], 0
        for ticker in ours:
            place = offset + int(Decimal(ticker["trades_24h"]) - Decimal(base["trades_24h"]))
            grown = Decimal(ticker["volume_24h"]) - Decimal(base["volume_24h"])
            if place > len(theirs):
                continue
            expected = (theirs[place - 1][1], totals[place] - totals[offset]) if place > 0 else None
            if expected == (ticker["last"], grown):
                right += 1
            else:
                wrong.append(f"  last {ticker['last']}, volume grown by {grown}; by the other's trades {expected}")
        if best is None or right > best[0]:
            best = right, wrong
    if best is None:
        return 0, ["tickers: the first that both could show has no trade of the other's as its last"]
    right, wrong = best
    if wrong or right < 2:
        return right, [f"tickers: {len(wrong)} of {len(ours)} do not follow from the other's trades, {right} do", *wrong[:TOLD]]
    return right, []


def judge_lasts(ours, theirs):
    """The last prices of tickers, of which each must be that of a trade of the other client's, in the order of trading."""
    lasts = [last for last, _ in itertools.groupby(ticker.get("last") for ticker in ours)]
    prices = [trade[1] for trade in sorted(theirs, key=lambda trade: int(trade[0]))]
    if len(lasts) < 2:
        return [f"tickers: {len(lasts)} last prices since the first trade that both have shown"]
    wrong = [last for last, place in zip(lasts, Match(lasts, prices).places) if place is None]
    return [f"tickers: {len(wrong)} of {len(lasts)} last prices are none of the other's trades: {', '.join(map(str, wrong[:TOLD]))}"] if wrong else []


def judge_near(ours, theirs, fields):
    """Tickers that the other client requested at its own moments."""
    problems, close = [], lambda a, b: abs(Decimal(a) - Decimal(b)) <= TOLERANCE * abs(Decimal(b))
    for field in fields:
        # The gateway leaves out a field that the venue has not sent yet, or computes it and marks that. A known field
        # stays.
        told = (None if field in ticker.get("own", ()) else ticker.get(field) for ticker in ours)
        values = list(itertools.dropwhile(lambda value: value is None, told))
        far = [value for value in values if value is None or not any(close(value, other[field]) for other in theirs)]
        if far or not values:
            problems.append(f"tickers: {field} is {far[:1] or 'never told'} at the gateway, {theirs[-1][field]} at the other")
    return len(ours), problems


class Due:
    """How much of each side the other one must have shown: everything up to a moment."""

    def __init__(self, message_count, seen):
        self.message_count, self.seen = message_count, seen.counts()
        # The first book that both have shown: the gateway's message, and its place among the other's books. Until it is
        # there, a client joins a snapshot and updates, and its book is nobody's.
        self.first_book = None
        # The gateway's message with the first trade that both have shown, as soon as that is known.
        self.first_trade = None

    def of(self, records):
        return sum(place < self.message_count for place, _ in records)


def judge(channel, published, seen, rules, due):
    """Compares one channel (`book`, `trades`, `quote` or `ticker`).

    Returns how many both have shown, the message of the gateway's at which the comparison starts, and what is wrong.
    """
    name = {"book": "books", "trades": "trades", "quote": "quotes", "ticker": "tickers"}[channel]
    records, theirs = getattr(published, name), getattr(seen, name)
    ours, ours_due, theirs_due = [value for _, value in records], due.of(records), due.seen[name]
    has_own = not (channel == "ticker" and rules.tickers == COUNTED or channel == "quote" and rules.quotes_by_book)
    if not ours or (has_own and not theirs):
        return 0, None, [f"{name}: the gateway has shown {len(ours)}, the other {len(theirs)}"]
    if channel == "book":
        count, start, problems = judge_states(name, ours, theirs, rules.books, ours_due, theirs_due, tell_book, is_book_between, rules.lead)
        if start is not None:
            due.first_book = records[start][0], next(place for place, state in enumerate(theirs) if state in ours)
    elif channel == "quote" and rules.quotes_by_book:
        return judge_best(records, seen, rules, due)
    elif channel == "quote":
        count, start, problems = judge_states(name, ours, theirs, rules.quotes, ours_due, theirs_due, tell_tuple)
    elif channel == "trades":
        count, start, problems = judge_trades(ours, theirs, ours_due, theirs_due)
    elif rules.tickers == COUNTED:
        since = [ticker for place, ticker in records if due.first_trade is not None and place > due.first_trade]
        count, problems = judge_counted(since, seen.trades)
        return count, due.first_trade, problems
    elif rules.tickers == NEAR:
        count, problems = judge_near(ours, theirs, rules.fields)
        start = 0
    else:
        pick = lambda ticker: tuple(ticker.get(field) for field in rules.fields)
        # A ticker that differs only in other fields counts as the same.
        ours_picked, theirs_picked = [pick(t) for t in ours], [pick(t) for t in theirs]
        squeezed = without_repeats(ours_picked, theirs_picked, ours_due, theirs_due)
        count, start, problems = judge_states(name, *squeezed[:2], rules.tickers, *squeezed[2:], tell_tuple)
        if rules.last_by_trades:
            since = [t for place, t in records if due.first_trade is not None and due.first_trade < place < due.message_count]
            problems += judge_lasts(since, seen.trades)
    return count, records[start][0] if start is not None else None, problems


def best_of(books):
    """The quotes that books show, without repeats."""
    return [quote for quote, _ in itertools.groupby((*bids[0], *asks[0]) for bids, asks in books)]


def judge_best(records, seen, rules, due):
    """Compares quotes with the best of the other's books, from the first book on that both have shown."""
    if due.first_book is None:
        return 0, None, ["quotes: no book that both have shown"]
    place, first = due.first_book
    records = [record for record in records if record[0] > place]
    ours, theirs = [value for _, value in records], best_of(seen.books[first:])
    theirs_due = len(best_of(seen.books[first : due.seen["books"]]))
    if not ours:
        return 0, None, ["quotes: the gateway has shown none since the first book that both have shown"]
    # If the client's book goes back once more while it joins, the comparison of books reports it.
    count, start, problems = judge_states(
        "quotes", ours, theirs, rules.quotes, due.of(records), theirs_due, tell_tuple, lead_limit=theirs_due // 2
    )
    return count, records[start][0] if start is not None else None, problems


def without_repeats(ours, theirs, ours_due, theirs_due):
    """Both lists with states that repeat the one before left out, and how many of each are due then."""

    def squeeze(states, due):
        kept, count = [], 0
        for place, state in enumerate(states):
            if not kept or kept[-1] != state:
                kept.append(state)
            count = len(kept) if place < due else count
        return kept, count

    ours, ours_due = squeeze(ours, ours_due)
    theirs, theirs_due = squeeze(theirs, theirs_due)
    return ours, theirs, ours_due, theirs_due


def channels(rules):
    """What is compared."""
    named = (("book", rules.books), ("trades", rules.trades), ("quote", rules.quotes), ("ticker", rules.tickers))
    return [channel for channel, relation in named if relation]
