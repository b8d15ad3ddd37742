import { el, icon, setText } from "../dom.js";

const TRIANGLE = "M12 4l9 16H3zM12 10v4M12 17v.5", EYE = "M2 12s4-6 10-6 10 6 10 6-4 6-10 6S2 12 2 12zM12 10a2 2 0 1 0 0 4 2 2 0 0 0 0-4", HAND = "M8 3h8l5 5v8l-5 5H8l-5-5V8zM8 12h8";
const STATES = {
  NORMAL: [null, "Full trading."], SOFT_BRAKE: [TRIANGLE, "Smaller sizes only."], QUARANTINE: [EYE, "Watch only."], HARD_STOP: [HAND, "All trading has stopped."],
};

/** The state of a risk desk: four states, each with a mark, a word and its consequence. */
export class RiskBadge {
  #word = el("span");
  #mark = el("span.risk-mark", { "aria-hidden": "true" });
  badge = el("span.risk-badge", this.#mark, this.#word);
  meaning = el("span.muted");
  element = el("div.risk", this.badge, this.meaning);

  show(state, reason) {
    const known = Object.hasOwn(STATES, state) ? STATES[state] : [TRIANGLE, "This page does not know this state."];
    this.badge.style.background = `var(--risk-${Object.hasOwn(STATES, state) ? state.toLowerCase().replace("_", "-") : "soft-brake"})`;
    setText(this.#word, state.replaceAll("_", " "));
    this.#mark.replaceChildren(...(known[0] ? [icon(known[0])] : []));
    setText(this.meaning, [known[1], reason].filter(Boolean).join(" "));
  }
}
