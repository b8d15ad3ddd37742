import { el, setText } from "../dom.js";
import { grouped } from "../format.js";
import { ChangeChip } from "./ChangeChip.js";
import { Decimal } from "/tidegate.js";

/** The shielded part of a supply, and its change of 24 hours. */
export class ShieldedPool {
  share = el("strong.price.pool-share", "–");
  amount = el("span.price.muted");
  chip = new ChangeChip();
  meter = el("span.pool-meter", { "aria-hidden": "true" });
  element = el("div.pool", { role: "group" }, el("div.pool-row", this.share, this.chip.element), this.meter, this.amount);

  /** @param document `percent`, `amount`, `asset`, `change_pct_24h`: decimals as text. */
  show({ percent: share, amount, asset, change }) {
    const isKnown = Decimal.isValid(share);
    setText(this.share, isKnown ? `${grouped(share)}%` : "–");
    this.element.ariaLabel = `Shielded pool: ${isKnown ? `${share} percent of supply` : "not known"}`;
    this.meter.style.setProperty("--share", isKnown ? `${Math.max(0, Math.min(100, Number(share)))}%` : "0%");
    setText(this.amount, Decimal.isValid(amount) ? `${grouped(amount)} ${asset ?? ""}` : "");
    this.chip.element.hidden = !Decimal.isValid(change);
    if (Decimal.isValid(change)) this.chip.show(change);
  }
}
