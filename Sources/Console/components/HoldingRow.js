import { CROSS, el, iconButton, setText } from "../dom.js";
import { direction, grouped, marketPage, money, symbolParts } from "../format.js";
import { showDead, whyPlace } from "../health.js";
import { coinIcon } from "./CoinIcon.js";
import { PnLChip } from "./PnLChip.js";
import { Sparkline } from "./Sparkline.js";
import { Decimal } from "/tidegate.js";

/** A holding: amount, value, share, line, and its profit since it was bought, or in 24 h. */
export class HoldingRow {
  /** @param isDay whether its line is of 24 h, as its change. */
  constructor({ symbol, asset, amount }, currency, isDay, onRemove) {
    const { venue, base = asset } = symbolParts(symbol ?? `:${asset}`);
    this.currency = currency;
    this.isDay = isDay;
    this.chip = new PnLChip(currency);
    this.line = new Sparkline();
    this.value = el("span.price", "–");
    this.share = el("span.caption");
    this.since = el("span.caption");
    this.title = el("strong", base);
    this.base = base;
    this.element = el(
      "li.row.holding",
      el(symbol ? "a.row-name.has-coin" : "span.row-name.has-coin", symbol ? { href: marketPage(symbol) } : {}, coinIcon(base), this.title,
        el("span.caption", `${grouped(amount)} ${base}${venue ? ` · ${venue}` : ""}`), this.share, whyPlace()),
      this.line.element, el("div.row-price", this.value, this.chip.element, this.since), iconButton(CROSS, `Remove the holding of ${base}`, onRemove));
  }

  /** @param why the reason, if the price is not the present one, or null. */
  show({ value, share_percent: share, day_profit: day, day_percent: dayPercent, cost, unrealised }, why) {
    setText(this.value, money(value, this.currency));
    this.line.direction = day === undefined || !this.isDay ? undefined : direction(day);
    setText(this.since, unrealised === undefined ? "24 h" : "since bought");
    setText(this.share, share === undefined ? "" : `${Decimal.rounded(share, 1)}% of the total`);
    if (unrealised === undefined) this.chip.show(day, dayPercent, "in 24 hours");
    else this.chip.show(unrealised, Decimal.percent(unrealised, cost) ?? undefined, "since it was bought");
    showDead(this.element, why);
  }
}
