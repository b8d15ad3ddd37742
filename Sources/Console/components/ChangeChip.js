import { el, setText } from "../dom.js";
import { ARROWS, direction, percent } from "../format.js";

/** A change in percent, with an arrow and a sign, so that colour is never alone. */
export class ChangeChip {
  element = el("span", { class: "chip" });

  show(decimal, what = "24 h") {
    const way = direction(decimal);
    this.element.dataset.direction = way;
    setText(this.element, decimal === undefined || decimal === null ? "–" : `${ARROWS[way]} ${percent(decimal)}`);
    this.element.setAttribute("aria-label", decimal === undefined || decimal === null ? "no change known" : `${percent(decimal)} in ${what}`);
  }
}
