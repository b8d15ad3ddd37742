import { el, iconButton, setText } from "../dom.js";
import { price as priceText, symbolParts } from "../format.js";
import { showDead, whyPlace } from "../health.js";
import { positionFigures } from "../valuation.js";
import { PnLChip } from "./PnLChip.js";

const CROSS = "M6 6l12 12M18 6L6 18";

/** An open position: side, leverage, entry, mark, and what it has made. */
export class PositionRow {
  constructor(position, onRemove) {
    this.position = position;
    const { venue, market, quote } = symbolParts(position.symbol);
    this.quote = quote;
    this.chip = new PnLChip(quote);
    this.mark = el("span", { class: "caption" }, "Mark –");
    this.element = el(
      "li", { class: `row holding ${position.side}` },
      el("a", { class: "row-name", href: `#/market/${encodeURIComponent(position.symbol)}` },
        el("strong", {}, market),
        el("span", { class: "caption" }, el("span", { class: "side" }, position.side.toUpperCase()), ` ${position.leverage}x · ${position.size} · ${venue}`), whyPlace()),
      el("div", { class: "row-price" }, this.chip.element,
        el("span", { class: "caption" }, `Entry ${priceText(position.entry, quote)}`), this.mark),
      iconButton(CROSS, `Remove the ${position.side} position of ${market}`, onRemove));
  }

  /** @param why in words, if the price is not the present one; null where it is. */
  show(figures, why) {
    const { gain, gainPercent } = positionFigures(this.position, figures);
    this.chip.show(gain, gainPercent, "unrealised profit or loss");
    setText(this.mark, `Mark ${priceText(figures?.price, this.quote)}`);
    showDead(this.element, why);
  }
}
