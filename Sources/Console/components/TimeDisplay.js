import { el, setText } from "../dom.js";

/** The figure that an alert is about, large. */
export class TimeDisplay {
  element = el("span.time-display");
  show(text) { setText(this.element, text); }
}
