import { CandlestickChart } from "../components/CandlestickChart.js";
import { ChangeChip } from "../components/ChangeChip.js";
import { emptyState } from "../components/EmptyState.js";
import { LineChart } from "../components/LineChart.js";
import { OrderBook } from "../components/OrderBook.js";
import { PriceTicker } from "../components/PriceTicker.js";
import { segments } from "../components/Segments.js";
import { StatisticsGrid } from "../components/StatisticsGrid.js";
import { TradeList } from "../components/TradeList.js";
import { el, setText, stored } from "../dom.js";
import { age, clock, said, stretch, symbolParts } from "../format.js";
import { whyDead } from "../health.js";
import { Page } from "./Page.js";
import { CandleSeries } from "/tidegate.js";

const DAY = 86_400e6;
/** Each range: the line's name and points, the candles' interval and number, and its length, µs. */
const RANGES = {
  "1H": { range: "1h", points: 360, interval: "1m", count: 60, span: DAY / 24 },
  "1D": { range: "24h", points: 480, interval: "5m", count: 288, span: DAY },
  "7D": { range: "7d", points: 336, interval: "1h", count: 168, span: 7 * DAY },
  "1M": { range: "30d", points: 360, interval: "4h", count: 180, span: 30 * DAY },
  "3M": { range: "90d", points: 360, interval: "4h", count: 540, span: 90 * DAY },
  "1Y": { range: "1y", points: 365, interval: "1d", count: 365, span: 365 * DAY },
  ALL: { range: "all", points: 480, interval: "1d", count: 1_440, span: Infinity },
};
const AVERAGES = [7, 25];

/** A market: price, chart, book, trades, figures, and their source. */
export default class Market extends Page {
  #chartSubscription;
  #turn = 0;

  constructor(session, symbol) {
    super(session);
    this.symbol = symbol;
    const { venue, market, quote } = symbolParts(symbol);
    this.venue = venue;
    const kept = stored.read("chart", {});
    this.range = Object.hasOwn(RANGES, kept.range) ? kept.range : "1D";
    this.isCandles = kept.kind === "candles";
    this.ticker = new PriceTicker(quote);
    this.chip = new ChangeChip();
    this.line = new LineChart(quote, "price chart");
    this.candles = new CandlestickChart(quote, "candlestick chart");
    this.place = el("div");
    this.coverage = el("p.caption", "\u00a0");
    this.book = new OrderBook();
    this.trades = new TradeList();
    this.statistics = new StatisticsGrid(quote);
    this.updated = el("p.caption", "Last update –");
    this.source = el("p.muted", "");
    this.why = el("p.notice", { role: "status" });
    this.bookState = el("span.badge.badge-warning", { hidden: true }, "out of sync");
    const ranges = segments("Range", Object.keys(RANGES), this.range, (name) => this.#draw({ range: name }));
    const kinds = segments("Chart", ["Line", "Candles"], this.isCandles ? "Candles" : "Line", (name) => this.#draw({ isCandles: name === "Candles" }));
    const averages = el("div.segments", { role: "group", "aria-label": "Moving averages" }, ...AVERAGES.map((length) => el(
      "button", {
        type: "button", "aria-pressed": "false", onclick: (event) => {
          event.currentTarget.ariaPressed = String(this.line.toggleAverage(length));
          this.candles.averages = this.line.averages;
        },
      }, `MA ${length}`)));
    this.element = el(
      "section",
      el("div.page-head", el("a.button", { href: "#/watchlist", "aria-label": "Back to the watchlist" }, "‹"),
        el("h1", market), el("span.caption", venue),
        el("a.button", { href: `#/alerts/${encodeURIComponent(symbol)}`, "aria-label": `Set an alert for ${market}` }, "Alert")),
      el("div.market",
        el("div.card.wide", el("div.market-head", this.ticker.element, this.chip.element, this.updated), this.why),
        el("div.card", el("div.chart-head", ranges, kinds, averages), this.place, this.coverage),
        el("div.card", el("h2", "Order book ", this.bookState), this.book.element),
        el("div.card", el("h2", "24 hours"), this.statistics.element, this.source),
        el("div.card", el("h2", "Trades"), this.trades.element)));
  }

  leave() {
    this.#turn += 1;
    super.leave();
  }

  follow() {
    const { symbol } = this;
    let hasPulse = false;
    const priced = (price, move) => {
      this.ticker.show(price, move);
      this.line.present = this.candles.present = price;
    };
    this.subscribe({ channel: "pulse", symbol }, (pulse, info) => {
      hasPulse = true;
      if (this.failure) this.mark(this.failure = undefined);
      priced(pulse.price, info.type === "update");
      if (pulse.change_pct_24h !== undefined) this.chip.show(pulse.change_pct_24h);
      setText(this.updated, `Last update ${clock(pulse.time ?? info.time)}`);
    }, ({ type, error, isFinal }) => {
      if (type !== "failed") return;
      if (isFinal) this.#failed(error);
      else this.mark(this.failure = said(error));
    });
    this.subscribe({ channel: "ticker", symbol, intervalMilliseconds: 1_000 }, (figures) => {
      if (!hasPulse && figures.last !== undefined) priced(figures.last);
      if (figures.change_pct_24h !== undefined) this.chip.show(figures.change_pct_24h);
      this.statistics.show(figures);
    });
    this.subscribe({ channel: "book", symbol, depth: 10, intervalMilliseconds: 100 }, (book) => {
      this.bookState.hidden = book.state === "live";
      this.book.show(book);
    }, ({ type, state }) => { if (type === "state") this.bookState.hidden = state === "live"; });
    this.subscribe({ channel: "trades", symbol }, (trades) => this.trades.show(trades));
    this.#draw({});
    this.mark();
  }

  /** Draws another range or kind of chart; its stream replaces the last. */
  #draw({ range = this.range, isCandles = this.isCandles }) {
    const turn = (this.#turn += 1);
    const isOther = range !== this.range || isCandles !== this.isCandles;
    this.range = range;
    this.isCandles = isCandles;
    if (isOther) stored.write("chart", { range, kind: isCandles ? "candles" : "line" });
    const chart = isCandles ? this.candles : this.line;
    if (this.place.firstChild !== chart.element) this.place.replaceChildren(chart.element);
    if (isOther) chart.reset();
    this.#chartSubscription?.cancel();
    if (isCandles) this.#drawCandles(turn, RANGES[range]);
    else this.#drawLine(RANGES[range]);
  }

  #drawLine({ range, points, span }) {
    this.#chartSubscription = this.subscribe({ channel: "sparkline", symbol: this.symbol, range, points, intervalMilliseconds: 1_000 }, (line) => {
      this.line.show(line, span);
      this.#cover(line.coveredFrom, span);
    });
  }

  /** Merges stored pages and the stream into one series. */
  #drawCandles(turn, { interval, count, span }) {
    const series = CandleSeries.from({ interval });
    const show = () => {
      this.candles.show(series, span);
      this.#cover(series.candles.find(({ source }) => source === "own")?.time, span, series.candles.some(({ source }) => source === "partial"));
    };
    show();
    this.#chartSubscription = this.subscribe({ channel: "candles", symbol: this.symbol, interval, intervalMilliseconds: 1_000 }, (value) => {
      series.merge(value.candles);
      show();
    });
    const path = `/v1/candles/${encodeURIComponent(this.symbol)}?interval=${interval}&limit=${count}`;
    this.session.get(path).then(({ candles }) => {
      if (turn !== this.#turn) return;
      series.merge(candles);
      show();
    }, (error) => { if (turn === this.#turn) setText(this.coverage, `Older candles are missing: ${error.message}`); });
  }

  /** Shows since when (`from`, µs) the range was observed, or in part. */
  #cover(from, span, isPartial = false) {
    if (from === undefined) {
      return setText(this.coverage, isPartial ? "Only partly observed; the hatched part is not known." : "Nothing of this range has been observed yet.");
    }
    const seen = Math.max(0, Date.now() * 1_000 - from), whole = span === Infinity ? "" : ` of ${stretch(span)}`;
    setText(this.coverage, seen >= span ? "Observed throughout." : `Observed for ${stretch(seen)}${whole}; the hatched part is not known.`);
  }

  #failed(error) {
    this.element.replaceChildren(emptyState({
      title: `${this.symbol} is not served here`, why: said(error),
      action: "Back to the watchlist", onAction: () => { location.hash = "#/watchlist"; },
    }));
  }

  mark() {
    const why = this.failure ?? whyDead(this.client, this.venue), feed = this.client.feeds.get(this.venue);
    this.element.classList.toggle("is-dead", why !== null);
    setText(this.why, why === null ? "" : `These prices are not the present ones: ${why}. They continue by themselves.`);
    setText(this.source, `From ${this.venue}, ${feed?.state ?? "state unknown"}; last heard ${age(feed?.age_ms)} ago.`);
  }
}
