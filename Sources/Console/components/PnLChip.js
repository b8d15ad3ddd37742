import { el, setText } from "../dom.js";
import { ARROWS, direction, percent, signedMoney } from "../format.js";

/** A profit or loss: amount and percent, with an arrow and a sign. */
export class PnLChip {
  element = el("span.chip.pnl");
  #quote;

  constructor(quote) { this.#quote = quote; }

  show(amount, share, what = "profit or loss") {
    const way = direction(amount);
    this.element.dataset.direction = way;
    const text = amount === undefined ? "–" : `${ARROWS[way]} ${signedMoney(amount, this.#quote)}${share === undefined ? "" : ` (${percent(share)})`}`;
    setText(this.element, text);
    this.element.title = what;
  }
}
