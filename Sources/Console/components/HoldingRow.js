import { CROSS, el, iconButton, setText } from "../dom.js";
import { direction, marketPage, money, symbolParts } from "../format.js";
import { showDead, whyPlace } from "../health.js";
import { PnLChip } from "./PnLChip.js";
import { Sparkline } from "./Sparkline.js";
import { Decimal } from "/tidegate.js";

/** A holding: amount, value, share, line, and its profit since it was bought, or in 24 h. */
export class HoldingRow {
  constructor({ symbol, amount }, currency, onRemove) {
    const { venue, market, base } = symbolParts(symbol);
    this.currency = currency;
    this.chip = new PnLChip(currency);
    this.line = new Sparkline();
    this.value = el("span.price", "–");
    this.share = el("span.caption");
    this.element = el(
      "li.row.holding",
      el("a.row-name", { href: marketPage(symbol) }, el("strong", base), el("span.caption", `${amount} · ${venue}`), this.share, whyPlace()),
      this.line.element, el("div.row-price", this.value, this.chip.element), iconButton(CROSS, `Remove the holding of ${market}`, onRemove));
  }

  /** @param why the reason, if the price is not the present one, or null. */
  show({ value, share_percent: share, day_profit: day, day_percent: dayPercent, cost, unrealised }, why) {
    setText(this.value, money(value, this.currency));
    this.line.direction = day === undefined ? undefined : direction(day);
    setText(this.share, share === undefined ? "" : `${Decimal.rounded(share, 1)}% of the total`);
    if (unrealised === undefined) this.chip.show(day, dayPercent, "in 24 hours");
    else this.chip.show(unrealised, Decimal.percent(unrealised, cost) ?? undefined, "since it was bought");
    showDead(this.element, why);
  }
}
