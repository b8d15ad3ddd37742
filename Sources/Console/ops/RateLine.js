import { el, onFrame, paint, token } from "../dom.js";
import { count } from "./format.js";

/** The shown seconds, the last at the right. */
const SECONDS = 60;

/** The count of each second of the last minute. */
export class RateLine {
  element = el("canvas.rate-line", { role: "img", "aria-label": "no figures yet" });
  #line = [];

  constructor() {
    new ResizeObserver(() => onFrame(this.#draw)).observe(this.element);
  }

  show(line) {
    this.#line = Array.isArray(line) ? line.slice(-SECONDS).map(Number).filter(Number.isFinite) : [];
    const most = Math.max(0, ...this.#line);
    this.element.setAttribute("aria-label", this.#line.length === 0 ? "no figures yet" : `at most ${count(most)} in a second of the last minute`);
    onFrame(this.#draw);
  }

  #draw = () => {
    paint(this.element, (context, width, height) => {
      const most = Math.max(1, ...this.#line), step = width / SECONDS;
      context.fillStyle = token("accent-primary");
      context.globalAlpha = 0.75;
      this.#line.forEach((value, place) => {
        const tall = Math.max(value > 0 ? 1 : 0, (value / most) * (height - 1));
        context.fillRect(width - (this.#line.length - place) * step, height - tall, Math.max(1, step - 0.5), tall);
      });
      context.globalAlpha = 1;
    });
  };
}
