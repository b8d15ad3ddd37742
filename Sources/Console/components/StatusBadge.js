import { el, setText } from "../dom.js";

const MARKS = { scheduled: "◷", running: "▶", paused: "❚❚", alerting: "!", disabled: "○" };

/** The state of an alert or alarm: colour, mark and word. */
export class StatusBadge {
  #mark = el("span", { "aria-hidden": "true" });
  #word = el("span");
  element = el("span.status-badge", this.#mark, this.#word);

  show(state) {
    this.element.style.background = `var(--state-${Object.hasOwn(MARKS, state) ? state : "disabled"})`;
    setText(this.#mark, MARKS[state] ?? "?");
    setText(this.#word, state.toUpperCase());
  }
}
