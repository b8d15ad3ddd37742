import { el, setText } from "../dom.js";
import { grouped, mark, percent, price, sharedDecimals, short, signedMoney, textOf } from "../format.js";
import { Decimal } from "/tidegate.js";

const PRICES = ["open_24h", "high_24h", "low_24h", "vwap_24h", "bid", "ask"];
/** Names and texts of the exchange's figures. */
const FIELDS = [
  ["Open", (t, p) => p(t.open_24h)], ["High", (t, p) => p(t.high_24h)], ["Low", (t, p) => p(t.low_24h)],
  ["Change", (t, p, quote) => (t.change_24h ? `${signedMoney(t.change_24h, quote)} (${percent(t.change_pct_24h)})` : "–")],
  ["Volume", (t) => short(t.volume_24h)], ["Turnover", (t) => short(t.quote_volume_24h)], ["VWAP", (t, p) => p(t.vwap_24h)],
  ["Trades", (t) => (t.trades_24h === undefined ? "–" : t.trades_24h.toLocaleString("en"))],
  ["Bid", (t, p) => p(t.bid)], ["Ask", (t, p) => p(t.ask)],
];

/** The figures of 24 h; unknown ones are a dash. Behind them those that the operator has published, if any. */
export class StatisticsGrid {
  #quote;
  #ticker = {};
  #published = {};
  #cells = FIELDS.map(() => el("dd", "–"));
  #more = ["Market cap", "Supply", "Largest supply", "Shielded"].map((name) => {
    const value = el("dd");
    return { value, cell: el("div", { hidden: true }, el("dt", name), value) };
  });

  constructor(quote) {
    this.#quote = quote;
    this.element = el(
      "dl.statistics", ...FIELDS.map(([name], place) => el("div", el("dt", name), this.#cells[place])), ...this.#more.map(({ cell }) => cell));
  }

  show(ticker) {
    this.#ticker = ticker;
    const least = sharedDecimals(PRICES.map((name) => ticker[name]).filter(Boolean));
    FIELDS.forEach(([, text], place) => setText(this.#cells[place], text(ticker, (each) => price(each, this.#quote, least), this.#quote)));
    this.#drawPublished();
  }

  /** @param document `market_cap`, `supply`, `max_supply`; `percent` and `amount` of a shielded pool. */
  publish(document) {
    for (const name of ["market_cap", "supply", "max_supply", "percent", "amount"]) {
      const value = textOf(document, name, 64);
      if (Decimal.isValid(value)) this.#published[name] = value;
    }
    this.#drawPublished();
  }

  #drawPublished() {
    const { market_cap: cap, supply, max_supply: most, percent: share, amount } = this.#published, { last } = this.#ticker;
    const worth = cap ?? (supply && last ? Decimal.multiply(supply, last) : undefined);
    [
      worth && mark(this.#quote) + short(worth), supply && short(supply), most && short(most),
      share && `${grouped(share)}%${amount ? ` (${short(amount)})` : ""}`,
    ].forEach((text, place) => {
      this.#more[place].cell.hidden = !text;
      setText(this.#more[place].value, text ?? "");
    });
  }
}
