import { el, iconButton, setText } from "../dom.js";
import { price as priceText, symbolParts } from "../format.js";
import { showDead, whyPlace } from "../health.js";
import { holdingFigures } from "../valuation.js";
import { PnLChip } from "./PnLChip.js";
import { Sparkline } from "./Sparkline.js";

const CROSS = "M6 6l12 12M18 6L6 18";

/** A holding: amount, value, the line of the day, and what it has made since it was bought, or in 24 h. */
export class HoldingRow {
  constructor(holding, onRemove) {
    this.holding = holding;
    const { venue, market, base, quote } = symbolParts(holding.symbol);
    this.quote = quote;
    this.chip = new PnLChip(quote);
    this.line = new Sparkline();
    this.value = el("span", { class: "price" }, "–");
    this.share = el("span", { class: "caption" });
    this.element = el(
      "li", { class: "row holding" },
      el("a", { class: "row-name", href: `#/market/${encodeURIComponent(holding.symbol)}` },
        el("strong", {}, market), el("span", { class: "caption" }, `${holding.amount} ${base} · ${venue}`), this.share, whyPlace()),
      this.line.element, el("div", { class: "row-price" }, this.value, this.chip.element),
      iconButton(CROSS, `Remove the holding of ${market}`, onRemove));
  }

  show(figures, why) {
    const { value, day, dayPercent, gain, gainPercent } = holdingFigures(this.holding, figures);
    setText(this.value, priceText(value === undefined ? undefined : rounded(value), this.quote));
    if (this.holding.cost === undefined) this.chip.show(day, dayPercent, "in 24 hours");
    else this.chip.show(gain, gainPercent, "since it was bought");
    showDead(this.element, why);
  }

  showShare(percent) { setText(this.share, percent === null ? "" : `${percent}% of the total`); }
}

/** Values are shown to the cent; small ones with what digits they have. */
function rounded(value) { return Number(value) >= 1 ? value.replace(/(\.\d\d)\d*$/, "$1") : value; }
