import { ChangeChip } from "../components/ChangeChip.js";
import { emptyState } from "../components/EmptyState.js";
import { HoldingRow } from "../components/HoldingRow.js";
import { LineChart } from "../components/LineChart.js";
import { PnLChip } from "../components/PnLChip.js";
import { PositionRow } from "../components/PositionRow.js";
import { segments } from "../components/Segments.js";
import { choice, field, foot, marketField, openSheet } from "../components/Sheet.js";
import { button, el, onFrame, setText, stored } from "../dom.js";
import { price as priceText, symbolParts } from "../format.js";
import { whyDead } from "../health.js";
import { holdingFigures, isAmount, positionFigures, summed, valueLine } from "../valuation.js";
import { Decimal } from "/tidegate.js";

const LIMIT = 100;
const CURRENCIES = ["USD", "EUR", "GBP", "BTC"];
const DAY = 86_400e6;
const RANGES = { "1H": ["1h", DAY / 24], "1D": ["24h", DAY], "7D": ["7d", 7 * DAY], "1M": ["30d", 30 * DAY], "1Y": ["1y", 365 * DAY] };
/** How often rates between currencies are asked for, ms. */
const RATE_AGE = 10_000;
const LINE_POINTS = 96;

/** Holdings and positions that this browser keeps, valued at the gateway's prices. */
export class Portfolio {
  #session;
  #undo = [];
  #subscriptions = [];
  #lines = new Map();
  #figures = new Map();
  #rates = new Map();
  #rows = [];
  #timer;
  #range = "1D";

  constructor(session) {
    this.#session = session;
    this.kept = keptPortfolio();
    this.currency = CURRENCIES.includes(this.kept.currency) ? this.kept.currency : "USD";
    this.total = el("strong", { class: "price hero" }, "–");
    this.chip = new ChangeChip();
    this.day = new PnLChip(this.currency);
    this.open = new PnLChip(this.currency);
    this.note = el("p", { class: "notice", role: "status" });
    this.chart = new LineChart(this.currency, "chart of the value");
    const currency = choice("currency", CURRENCIES.map((name) => [name, name]), () => {
      this.kept.currency = currency.value;
      this.#save();
      location.reload();
    });
    currency.value = this.currency;
    currency.setAttribute("aria-label", "Currency of the total");
    this.holdings = el("ul", { class: "rows", "aria-label": "Holdings" });
    this.positions = el("ul", { class: "rows", "aria-label": "Positions" });
    this.positionsHead = el("h2", {}, "Positions");
    this.holdingsHead = el("h2", {}, "Holdings");
    this.head = el("div", { class: "card total" },
      el("span", { class: "caption" }, "Total value"), this.total,
      el("div", { class: "total-chips" }, this.chip.element, this.day.element, el("span", { class: "caption" }, "in 24 h"), this.open.element, el("span", { class: "caption" }, "open positions")), this.note);
    this.chartCard = el("div", { class: "card" },
      el("div", { class: "chart-head" }, segments("Range", Object.keys(RANGES), this.#range, (name) => { this.#range = name; this.chart.reset(); this.#follow(); })),
      this.chart.element, el("p", { class: "caption" }, "What is held now, at the prices of then and the exchange rates of now."));
    this.empty = emptyState({
      title: "Nothing is held yet", why: "Holdings and positions stay in this browser. The gateway's prices value them, exactly.",
      action: "Add a holding", onAction: () => this.#add(),
    });
    this.content = el("div", { class: "stack" }, this.head, this.chartCard, this.holdingsHead, this.holdings, this.positionsHead, this.positions);
    this.element = el(
      "section", {},
      el("div", { class: "page-head" }, el("h1", {}, "Portfolio"), currency,
        button("Add", () => this.#add(), "primary")),
      this.empty, this.content);
  }

  enter() {
    this.#undo.push(this.#session.onClient((client) => {
      this.client = client;
      this.#undo.push(client.on("feeds", () => this.#changed()), client.on("state", () => this.#changed()));
      this.#follow();
    }));
    this.#timer = setInterval(() => this.#askRates(), RATE_AGE);
  }

  leave() {
    clearInterval(this.#timer);
    for (const undo of this.#undo) undo();
    for (const subscription of this.#subscriptions) subscription.cancel();
  }

  #save() { stored.write("portfolio", this.kept); }

  #follow() {
    const { client, kept } = this;
    for (const subscription of this.#subscriptions) subscription.cancel();
    const isEmpty = kept.holdings.length + kept.positions.length === 0;
    this.empty.hidden = !isEmpty;
    this.content.hidden = isEmpty;
    this.chartCard.hidden = this.holdingsHead.hidden = kept.holdings.length === 0;
    this.positionsHead.hidden = kept.positions.length === 0;
    const remove = (list, item) => () => { list.splice(list.indexOf(item), 1); this.#save(); this.#follow(); };
    const holdings = kept.holdings.map((item) => new HoldingRow(item, remove(kept.holdings, item)));
    const positions = kept.positions.map((item) => new PositionRow(item, remove(kept.positions, item)));
    this.holdings.replaceChildren(...holdings.map(({ element }) => element));
    this.positions.replaceChildren(...positions.map(({ element }) => element));
    this.#rows = [...holdings, ...positions];
    this.#lines.clear();
    const [range] = RANGES[this.#range];
    const symbols = new Set([...kept.holdings, ...kept.positions].map(({ symbol }) => symbol));
    this.#subscriptions = [...symbols].flatMap((symbol) => [
      client.subscribe({ channel: "ticker", symbol, intervalMilliseconds: 1_000 }, (ticker, info) => {
        if (info.type === "failed") this.#note(symbol, { failure: info.error.message });
        else if (ticker !== undefined) this.#note(symbol, { open: ticker.open_24h, ...(this.#figures.get(symbol)?.isPulsed ? {} : { price: ticker.last }) });
      }),
      client.subscribe({ channel: "pulse", symbol, intervalMilliseconds: 1_000 }, (pulse) => {
        if (pulse !== undefined) this.#note(symbol, { price: pulse.price, isPulsed: true });
      }),
    ]);
    for (const symbol of new Set(kept.holdings.map(({ symbol }) => symbol))) {
      this.#subscriptions.push(client.subscribe({ channel: "sparkline", symbol, range, points: LINE_POINTS, intervalMilliseconds: 1_000 }, (line) => {
        if (line === undefined) return;
        this.#lines.set(symbol, line);
        for (const row of holdings) if (row.holding.symbol === symbol) row.line.show(line);
        this.#changed();
      }));
    }
    this.#askRates();
    this.#changed();
  }

  #note(symbol, figures) {
    this.#figures.set(symbol, { ...this.#figures.get(symbol), ...figures });
    this.#changed();
  }

  #changed() { onFrame(this.#draw); }

  /** What one unit of each quote currency is worth in the one that is shown. */
  async #askRates() {
    const quotes = new Set([...this.kept.holdings, ...this.kept.positions].map(({ symbol }) => symbolParts(symbol).quote));
    for (const quote of quotes) {
      if (quote === this.currency) { this.#rates.set(quote, "1"); continue; }
      try {
        this.#rates.set(quote, (await this.#session.get(`/v1/rates?base=${encodeURIComponent(quote)}&quote=${this.currency}`)).rate);
      } catch {
        this.#rates.delete(quote);
      }
    }
    this.#changed();
  }

  #draw = () => {
    const dead = new Set();
    const lines = this.#rows.map((row) => {
      const item = row.holding ?? row.position, { venue, quote } = symbolParts(item.symbol);
      const figures = this.#figures.get(item.symbol), why = figures?.failure ?? whyDead(this.client, venue);
      if (why !== null) dead.add(venue);
      row.show(figures, why);
      const rate = this.#rates.get(quote);
      if (row.holding) return { row, rate, ...holdingFigures(item, figures) };
      const { gain } = positionFigures(item, figures);
      return { row, rate, value: gain, isPosition: true, gain };
    });
    const { total, missing } = summed(lines);
    const { day, dayPercent } = summed(lines.filter(({ isPosition }) => !isPosition));
    const open = summed(lines.filter(({ isPosition }) => isPosition));
    const isKnown = lines.length > missing;
    setText(this.total, isKnown ? priceText(Decimal.rounded(total, this.currency === "BTC" ? 8 : 2), this.currency) : "–");
    this.total.classList.toggle("is-dead", dead.size > 0);
    this.chip.show(isKnown ? dayPercent : undefined);
    this.day.show(isKnown ? Decimal.rounded(day, 2) : undefined, undefined, "in 24 hours");
    this.open.element.hidden = this.open.element.nextSibling.hidden = this.kept.positions.length === 0;
    this.open.show(isKnown ? Decimal.rounded(open.total, 2) : undefined, undefined, "unrealised");
    const words = [];
    if (missing > 0) words.push(`${missing} of ${lines.length} have no price in ${this.currency} yet and are not counted.`);
    if (dead.size > 0) words.push(`Prices of ${[...dead].join(", ")} are not the present ones.`);
    setText(this.note, words.join(" "));
    for (const { row, value, rate } of lines) {
      if (row.holding) row.showShare(value === undefined || rate === undefined ? null : Decimal.percent(Decimal.multiply(value, rate), total, 1));
    }
    const parts = this.kept.holdings.map(({ symbol, amount }) => ({
      amount, line: this.#lines.get(symbol), rate: this.#rates.get(symbolParts(symbol).quote),
    }));
    const line = parts.some(({ rate }) => rate === undefined) ? null : valueLine(parts);
    if (line !== null) {
      this.chart.show(line, RANGES[this.#range][1]);
      this.chart.present = line.points.at(-1);
    }
  };

  #add() {
    const kind = choice("kind", [["holding", "Holding"], ["position", "Position"]], () => shown());
    const [market, markets] = marketField(this.#session, "market");
    const number = (id) => el("input", { id, inputMode: "decimal", autocomplete: "off", pattern: "[0-9]{1,18}([.][0-9]{1,12})?" });
    const amount = number("amount"), cost = number("cost"), entry = number("entry"), leverage = number("leverage");
    amount.required = true;
    leverage.value = "1";
    const side = choice("side", [["long", "Long"], ["short", "Short"]]);
    const problem = el("p", { class: "notice", role: "alert" });
    const costField = field("Price paid for one (optional)", cost);
    const positionFields = el("div", {}, field("Side", side), field("Entry price", entry), field("Leverage", leverage));
    const shown = () => {
      const isPosition = kind.value === "position";
      positionFields.hidden = !isPosition;
      costField.hidden = isPosition;
      entry.required = leverage.required = isPosition;
    };
    shown();
    const sheet = openSheet("Add to the portfolio", el(
      "form", {
        onsubmit: (event) => {
          event.preventDefault();
          const isPosition = kind.value === "position", { kept } = this;
          const needed = isPosition ? [amount, entry, leverage] : [amount, ...(cost.value ? [cost] : [])];
          if (!needed.every((each) => isAmount(each.value))) return setText(problem, "Amounts and prices are numbers above zero, such as 0.25.");
          if (kept.holdings.length + kept.positions.length >= LIMIT) return setText(problem, `A portfolio has at most ${LIMIT} lines: remove one first.`);
          const symbol = market.value.trim();
          if (isPosition) kept.positions.push({ symbol, side: side.value, size: amount.value, entry: entry.value, leverage: leverage.value });
          else kept.holdings.push({ symbol, amount: amount.value, cost: cost.value || undefined });
          this.#save();
          sheet.close();
          this.#follow();
        },
      },
      el("h2", {}, "Add to the portfolio"), field("Kind", kind), field("Market", market), markets, field("Amount", amount), costField, positionFields, problem,
      foot("Not now", "Add")));
  }
}

/** What this browser keeps, whatever stands there: lines that are none are left out. */
function keptPortfolio() {
  const kept = stored.read("portfolio", {});
  const lines = (value, fields) => (Array.isArray(value) ? value : []).filter((item) => (
    typeof item?.symbol === "string" && /^[^:]+:[^:]+-[^:]+$/.test(item.symbol) && fields.every((name) => isAmount(item[name])))).slice(0, LIMIT);
  const holdings = lines(kept?.holdings, ["amount"]).map((item) => ({ ...item, cost: isAmount(item.cost) ? item.cost : undefined }));
  const positions = lines(kept?.positions, ["size", "entry", "leverage"]).filter(({ side }) => side === "long" || side === "short");
  return { currency: kept?.currency, holdings, positions };
}
