import { CROSS, el, iconButton, setText } from "../dom.js";
import { marketPage, price as priceText, symbolParts } from "../format.js";
import { showDead, whyPlace } from "../health.js";
import { PnLChip } from "./PnLChip.js";

/** An open position: side, leverage, entry, mark and profit. */
export class PositionRow {
  constructor({ symbol, side, size, entry, leverage }, currency, onRemove) {
    const { venue, market, quote } = symbolParts(symbol);
    this.quote = quote;
    this.chip = new PnLChip(currency);
    this.mark = el("span.caption", "Mark –");
    this.element = el(
      `li.row.holding.${side}`,
      el("a.row-name", { href: marketPage(symbol) },
        el("strong", market), el("span.caption", el("span.side", side.toUpperCase()), ` ${leverage}x · ${size} · ${venue}`), whyPlace()),
      el("div.row-price", this.chip.element, el("span.caption", `Entry ${priceText(entry, quote)}`), this.mark),
      iconButton(CROSS, `Remove the ${side} position of ${market}`, onRemove));
  }

  /** @param why the reason, if the price is not the present one, or null. */
  show({ mark, unrealised, unrealised_percent: percent }, why) {
    this.chip.show(unrealised, percent, "unrealised profit or loss");
    setText(this.mark, `Mark ${priceText(mark, this.quote)}`);
    showDead(this.element, why);
  }
}
