import { CandlestickChart, INTERVALS } from "../components/CandlestickChart.js";
import { ChangeChip } from "../components/ChangeChip.js";
import { coinIcon } from "../components/CoinIcon.js";
import { ContractCard } from "../components/ContractCard.js";
import { emptyState } from "../components/EmptyState.js";
import { LineChart } from "../components/LineChart.js";
import { OrderBook } from "../components/OrderBook.js";
import { PriceTicker } from "../components/PriceTicker.js";
import { segments } from "../components/Segments.js";
import { StatisticsGrid } from "../components/StatisticsGrid.js";
import { TradeList } from "../components/TradeList.js";
import { el, iconButton, setText, stored } from "../dom.js";
import { age, clock, said, spokenPrice, stretch, symbolParts } from "../format.js";
import { whyDead } from "../health.js";
import { Page } from "./Page.js";
import { CandleSeries } from "/tidegate.js";

const DAY = 86_400e6;
/**
 * Each range: the line's name and points, the candles' interval and number, and its length, µs. `longer` is the
 * interval for the time of which an exchange has no short candles any more.
 */
const RANGES = {
  "1H": { range: "1h", points: 360, interval: "1m", count: 60, span: DAY / 24 },
  "1D": { range: "24h", points: 480, interval: "5m", count: 288, span: DAY, longer: "1h" },
  "7D": { range: "7d", points: 336, interval: "1h", count: 168, span: 7 * DAY, longer: "1d" },
  "1M": { range: "30d", points: 360, interval: "4h", count: 180, span: 30 * DAY, longer: "1d" },
  "3M": { range: "90d", points: 360, interval: "4h", count: 540, span: 90 * DAY, longer: "1d" },
  "1Y": { range: "1y", points: 365, interval: "1d", count: 365, span: 365 * DAY },
  ALL: { range: "all", points: 480, interval: "1d", count: 1_440, span: Infinity },
};
const AVERAGES = [7, 25];
/** The most topics about a market that the page reads. */
const TOPICS = 10;
/** How often the page reads longer candles that the gateway does not have yet. */
const ATTEMPTS = 6;
const SPEAKER = "M4 9v6h4l5 4V5L8 9zM16 9a4 4 0 0 1 0 6M18.5 6.5a8 8 0 0 1 0 11";

/** A market: price, chart, book, trades, figures, and their source. */
export default class Market extends Page {
  #chartSubscription;
  #turn = 0;
  #price;

  constructor(session, symbol) {
    super(session);
    this.symbol = symbol;
    const { venue, market, base, quote, kind } = symbolParts(symbol);
    // Only perpetuals and dated futures have one.
    this.contract = kind ? new ContractCard(quote) : undefined;
    this.venue = venue;
    this.title = el("h1", market);
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
    this.source = el("p.caption", "");
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
        coinIcon(base), el("div.page-title", this.title, el("span.caption", `${market} · ${venue}`)), iconButton(SPEAKER, "Read the price aloud", () => this.#say()),
        el("a.button", { href: `#/alerts/${encodeURIComponent(symbol)}`, "aria-label": `Set an alert for ${market}` }, "Alert")),
      el("div.market",
        el("div.card.wide", el("div.market-head", this.ticker.element, el("span.total-chips", this.chip.element, el("span.caption", "24 h")), this.updated), this.why),
        el("div.card.market-chart", el("div.chart-head", ranges, kinds, averages), this.place, this.coverage),
        el("div.card.market-book", el("h2", "Order book ", this.bookState), this.book.element),
        el("div.card", el("h2", "24 hours"), this.statistics.element, this.source),
        this.contract?.element,
        el("div.card.market-trades", el("h2", "Trades"), this.trades.element)));
  }

  async enter() {
    super.enter();
    const name = (await this.session.names()).get(symbolParts(this.symbol).base);
    if (name) setText(this.title, name);
  }

  leave() {
    this.#turn += 1;
    super.leave();
  }

  follow() {
    const { symbol } = this;
    let hasPulse = false;
    const priced = (price, move) => {
      this.#price = price;
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
    if (this.contract) this.#followContract();
    this.#draw({});
    this.mark();
    this.#followTopics(this.client);
  }

  #followContract() {
    const { symbol, contract } = this;
    this.subscribe(
      { channel: "derivative", symbol, intervalMilliseconds: 1_000 }, (derivative) => contract.show(derivative));
    this.subscribe({ channel: "liquidations", symbol }, (list, info) => contract.liquidated(list, info.data?.complete));
  }

  /** What the operator has published about this market. */
  async #followTopics(client) {
    const { topics } = await this.session.get(`/v1/topics?symbol=${encodeURIComponent(this.symbol)}`).catch(() => ({ topics: [] }));
    if (client !== this.client) return;
    for (const { topic } of topics.slice(0, TOPICS)) {
      this.subscribe({ channel: "topic", symbol: topic, last: 1 }, (documents) => {
        const { document } = documents.at(-1) ?? {};
        if (document?.symbol === this.symbol) this.statistics.publish(document);
      });
    }
  }

  #say() {
    const { base, quote } = symbolParts(this.symbol), price = this.#price;
    const text = price === undefined ? `${base} has no price yet` : `${base} price: ${spokenPrice(price, quote)}`;
    setText(document.getElementById("speech"), text);
    if ("speechSynthesis" in window) speechSynthesis.speak(new SpeechSynthesisUtterance(text));
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
      // The line of the day has the colour of the change beside the price.
      this.line.show(line, span, range === "24h" ? this.chip.direction : undefined);
      this.#cover(line.coveredFrom, line.from, span);
    });
  }

  /** Merges stored pages and the stream into one series. */
  #drawCandles(turn, { interval, count, span, longer }) {
    const series = CandleSeries.from({ interval }), older = { interval: longer, candles: [] };
    const show = () => {
      const all = [...older.candles, ...series.candles];
      this.candles.show(series, span, older);
      this.#cover(all.find(({ source }) => source === "own")?.time, all[0]?.time, span, all.some(({ source }) => source === "partial"));
    };
    show();
    this.#chartSubscription = this.subscribe({ channel: "candles", symbol: this.symbol, interval, intervalMilliseconds: 1_000 }, (value) => {
      series.merge(value.candles);
      show();
    });
    const read = async (query) => {
      const { candles } = await this.session.get(`/v1/candles/${encodeURIComponent(this.symbol)}?${query}`);
      return turn === this.#turn ? candles : [];
    };
    (async () => {
      series.merge(await read(`interval=${interval}&limit=${count}`));
      show();
      const first = series.candles[0]?.time, from = series.candles.at(-1)?.time - span - INTERVALS[longer];
      if (!(first - from > 2 * INTERVALS[longer])) return;
      // A young gateway is still fetching them.
      for (let attempt = 0; attempt < ATTEMPTS && turn === this.#turn && older.candles.length < 2; attempt += 1) {
        if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, 10_000));
        older.candles = await read(`interval=${longer}&from=${from}&to=${first}&limit=100`);
        if (turn === this.#turn) show();
      }
    })().catch((error) => { if (turn === this.#turn) setText(this.coverage, `Older candles are missing: ${error.message}`); });
  }

  /** Shows since when the range was observed here, or in part, and from when on it is known, µs. */
  #cover(observed, known, span, isPartial = false) {
    const chart = this.isCandles ? this.candles : this.line, whole = span === Infinity ? "" : ` of ${stretch(span)}`;
    const seen = observed === undefined ? 0 : Math.max(0, Date.now() * 1_000 - observed);
    setText(this.coverage, [
      seen >= span ? "Observed throughout." : seen > 0 ? `Observed for ${stretch(seen)}${whole}.`
        : isPartial ? "Only partly observed." : "The gateway has observed nothing of this range yet.",
      seen < span && known < (observed ?? Infinity) ? `Earlier ${this.isCandles ? "candles are" : "prices, dashed, are"} the exchange's own record.` : "",
      chart.unobserved.length > 0 ? "Hatched times are unknown." : "",
    ].filter(Boolean).join(" "));
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
    setText(this.why, why === null ? "" : `These prices are old: ${why}. They continue by themselves.`);
    setText(this.source, `From ${this.venue}, ${feed?.state ?? "state unknown"}; last heard ${age(feed?.age_ms)} ago.`);
  }
}
