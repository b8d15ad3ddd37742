import { el, setText } from "../dom.js";
import { percent, price, short } from "../format.js";

const FIELDS = [
  ["Open", (t, q) => price(t.open_24h, q)], ["High", (t, q) => price(t.high_24h, q)], ["Low", (t, q) => price(t.low_24h, q)],
  ["Change", (t, q) => (t.change_24h ? `${price(t.change_24h, q)} (${percent(t.change_pct_24h)})` : "–")],
  ["Volume", (t) => short(t.volume_24h)], ["Turnover", (t) => short(t.quote_volume_24h)], ["VWAP", (t, q) => price(t.vwap_24h, q)],
  ["Trades", (t) => (t.trades_24h === undefined ? "–" : t.trades_24h.toLocaleString("en"))],
  ["Bid", (t, q) => price(t.bid, q)], ["Ask", (t, q) => price(t.ask, q)],
];

/** The figures of 24 h; unknown ones are a dash. */
export class StatisticsGrid {
  #quote;
  #cells = FIELDS.map(([name]) => ({ name, value: el("dd", "–") }));

  constructor(quote) {
    this.#quote = quote;
    this.element = el("dl.statistics", ...this.#cells.map(({ name, value }) => el("div", el("dt", name), value)));
  }

  show(ticker) {
    FIELDS.forEach(([, text], place) => setText(this.#cells[place].value, text(ticker, this.#quote)));
  }
}
