import { ChangeChip } from "../components/ChangeChip.js";
import { emptyState } from "../components/EmptyState.js";
import { LineChart } from "../components/LineChart.js";
import { OrderBook } from "../components/OrderBook.js";
import { PriceTicker } from "../components/PriceTicker.js";
import { StatisticsGrid } from "../components/StatisticsGrid.js";
import { TradeList } from "../components/TradeList.js";
import { el, setText } from "../dom.js";
import { clock, symbolParts } from "../format.js";
import { ageOf, whyDead } from "../health.js";

/** Chart ranges that this gateway serves, and the points of each. */
const RANGES = [["6H", 360], ["1D", 1_440]];
const AVERAGES = [7, 25];

/** One market: price, chart, book, trades, figures, and where all of it comes from. */
export class Market {
  #session;
  #undo = [];
  #subscriptions = [];
  #range = 1_440;

  constructor(session, symbol) {
    this.#session = session;
    this.symbol = symbol;
    const { venue, market, quote } = symbolParts(symbol);
    this.venue = venue;
    this.ticker = new PriceTicker(quote);
    this.chip = new ChangeChip();
    this.chart = new LineChart(quote);
    this.book = new OrderBook();
    this.trades = new TradeList();
    this.statistics = new StatisticsGrid(quote);
    this.updated = el("p", { class: "caption" }, "Last update –");
    this.source = el("p", { class: "muted" }, "");
    this.why = el("p", { class: "notice", role: "status" });
    this.bookState = el("span", { class: "badge badge-warning", hidden: true }, "out of sync");
    const ranges = el("div", { class: "segments", role: "group", "aria-label": "Range" }, ...RANGES.map(([name, minutes]) => el(
      "button", {
        type: "button", "aria-pressed": String(minutes === this.#range), onclick: (event) => {
          this.#range = minutes;
          for (const each of ranges.children) each.setAttribute("aria-pressed", String(each === event.currentTarget));
          if (this.line) this.#showLine(this.line);
        },
      }, name)));
    const averages = el("div", { class: "segments", role: "group", "aria-label": "Moving averages" }, ...AVERAGES.map((length) => el(
      "button", {
        type: "button", "aria-pressed": "false", onclick: (event) => {
          event.currentTarget.setAttribute("aria-pressed", String(this.chart.toggleAverage(length)));
        },
      }, `MA ${length}`)));
    this.element = el(
      "section", {},
      el("div", { class: "page-head" }, el("a", { href: "#/watchlist", class: "button", "aria-label": "Back to the watchlist" }, "‹ Watchlist"), el("h1", {}, market), el("span", { class: "caption" }, venue)),
      el("div", { class: "market" },
        el("div", { class: "card wide" }, el("div", { class: "market-head" }, this.ticker.element, this.chip.element, this.updated), this.why),
        el("div", { class: "card" }, el("div", { class: "page-head" }, ranges, averages), this.chart.element),
        el("div", { class: "card" }, el("h2", {}, "Order book ", this.bookState), this.book.element),
        el("div", { class: "card" }, el("h2", {}, "24 hours"), this.statistics.element, this.source),
        el("div", { class: "card" }, el("h2", {}, "Trades"), this.trades.element)));
  }

  enter() {
    this.#undo.push(this.#session.onClient((client) => {
      this.client = client;
      client.on("feeds", () => this.#mark());
      client.on("state", () => this.#mark());
      this.#follow();
    }));
  }

  leave() {
    for (const undo of this.#undo) undo();
    for (const subscription of this.#subscriptions) subscription.cancel();
  }

  #follow() {
    const { client, symbol } = this;
    for (const subscription of this.#subscriptions) subscription.cancel();
    let hasPulse = false;
    this.#subscriptions = [
      client.subscribe({ channel: "pulse", symbol }, (pulse, info) => {
        if (info.type === "failed") return this.#failed(info.error);
        if (pulse === undefined) return;
        hasPulse = true;
        this.ticker.show(pulse.price, info.type === "update" ? pulse.direction : undefined);
        if (pulse.change_pct_24h !== undefined) this.chip.show(pulse.change_pct_24h);
        setText(this.updated, `Last update ${clock(pulse.time ?? info.time)}`);
      }),
      client.subscribe({ channel: "ticker", symbol, intervalMilliseconds: 1_000 }, (figures) => {
        if (figures === undefined) return;
        if (!hasPulse && figures.last !== undefined) this.ticker.show(figures.last);
        if (figures.change_pct_24h !== undefined) this.chip.show(figures.change_pct_24h);
        this.statistics.show(figures);
      }),
      client.subscribe({ channel: "book", symbol, depth: 10, intervalMilliseconds: 100 }, (book, info) => {
        if (info.type === "state") this.bookState.hidden = info.state === "live";
        if (book === undefined) return;
        this.bookState.hidden = book.state === "live";
        this.book.show(book);
      }),
      client.subscribe({ channel: "trades", symbol }, (trades) => { if (trades) this.trades.show(trades); }),
      client.subscribe({ channel: "sparkline", symbol, points: 1_440, intervalMilliseconds: 1_000 }, (line) => {
        if (line === undefined) return;
        this.line = line;
        this.#showLine(line);
      }),
    ];
    this.#mark();
  }

  /** The last part of the line, as long as the range: change and trend are then of what is shown. */
  #showLine(line) {
    const points = line.points.slice(-this.#range);
    const shown = Object.create(line, {
      points: { value: points }, from: { value: line.from + (line.points.length - points.length) * line.step },
    });
    this.chart.show(shown);
  }

  #failed(error) {
    this.element.replaceChildren(emptyState({
      title: `${this.symbol} is not served here`, why: [error.message, error.hint].filter(Boolean).join(": "),
      action: "Back to the watchlist", onAction: () => { location.hash = "#/watchlist"; },
    }));
  }

  #mark() {
    const why = whyDead(this.client, this.venue);
    this.element.classList.toggle("is-dead", why !== null);
    setText(this.why, why === null ? "" : `These prices are not the present ones: ${why}. They go on by themselves.`);
    setText(this.source, `From ${this.venue}, ${this.client.feeds.get(this.venue)?.state ?? "state unknown"}; last heard ${ageOf(this.client, this.venue)} ago.`);
  }
}
