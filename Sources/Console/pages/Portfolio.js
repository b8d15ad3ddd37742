import { ChangeChip } from "../components/ChangeChip.js";
import { emptyState } from "../components/EmptyState.js";
import { HoldingRow } from "../components/HoldingRow.js";
import { LineChart } from "../components/LineChart.js";
import { PnLChip } from "../components/PnLChip.js";
import { PositionRow } from "../components/PositionRow.js";
import { segments } from "../components/Segments.js";
import { choice, field, marketField, numberInput, openForm } from "../components/Sheet.js";
import { button, el, onFrame, setText, stored } from "../dom.js";
import { clock, money, said, symbolParts } from "../format.js";
import { whyDead } from "../health.js";
import { isAmount, valueLine } from "../valuation.js";
import { Page } from "./Page.js";
import { Decimal } from "/tidegate.js";

/** The gateway's limits. */
const LIMITS = { holdings: 100, positions: 50 };
const CURRENCIES = ["USD", "EUR", "GBP", "BTC"];
const DAY = 86_400e6;
const RANGES = { "1H": ["1h", DAY / 24], "1D": ["24h", DAY], "7D": ["7d", 7 * DAY], "1M": ["30d", 30 * DAY], "1Y": ["1y", 365 * DAY] };
const LINE_POINTS = 96;

/** Holdings and positions, stored in this browser and valued by the gateway, exactly. */
export default class Portfolio extends Page {
  #lines = new Map();
  /** The value of one unit of a quote currency in the shown one. */
  #rates = new Map();
  #rows = [];
  #value;
  #problem = "";
  #range = "1D";

  constructor(session) {
    super(session);
    this.kept = keptPortfolio();
    this.currency = CURRENCIES.includes(this.kept.currency) ? this.kept.currency : "USD";
    this.total = el("strong.price.hero", "–");
    this.chip = new ChangeChip();
    this.day = new PnLChip(this.currency);
    this.open = new PnLChip(this.currency);
    this.openPart = el("span.total-chips", this.open.element, el("span.caption", "open positions"));
    this.note = el("p.notice", { role: "status" });
    this.chart = new LineChart(this.currency, "chart of the value");
    const currency = choice("currency", CURRENCIES.map((name) => [name, name]), () => {
      this.kept.currency = currency.value;
      this.#save();
      location.reload();
    });
    currency.value = this.currency;
    currency.ariaLabel = "Currency of the total";
    this.holdings = el("ul.rows", { "aria-label": "Holdings" });
    this.positions = el("ul.rows", { "aria-label": "Positions" });
    this.positionsHead = el("h2", "Positions");
    this.holdingsHead = el("h2", "Holdings");
    const head = el("div.card.total", el("span.caption", "Total value"), this.total,
      el("div.total-chips", this.chip.element, this.day.element, el("span.caption", "in 24 h"), this.openPart), this.note);
    this.chartCard = el("div.card",
      el("div.chart-head", segments("Range", Object.keys(RANGES), this.#range, (name) => { this.#range = name; this.chart.reset(); this.follow(); })),
      this.chart.element, el("p.caption", "Present holdings at past prices and present exchange rates."));
    this.empty = emptyState({
      title: "There are no holdings yet", why: "They are stored in this browser. The gateway computes their exact value.",
      action: "Add a holding", onAction: () => this.#add(),
    });
    this.content = el("div.stack", head, this.chartCard, this.holdingsHead, this.holdings, this.positionsHead, this.positions);
    this.element = el(
      "section", el("div.page-head", el("h1", "Portfolio"), currency, button("Add", () => this.#add(), "primary")), this.empty, this.content);
  }

  #save() {
    this.#value = undefined;
    stored.write("portfolio", this.kept);
  }

  follow() {
    const { kept: { holdings, positions }, currency } = this;
    this.unsubscribe();
    this.#lines.clear();
    this.empty.hidden = holdings.length + positions.length > 0;
    this.content.hidden = !this.empty.hidden;
    this.chartCard.hidden = this.holdingsHead.hidden = holdings.length === 0;
    this.positionsHead.hidden = this.openPart.hidden = positions.length === 0;
    const remove = (list, item) => () => { list.splice(list.indexOf(item), 1); this.#save(); this.follow(); };
    const rows = holdings.map((item) => new HoldingRow(item, currency, remove(holdings, item)));
    this.#rows = [...rows, ...positions.map((item) => new PositionRow(item, currency, remove(positions, item)))];
    this.holdings.replaceChildren(...rows.map(({ element }) => element));
    this.positions.replaceChildren(...this.#rows.slice(rows.length).map(({ element }) => element));
    if (this.content.hidden) return;
    const sent = holdings.map(({ symbol, amount, cost, costCurrency }) => ({
      asset: symbolParts(symbol).base, quantity: amount, cost: cost && costCurrency === currency ? Decimal.multiply(amount, cost) : undefined,
    }));
    this.subscribe({ channel: "portfolio", currency, holdings: sent, positions }, (value) => {
      this.#problem = "";
      this.#value = value;
      this.mark();
    }, ({ type, error }) => {
      if (type === "failed") this.#problem = said(error);
      this.mark();
    });
    for (const [place, { symbol }] of holdings.entries()) {
      this.subscribe({ channel: "sparkline", symbol, range: RANGES[this.#range][0], points: LINE_POINTS, intervalMilliseconds: 1_000 }, (line) => {
        this.#lines.set(symbol, line);
        rows[place].line.show(line);
        this.mark();
      });
    }
    this.#rates = new Map([[currency, "1"]]);
    for (const quote of new Set(holdings.map(({ symbol }) => symbolParts(symbol).quote))) {
      if (quote === currency) continue;
      this.subscribe({ channel: "rate", symbol: `${quote}-${currency}` }, (value) => {
        this.#rates.set(quote, value.rate);
        this.mark();
      });
    }
    this.mark();
  }

  mark() { onFrame(this.#draw); }

  /** The reason why a line's price is not the present one, or null. */
  #why(line) {
    if (this.client.state !== "connected") return whyDead(this.client);
    if (line?.state === "missing") return `no live market leads to ${this.currency}`;
    return line?.state === "stale" ? `its price is of ${clock(line.price_time)}` : null;
  }

  #draw = () => {
    const { value, day_profit: day, day_percent: percent, holdings = [], positions = [] } = this.#value ?? {}, { currency } = this;
    const lines = [...holdings, ...positions], whys = this.#rows.map((_, place) => this.#why(lines[place]));
    this.#rows.forEach((row, place) => row.show(lines[place] ?? {}, whys[place]));
    const dead = whys.filter((why) => why !== null).length, missing = lines.filter(({ state }) => state === "missing").length;
    setText(this.total, money(value, currency));
    this.total.classList.toggle("is-dead", dead > 0);
    this.chip.show(percent);
    this.day.show(day, undefined, "in 24 hours");
    const made = positions.filter(({ unrealised }) => unrealised !== undefined);
    this.open.show(made.length > 0 ? made.reduce((sum, { unrealised }) => Decimal.add(sum, unrealised), "0") : undefined, undefined, "unrealised");
    setText(this.note, this.#problem || [
      missing > 0 ? `${missing} of ${lines.length} have no price in ${currency} and are not counted.` : "",
      dead > missing ? "Not all prices are the present ones." : "",
    ].join(" ").trim());
    const parts = this.kept.holdings.filter((_, place) => holdings[place]?.state !== "missing").map(({ symbol, amount }) => ({
      amount, line: this.#lines.get(symbol), rate: this.#rates.get(symbolParts(symbol).quote),
    }));
    const present = holdings.reduce((sum, { value: each }) => (each === undefined ? sum : Decimal.add(sum, each)), "0");
    const line = parts.some(({ rate }) => rate === undefined) ? null : valueLine(parts, present);
    if (line === null) return;
    this.chart.show(line, RANGES[this.#range][1]);
    this.chart.present = line.points.at(-1);
  };

  #add() {
    const { kept, currency } = this;
    const kind = choice("kind", [["holdings", "Holding"], ["positions", "Position"]], () => shown());
    const [market, markets] = marketField(this.session, "market");
    const amount = numberInput("amount"), cost = numberInput("cost"), entry = numberInput("entry"), leverage = numberInput("leverage", "1");
    amount.required = true;
    const side = choice("side", [["long", "Long"], ["short", "Short"]]);
    const costField = field(`Price paid for one, in ${currency} (optional)`, cost);
    const positionFields = el("div", field("Side", side), field("Entry price", entry), field("Leverage", leverage));
    const shown = () => {
      const isPosition = kind.value === "positions";
      positionFields.hidden = !isPosition;
      costField.hidden = isPosition;
      entry.required = leverage.required = isPosition;
    };
    shown();
    openForm("Add to the portfolio", ["Add"], () => {
      const isPosition = kind.value === "positions", symbol = market.value.trim(), { base } = symbolParts(symbol);
      const needed = isPosition ? [amount, entry, leverage] : [amount, ...(cost.value ? [cost] : [])], most = LIMITS[kind.value];
      if (!needed.every((each) => isAmount(each.value))) throw new Error("Amounts and prices are numbers above zero, such as 0.25.");
      if (kept[kind.value].length >= most) throw new Error(`There can be at most ${most} ${kind.value}: remove one first.`);
      if (isPosition) {
        kept.positions.push({ symbol, side: side.value, size: amount.value, entry: entry.value, leverage: leverage.value });
      } else {
        if (kept.holdings.some((held) => symbolParts(held.symbol).base === base)) throw new Error(`${base} is held already: remove it, and add all of it.`);
        kept.holdings.push({ symbol, amount: amount.value, cost: cost.value || undefined, costCurrency: currency });
      }
      this.#save();
      this.follow();
    }, field("Kind", kind), field("Market", market), markets, field("Amount", amount), costField, positionFields);
  }
}

/** The stored lines, without unreadable ones and repeated assets. */
function keptPortfolio() {
  const kept = stored.read("portfolio", {}), seen = new Set();
  const lines = (name, amounts) => (Array.isArray(kept?.[name]) ? kept[name] : []).filter((item) => (
    typeof item?.symbol === "string" && /^[^:]+:[^:]+-[^:]+$/.test(item.symbol) && amounts.every((each) => isAmount(item[each])))).slice(0, LIMITS[name]);
  const holdings = lines("holdings", ["amount"]).filter(({ symbol }) => seen.size < seen.add(symbolParts(symbol).base).size)
    .map(({ symbol, amount, cost, costCurrency }) => ({ symbol, amount, cost: isAmount(cost) ? cost : undefined, costCurrency }));
  const positions = lines("positions", ["size", "entry", "leverage"]).filter(({ side }) => side === "long" || side === "short")
    .map(({ symbol, side, size, entry, leverage }) => ({ symbol, side, size, entry, leverage }));
  return { currency: kept?.currency, holdings, positions };
}
