import { el, setText } from "../dom.js";

/** The figure of an alert, large. */
export class TimeDisplay {
  element = el("span.time-display");
  show(text) { setText(this.element, text); }
}
