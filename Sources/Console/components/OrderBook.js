import { el, onFrame, setText } from "../dom.js";
import { figure, grouped, sharedDecimals } from "../format.js";

const ROWS = 10;

/** Ten levels a side with depth bars, and the spread between them. */
export class OrderBook {
  #book;
  #asks = [];
  #bids = [];
  #spread = el("td", { colSpan: 2 }, "–");

  constructor() {
    const row = (side) => {
      const parts = { price: el("td", "\u00a0"), size: el("td", "") };
      parts.row = el(`tr.${side}`, parts.price, parts.size);
      return parts;
    };
    for (let place = 0; place < ROWS; place += 1) { this.#asks.push(row("ask")); this.#bids.push(row("bid")); }
    this.element = el(
      "table.book",
      el("caption.visually-hidden", "Order book: asks above, bids below"),
      el("thead", el("tr", el("th", { scope: "col" }, "Price"), el("th", { scope: "col" }, "Size"))),
      el("tbody", ...this.#asks.map(({ row: each }) => each).reverse(), el("tr.spread", this.#spread),
        ...this.#bids.map(({ row: each }) => each)));
  }

  show(book) {
    this.#book = book;
    onFrame(this.#draw);
  }

  #draw = () => {
    const book = this.#book;
    if (book === undefined) return;
    const { bids, asks } = book.depth(ROWS);
    const least = sharedDecimals([...bids, ...asks].map(({ price }) => price));
    const fill = (rows, levels) => rows.forEach(({ row, price, size }, place) => {
      const level = levels[place];
      setText(price, level ? figure(level.price, least) : "\u00a0");
      setText(size, level ? grouped(level.size) : "");
      row.style.setProperty("--share", level ? `${(level.share * 100).toFixed(1)}%` : "0%");
    });
    fill(this.#asks, asks);
    fill(this.#bids, bids);
    setText(this.#spread, book.spread === null ? "one side is empty" : `Spread ${figure(book.spread)} (${book.spreadPercent}%)`);
  };
}
