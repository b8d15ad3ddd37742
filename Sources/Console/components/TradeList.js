import { el, onFrame, setText } from "../dom.js";
import { ARROWS, clock, figure, grouped, sharedDecimals } from "../format.js";

const ROWS = 30;

/** The last trades, newest first; the arrow is the taker's side. */
export class TradeList {
  #trades = [];
  #rows = [];

  constructor() {
    this.body = el("tbody");
    this.element = el(
      "div.scroll", { tabIndex: 0, role: "region", "aria-label": "Last trades" },
      el("table.trades",
        el("thead", el("tr", el("th", { scope: "col" }, "Price"), el("th", { scope: "col" }, "Size"), el("th", { scope: "col" }, "Time"))),
        this.body));
  }

  show(trades) {
    this.#trades = trades;
    onFrame(this.#draw);
  }

  #draw = () => {
    const shown = this.#trades.slice(-ROWS).reverse();
    while (this.#rows.length < shown.length) {
      const cells = [el("td"), el("td"), el("td")];
      const row = el("tr", ...cells);
      this.body.append(row);
      this.#rows.push([...cells, row]);
    }
    const least = sharedDecimals(shown.map((trade) => trade.price));
    shown.forEach((trade, place) => {
      const [price, size, time, row] = this.#rows[place];
      row.classList.toggle("gap", trade.gap === true);
      row.title = trade.gap ? "Trades before this one may be missing" : "";
      setText(price, `${trade.side === "buy" ? ARROWS.up : trade.side === "sell" ? ARROWS.down : " "} ${figure(trade.price, least)}`);
      setText(size, grouped(trade.size));
      setText(time, clock(trade.time));
    });
  };
}
