import { OrderBook } from "../components/OrderBook.js";
import { field, marketField } from "../components/Sheet.js";
import { TradeList } from "../components/TradeList.js";
import { button, el, setText, stored } from "../dom.js";
import { moment } from "../format.js";
import { Book } from "/tidegate.js";

const SECOND = 1e6, DAY = 86_400;
/** Trades of so long before the moment are shown, µs. */
const TRADES = 60 * SECOND;
/** The buttons beside the time of day, s. */
const STEPS = [["−1 min", -60], ["−10 s", -10], ["+10 s", 10], ["+1 min", 60]];
/** A question about the past costs the gateway much; the slider asks once it rests, ms. */
const REST = 250;

const two = (number) => String(number).padStart(2, "0");
const dayOf = (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
const clockOf = (seconds) => (
  [seconds / 3_600, (seconds / 60) % 60, seconds % 60].map((part) => two(Math.floor(part))).join(":"));

/** A market at a recorded moment: its book, and the trades before. The moment is local time. */
export default class Time {
  #session;
  #turn = 0;
  #timer;

  constructor(session, symbol) {
    this.#session = session;
    const kept = stored.read("time", {}), watched = stored.read("watchlist", null);
    const first = symbol || kept.symbol || (Array.isArray(watched) && typeof watched[0] === "string" ? watched[0] : "");
    const [market, markets] = marketField(session, "time-market", first);
    const before = new Date(Date.now() - 5 * 60_000);
    this.market = market;
    const day = /^\d{4}-\d\d-\d\d$/.test(kept.day) ? kept.day : dayOf(before);
    const clock = kept.clock ?? clockOf(before.getHours() * 3_600 + before.getMinutes() * 60);
    this.day = el("input", { id: "time-day", type: "date", value: day, max: dayOf(new Date()) });
    this.clock = el("input", { id: "time-clock", type: "time", step: 1, value: clock });
    this.slider = el("input.slider", {
      id: "time-slider", type: "range", min: 0, max: DAY - 1, step: 1, "aria-label": "Time of day",
    });
    this.book = new OrderBook();
    this.trades = new TradeList();
    this.shown = el("p.caption", { role: "status" }, "\u00a0");
    this.why = el("p.notice", { role: "status" });
    this.panes = el("div.stack",
      el("div.card.market-book",
        el("h2", "Order book ", el("span.badge.badge-warning", "replay")), this.shown, this.book.element),
      el("div.card.market-trades", el("h2", "Trades of the minute before"), this.trades.element));
    this.panes.hidden = true;
    for (const input of [market, this.day, this.clock]) input.addEventListener("change", () => this.#ask());
    this.clock.addEventListener("input", () => this.#align());
    this.slider.addEventListener("input", () => {
      this.clock.value = clockOf(Number(this.slider.value));
      this.#turn += 1;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#ask(), REST);
    });
    this.#align();
    this.element = el(
      "section", el("div.page-head", el("h1", "Time")),
      el("div.card",
        field("Market", market), markets, field("Day", this.day), field("Time of day", this.clock), this.slider,
        el("div.chart-head", ...STEPS.map(([text, seconds]) => button(text, () => this.#step(seconds)))), this.why),
      this.panes);
  }

  async enter() {
    const turn = this.#turn;
    if (this.market.value === "") {
      const found = await this.#session.instruments("").catch(() => []);
      if (turn !== this.#turn) return;
      this.market.value = found[0]?.symbol ?? "";
    }
    this.#ask();
  }

  leave() {
    this.#turn = NaN;
    clearTimeout(this.#timer);
  }

  /** The chosen moment, µs; NaN: none is. */
  get #moment() { return new Date(`${this.day.value}T${this.clock.value}`).getTime() * 1_000; }

  #align() {
    const [hours, minutes, seconds = "0"] = this.clock.value.split(":");
    this.slider.value = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  }

  #step(seconds) {
    const date = new Date(this.#moment / 1_000 + seconds * 1_000);
    if (Number.isNaN(date.getTime())) return;
    this.day.value = dayOf(date);
    this.clock.value = clockOf(date.getHours() * 3_600 + date.getMinutes() * 60 + date.getSeconds());
    this.#ask();
  }

  async #ask() {
    const turn = (this.#turn += 1), symbol = this.market.value.trim(), at = this.#moment;
    clearTimeout(this.#timer);
    this.#align();
    // The page was left.
    if (Number.isNaN(turn) || symbol === "") return;
    if (!(at > 0)) return this.#fail("Choose a day and a time of day.");
    stored.write("time", { symbol, day: this.day.value, clock: this.clock.value });
    const path = encodeURIComponent(symbol);
    try {
      const book = await this.#session.get(`/v1/books/${path}?at=${at}&depth=10`);
      if (turn !== this.#turn) return;
      const { trades } = await this.#session.get(`/v1/trades/${path}?from=${at - TRADES}&to=${at}`);
      if (turn !== this.#turn) return;
      this.book.show(Book.from(book));
      this.trades.show(trades);
      setText(this.shown, `As it was on ${moment(at, SECOND, true)}`);
      setText(this.why, "");
      this.panes.hidden = false;
    } catch (error) {
      if (turn === this.#turn) this.#fail(error.message);
    }
  }

  /** Another moment's book must not remain. */
  #fail(why) {
    this.panes.hidden = true;
    setText(this.why, why);
  }
}
