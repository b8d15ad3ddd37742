import { ChangeChip } from "../components/ChangeChip.js";
import { emptyState } from "../components/EmptyState.js";
import { HoldingRow } from "../components/HoldingRow.js";
import { LineChart } from "../components/LineChart.js";
import { PnLChip } from "../components/PnLChip.js";
import { PositionRow } from "../components/PositionRow.js";
import { segments } from "../components/Segments.js";
import { choice, foot, openSheet } from "../components/Sheet.js";
import { toast } from "../components/Toast.js";
import { button, el, onFrame, setText, stored } from "../dom.js";
import { clock, grouped, moment, money, price as priceText, said, symbolParts } from "../format.js";
import { Portfolios, requestKey } from "../portfolios.js";
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
/** The shown transactions, the newest first. */
const TRANSACTIONS = 8;

/**
 * Holdings and positions, valued by the gateway, exactly. The gateway keeps them, too, if it keeps portfolios for this
 * user; otherwise this browser stores them.
 */
export default class Portfolio extends Page {
  #lines = new Map();
  /** The value of one unit of a quote currency in the shown one. */
  #rates = new Map();
  #rows = [];
  #value;
  #problem = "";
  #range = "1D";
  #isLeft = false;
  /** The portfolios that the gateway keeps; null: this browser stores the holdings. */
  #list = null;
  /** The id of the shown one; `local`: this browser's. `new`: one that the first holding makes. */
  #chosen = "local";
  #turn = 0;
  /** The newest revision that was read because the stream reported it. */
  #asked = 0;

  constructor(session) {
    super(session);
    this.local = this.kept = keptPortfolio();
    this.portfolios = new Portfolios(session);
    this.currency = CURRENCIES.includes(this.kept.currency) ? this.kept.currency : "USD";
    this.total = el("strong.price.hero", "–");
    this.chip = new ChangeChip();
    this.day = new PnLChip(this.currency);
    this.open = new PnLChip(this.currency);
    this.openPart = el("span.total-chips", this.open.element, el("span.caption", "open positions"));
    this.note = el("p.notice", { role: "status" });
    this.chart = new LineChart(this.currency, "chart of the value");
    const currency = choice("currency", CURRENCIES.map((name) => [name, name]), () => {
      this.local.currency = currency.value;
      this.#save();
      location.reload();
    });
    this.picker = el("select", { id: "portfolio", ariaLabel: "Portfolio", hidden: true, onchange: () => this.#choose(this.picker.value) });
    this.offer = el("div.card.offer", { hidden: true }, el("span.muted", "Only this browser has these holdings."),
      button("Move them to the gateway", () => this.#move()));
    this.transactions = el("ul.rows.transactions", { "aria-label": "Last transactions" });
    currency.value = this.currency;
    currency.ariaLabel = "Currency of the total";
    this.holdings = el("ul.rows", { "aria-label": "Holdings" });
    this.positions = el("ul.rows", { "aria-label": "Positions" });
    const head = el("div.card.total", el("span.caption", "Total value"), this.total,
      el("div.total-chips", this.chip.element, this.day.element, el("span.caption", "in 24 h"), this.openPart), this.note);
    this.chartCard = el("div.card",
      el("div.chart-head", segments("Range", Object.keys(RANGES), this.#range, (name) => { this.#range = name; this.chart.reset(); this.follow(); })),
      this.chart.element, el("p.caption", "Present holdings at past prices and present exchange rates, with the present profit of positions."));
    this.empty = emptyState({
      title: "There are no holdings yet", why: "The gateway computes their exact value.",
      action: "Add a holding", onAction: () => this.#add(),
    });
    this.content = el("div.stack", head, this.chartCard, el("div.stack.portfolio",
      ...[[["Holdings", this.holdings]], [["Positions", this.positions], ["Last transactions", this.transactions]]].map((lists) => el(
        "div.stack", ...lists.flatMap(([title, list]) => [el("h2", title), list])))));
    this.element = el(
      "section", el("div.page-head", el("h1", "Portfolio"), this.picker, currency, button("Add", () => this.#add(), "primary")),
      this.offer, this.empty, this.content);
  }

  async enter() {
    this.#list = await this.portfolios.list();
    const wanted = stored.read("portfolio.chosen", undefined), hasLocal = this.local.holdings.length + this.local.positions.length > 0;
    const ids = this.#list?.map(({ id }) => id) ?? [];
    await this.#show(ids.includes(wanted) || (wanted === "local" && this.#list) ? wanted : ids[0] ?? (this.#list === null || hasLocal ? "local" : "new"));
    if (!this.#isLeft) super.enter();
  }

  leave() {
    this.#isLeft = true;
    super.leave();
  }

  /** Reads the chosen portfolio and fills the picker. */
  async #show(chosen) {
    const turn = (this.#turn += 1), isLocal = chosen === "local";
    const kept = isLocal ? this.local : chosen === "new" ? { holdings: [], positions: [] }
      : await this.portfolios.read(chosen, this.currency).catch((error) => { this.#problem = error.message; return { holdings: [], positions: [] }; });
    // A later one has begun meanwhile.
    if (turn !== this.#turn) return false;
    if (chosen !== this.#chosen) this.#asked = 0;
    this.#chosen = chosen;
    this.kept = kept;
    const options = [...(this.#list ?? []).map(({ id, name }) => [id, name]), ...(chosen === "new" ? [["new", "Portfolio"]] : []), ["local", "This browser"]];
    const hasLocal = this.local.holdings.length + this.local.positions.length > 0;
    this.picker.hidden = this.#list === null || (this.#list.length === 0 && !hasLocal);
    this.picker.replaceChildren(...options.map(([value, name]) => el("option", { value }, name)));
    this.picker.value = chosen;
    this.offer.hidden = !(isLocal && this.#list !== null && hasLocal);
    const transactions = this.kept.transactions ?? [];
    this.transactions.replaceChildren(...transactions.slice(-TRANSACTIONS).reverse().map(({ kind, asset, quantity, price, time }) => el(
      "li.row.transaction", el("span.row-name", el("strong", `${kind[0].toUpperCase()}${kind.slice(1)} ${asset}`), el("span.caption", moment(time, 60e6, true))),
      el("span.price", grouped(quantity)), el("span.caption", price === undefined ? "" : `at ${priceText(price, this.kept.own)}`))));
    return true;
  }

  async #choose(chosen) {
    stored.write("portfolio.chosen", chosen);
    this.#problem = "";
    const before = this.#chosen === chosen ? this.kept.revision : undefined;
    if (!(await this.#show(chosen)) || this.#isLeft) return;
    // The same holdings keep their streams.
    if (before !== undefined && before === this.kept.revision) return;
    this.#value = undefined;
    this.follow();
  }

  /** Does a change at the gateway and shows its result. */
  async #change(work) {
    try {
      const id = await work();
      this.#list = await this.portfolios.list();
      await this.#choose(id ?? this.#chosen);
    } catch (error) {
      toast(`The portfolio was not changed: ${said(error)}.`, "error");
    }
  }

  #move() {
    return this.#change(async () => {
      const id = await this.portfolios.move(this.local, this.currency);
      [this.local.holdings, this.local.positions] = [[], []];
      this.#save();
      toast("The gateway keeps these holdings now.", "success");
      return id;
    });
  }

  /** Removes a holding or a position; at the gateway that deletes transactions, so it asks first. */
  #remove(list, item) {
    if (this.#chosen === "local") {
      list.splice(list.indexOf(item), 1);
      this.#save();
      return this.follow();
    }
    const name = item.asset ?? `the ${item.side} position of ${symbolParts(item.symbol).market}`;
    const sheet = openSheet("Remove from the portfolio", el("h2", `Remove ${name}?`),
      el("p.muted", item.asset ? "The gateway deletes all transactions of this asset." : "The gateway no longer counts it."),
      foot("Keep it", button("Remove", () => {
        sheet.close();
        this.#change(async () => void await (item.asset ? this.portfolios.removeAsset(this.#chosen, item.asset)
          // The rows may have been made anew meanwhile.
          : this.portfolios.setPositions(this.#chosen, this.kept.positions.filter((each) => JSON.stringify(each) !== JSON.stringify(item)))));
      }, "critical")));
  }

  #save() {
    this.#value = undefined;
    stored.write("portfolio", this.local);
  }

  follow() {
    const { kept, currency } = this, { holdings, positions } = kept;
    this.unsubscribe();
    this.#lines.clear();
    this.empty.hidden = holdings.length + positions.length > 0;
    this.content.hidden = !this.empty.hidden;
    this.chartCard.hidden = holdings.length === 0;
    this.openPart.hidden = positions.length === 0;
    const remove = (list, item) => () => this.#remove(list, item);
    const rows = holdings.map((item) => new HoldingRow(item, currency, this.#range === "1D", remove(holdings, item)));
    this.#rows = [...rows, ...positions.map((item) => new PositionRow(item, currency, remove(positions, item)))];
    this.holdings.replaceChildren(...rows.map(({ element }) => element));
    this.session.names().then((names) => { for (const row of rows) setText(row.title, names.get(row.base) ?? row.base); });
    this.positions.replaceChildren(...this.#rows.slice(rows.length).map(({ element }) => element));
    if (this.content.hidden) return;
    const sent = holdings.map(({ symbol, amount, cost, costCurrency }) => ({
      asset: symbolParts(symbol).base, quantity: amount, cost: cost && costCurrency === currency ? Decimal.multiply(amount, cost) : undefined,
    }));
    const id = this.#chosen;
    this.subscribe(id === "local" ? { channel: "portfolio", currency, holdings: sent, positions } : { channel: "portfolio", portfolio: id, currency }, (value) => {
      this.#problem = "";
      // Changed elsewhere: other rows belong to it. It is read once for each revision, however long that takes.
      if (value.revision > Math.max(kept.revision, this.#asked)) {
        this.#asked = value.revision;
        this.#choose(id);
      }
      const line = ({ asset }, place) => (id === "local" ? value.holdings[place] : value.holdings?.find((each) => each.asset === asset)) ?? {};
      this.#value = { ...value, holdings: holdings.map(line) };
      this.mark();
    }, ({ type, error }) => {
      if (type === "failed") this.#problem = said(error);
      this.mark();
    });
    for (const [place, { symbol }] of holdings.entries()) {
      if (symbol === undefined) continue;
      this.subscribe({ channel: "sparkline", symbol, range: RANGES[this.#range][0], points: LINE_POINTS, intervalMilliseconds: 1_000 }, (line) => {
        this.#lines.set(symbol, line);
        rows[place].line.show(line);
        this.mark();
      });
    }
    this.#rates = new Map([[currency, "1"]]);
    for (const quote of new Set(holdings.map(({ symbol }) => symbolParts(symbol).quote))) {
      if (quote === currency || quote === "") continue;
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
    return line?.state === "stale" ? `its price is from ${clock(line.price_time)}` : null;
  }

  #draw = () => {
    // The frame may come after the page was left.
    if (this.client === undefined) return;
    const { value, day_profit: day, day_percent: percent, holdings = [], positions = [] } = this.#value ?? {}, { currency } = this;
    const lines = [...holdings, ...positions], whys = this.#rows.map((_, place) => this.#why(lines[place]));
    this.#rows.forEach((row, place) => row.show(lines[place] ?? {}, whys[place]));
    const dead = whys.filter((why) => why !== null).length, missing = lines.filter(({ state }) => state === "missing").length;
    setText(this.total, money(value, currency));
    this.total.classList.toggle("is-dead", dead > 0);
    this.chip.show(percent);
    this.day.show(day, undefined, "in 24 hours");
    const made = positions.filter(({ unrealised }) => unrealised !== undefined);
    const open = made.length > 0 ? made.reduce((sum, { unrealised }) => Decimal.add(sum, unrealised), "0") : undefined;
    this.open.show(open, undefined, "unrealised");
    setText(this.note, this.#problem || [
      missing > 0 ? `${missing} of ${lines.length} have no price in ${currency} and are not counted.` : "",
      dead > missing ? "Some prices are old." : "",
    ].join(" ").trim());
    const parts = this.kept.holdings.filter((_, place) => holdings[place]?.state !== "missing").map(({ symbol, amount }) => ({
      amount, line: this.#lines.get(symbol), rate: this.#rates.get(symbolParts(symbol).quote),
    }));
    const line = parts.some(({ rate }) => rate === undefined) ? null : valueLine(parts, value, open);
    if (line === null) return;
    this.chart.show(line, RANGES[this.#range][1], this.#range === "1D" ? this.chip.direction : undefined);
    this.chart.present = line.points.at(-1);
  };

  /** Opens the form, which is loaded when it is first needed. */
  async #add() {
    const { kept } = this, isLocal = this.#chosen === "local", key = requestKey();
    const { openHoldingForm } = await import("../components/HoldingForm.js");
    openHoldingForm(this.session, kept.own ?? this.currency, async (item, isPosition) => {
      const kind = isPosition ? "positions" : "holdings";
      if (!isLocal) return this.#addAtGateway(kept, item, isPosition, key);
      if (kept[kind].length >= LIMITS[kind]) throw new Error(`There can be at most ${LIMITS[kind]} ${kind}: remove one first.`);
      const { base } = symbolParts(item.symbol);
      if (!isPosition && kept.holdings.some((held) => symbolParts(held.symbol).base === base)) throw new Error(`${base} is held already: remove it, and add all of it.`);
      kept[kind].push(item);
      this.#save();
      this.follow();
    });
  }

  /** Adds a holding, or sets the positions, at the gateway; the first makes the portfolio. */
  async #addAtGateway({ positions }, item, isPosition, key) {
    const id = this.#chosen === "new" ? (await this.portfolios.create("Portfolio", this.currency)).id : this.#chosen;
    if (isPosition) await this.portfolios.setPositions(id, [...positions, item]);
    else await this.portfolios.add(id, symbolParts(item.symbol).base, item.amount, item.cost, key);
    this.#list = await this.portfolios.list();
    await this.#choose(id);
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
