"""Values portfolios with Python's decimal module: one JSON portfolio a line in, one JSON valuation a line out."""
import json, sys
from decimal import Decimal as D, getcontext, ROUND_HALF_EVEN

getcontext().prec = 400


def q(x, digits):
    return x.quantize(D(1).scaleb(-digits), rounding=ROUND_HALF_EVEN)


def text(x, digits=None):
    if x is None:
        return None
    if digits is not None:
        x = q(x, digits)
    out = format(x, "f")
    if "." in out:
        out = out.rstrip("0").rstrip(".")
    return "0" if out in ("-0", "") else out


class Ledger:
    def __init__(self, method, is_currency):
        self.method, self.is_currency = method, is_currency
        self.quantity = self.cost = self.realised = self.fees = D(0)
        self.known = self.realised_known = True
        self.lots = []

    def apply(self, t):
        n, fee = D(t["quantity"]), D(t.get("fee", "0"))
        if t["kind"] in ("buy", "deposit"):
            price = D(t["price"]) if "price" in t else (D(1) if self.is_currency else None)
            if price is None:
                self.known = False
            paid = (price or D(0)) * n + fee
            self.quantity += n
            self.cost += paid
            self.lots.append([n, paid])
        else:
            if n > self.quantity:
                return False
            known = self.known
            removed = self.remove(n)
            self.realised -= fee
            if t["kind"] == "sell":
                self.realised += D(t["price"]) * n - removed
            elif t["kind"] == "fee":
                self.realised -= removed
            if not known and t["kind"] != "withdrawal":
                self.realised_known = False
        self.fees += fee
        return True

    def remove(self, n):
        if n == self.quantity:
            removed = self.cost
            self.lots, self.known = [], True
        elif self.method == "average":
            removed = q(self.cost * n / self.quantity, 18)
        else:
            removed, left = D(0), n
            while left:
                lot = self.lots[0]
                if lot[0] <= left:
                    removed += lot[1]
                    left -= lot[0]
                    self.lots.pop(0)
                else:
                    part = q(lot[1] * left / lot[0], 18)
                    removed += part
                    lot[0] -= left
                    lot[1] -= part
                    left = D(0)
        self.quantity -= n
        self.cost -= removed
        return removed


def percent(part, whole):
    return None if part is None or whole is None or whole <= 0 else q(part * 100 / whole, 4)


def margin(p, won):
    """Where margin + won = required × value at the mark (isolated, linear), and the required part of what is left."""
    if "maintenance" not in p:
        return [None, None]
    required, entry, size, mark = D(p["maintenance"]), D(p["entry"]), D(p["size"]), D(p["mark"])
    own, sign = entry * size / D(p["leverage"]), 1 if p["side"] == "long" else -1
    # own + sign × size × (price − entry) = required × size × price
    price = (sign * size * entry - own) / (size * (sign - required))
    left = own + sign * size * (mark - entry)
    return [text(price, 8) if price > 0 else None, text(percent(required * size * mark, left))]


def add(total, part):
    return None if total is None or part is None else total + part


def value(portfolio):
    ledgers, refused = {}, 0
    for t in portfolio["transactions"]:
        ledger = ledgers.get(t["asset"]) or Ledger(portfolio["method"], t["asset"] == portfolio["currency"])
        if ledger.apply(t):
            ledgers[t["asset"]] = ledger
        else:
            refused += 1
    cost_rate = D(portfolio["cost_rate"])
    holdings, day, day_then = D(0), None, None
    cost, unrealised, realised = D(0), D(0), D(0)
    lines, values = [], []
    for asset, l in ledgers.items():
        m = portfolio["prices"][asset]
        c = l.cost * cost_rate if l.known else None
        r = l.realised * cost_rate if l.realised_known else None
        line, v, u = {"asset": asset, "quantity": text(l.quantity)}, None, None
        if "price" in m:
            unit = D(m["price"]) * D(m["rate"])
            v = l.quantity * unit
            holdings += v
            line["price"], line["value"] = text(unit, 8), text(v, 8)
            if "open" in m:
                then = l.quantity * D(m["open"]) * D(m["rate_then"])
                line["day"], line["day_percent"] = text(v - then, 8), text(percent(v - then, then))
                day = (day or D(0)) + v - then
                day_then = (day_then or D(0)) + then
            if c is not None:
                u = v - c
        line["cost"], line["unrealised"], line["realised"] = text(c, 8), text(u, 8), text(r, 8)
        cost, unrealised, realised = add(cost, c), add(unrealised, u), add(realised, r)
        lines.append(line)
        values.append(v)
    for line, v in zip(lines, values):
        if v is not None and holdings:
            line["share"] = text(v * 100 / holdings, 4)
    made, positions = D(0), []
    for p in portfolio["positions"]:
        entry = D(p["entry"])
        won = (D(p["mark"]) - entry) * (1 if p["side"] == "long" else -1)
        amount = won * D(p["size"]) * D(p["rate"])
        made += amount
        positions.append([text(amount, 8), text(won * D(p["leverage"]) * 100 / entry, 4), *margin(p, won)])
    is_known = not values and not positions or positions or any(v is not None for v in values)
    return {
        "refused": refused, "lines": lines, "positions": positions, "value": text(holdings + made, 8) if is_known else None,
        "day": text(day, 8), "day_percent": text(percent(day, day_then)), "cost": text(cost, 8),
        "unrealised": text(unrealised, 8), "realised": text(realised, 8),
    }


for row in sys.stdin:
    print(json.dumps(value(json.loads(row)), sort_keys=True))
