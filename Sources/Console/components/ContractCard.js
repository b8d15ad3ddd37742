import { el, onFrame, setText } from "../dom.js";
import { ARROWS, clock, figure, grouped, price, short, stretch } from "../format.js";
import { Decimal } from "/tidegate.js";

const ROWS = 10;
/** What the price of a liquidation is. */
const PRICES = { fill: "executed", order: "order's limit", bankruptcy: "bankruptcy price" };

/** A perpetual or dated future: mark, index, funding with a countdown, open interest, liquidations. */
export class ContractCard {
  #quote;
  #derivative = {};
  #liquidations = [];
  #cells = new Map(
    ["Mark", "Index", "Funding", "Settled in", "Open interest", "Value"].map((name) => [name, el("dd", "–")]));
  #rows = el("tbody");
  #note = el("p.caption", "");

  constructor(quote) {
    this.#quote = quote;
    this.element = el(
      "div.card", el("h2", "Contract"),
      el("dl.statistics", ...[...this.#cells].map(([name, cell]) => el("div", el("dt", name), cell))),
      el("h3", "Liquidations"), el("table.trades", this.#rows), this.#note);
  }

  show(derivative) {
    this.#derivative = derivative;
    this.tick();
  }

  /** @param isComplete whether the exchange tells of all; undefined if that is not known. */
  liquidated(liquidations, isComplete) {
    this.#liquidations = liquidations;
    if (isComplete === false) setText(this.#note, "The exchange leaves some out.");
    onFrame(this.#draw);
  }

  /** Draws the figures, and the countdown. */
  tick() {
    const it = this.#derivative, now = Date.now() * 1_000;
    const rate = it.funding_rate === undefined
      ? "–" : `${figure(Decimal.multiply(it.funding_rate, "100"), 4)} %${it.funding_interval_s ? ` / ${it.funding_interval_s / 3_600} h` : ""}`;
    const left = it.continuous ? "all the time" : it.next_funding > now ? stretch(it.next_funding - now) : "–";
    for (const [name, text] of [
      ["Mark", it.mark && price(it.mark, this.#quote)], ["Index", it.index && price(it.index, this.#quote)], ["Funding", rate],
      ["Settled in", left], ["Open interest", it.open_interest && short(it.open_interest)],
      ["Value", it.open_interest_quote && short(it.open_interest_quote)],
    ]) setText(this.#cells.get(name), text ?? "–");
  }

  #draw = () => {
    this.#rows.replaceChildren(...this.#liquidations.slice(-ROWS).reverse().map((each) => el(
      "tr", { title: PRICES[each.price_kind] ?? "" }, el("td", `${each.side === "buy" ? ARROWS.up : ARROWS.down} ${figure(each.price)}`),
      el("td", `${each.position} ${grouped(each.size)}`), el("td", clock(each.time)))));
  };
}
