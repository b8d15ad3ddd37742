import { el, onBeat, setText } from "../dom.js";
import { ARROWS, direction, percent } from "../format.js";

/** A change of 24 h in percent, with arrow and sign, not only a colour. */
export class ChangeChip {
  element = el("span.chip");
  #shown;
  #next;

  /** `up`, `down` or `flat`; undefined if it is not known. */
  get direction() { return this.#next == null ? undefined : direction(this.#next); }

  show(decimal) {
    this.#next = decimal ?? null;
    if (this.#next !== this.#shown) onBeat(this.#draw);
  }

  #draw = () => {
    if (this.#next === this.#shown) return;
    const decimal = (this.#shown = this.#next), way = direction(decimal);
    this.element.dataset.direction = way;
    setText(this.element, decimal === null ? "–" : `${ARROWS[way]} ${percent(decimal)}`);
    this.element.ariaLabel = decimal === null ? "change not known" : `${percent(decimal)} in 24 h`;
  };
}
