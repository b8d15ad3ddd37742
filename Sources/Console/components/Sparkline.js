import { onSecond, svg } from "../dom.js";

/** Units of the picture; the style sheet stretches it. */
const WIDTH = 100, HEIGHT = 40;

let made = 0;

/** A small line of the last prices: 1.5 px, with an area that fades. Both have the colour of the change beside it. */
export class Sparkline {
  #fade = `sparkline-${(made += 1)}`;
  #area = svg("path", { fill: `url(#${this.#fade})` });
  #line = svg("path", { class: "sparkline-line" });
  element = svg(
    "svg", { class: "sparkline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": "no prices yet" },
    svg("linearGradient", { id: this.#fade, x2: 0, y2: 1 },
      svg("stop", { "stop-color": "currentcolor", "stop-opacity": 0.2 }), svg("stop", { offset: 1, "stop-color": "currentcolor", "stop-opacity": 0 })),
    this.#area, this.#line);
  #next;
  #direction;

  show(line) {
    this.#next = line;
    onSecond(this.#draw);
  }

  /** The direction of the change that is shown beside the line; without one, it has the colour of its own trend. */
  set direction(way) {
    if (way === this.#direction) return;
    this.#direction = way;
    if (this.#next !== undefined) onSecond(this.#draw);
  }

  #draw = () => {
    const { points, range } = this.#next, trend = this.#direction ?? this.#next.trend;
    if (points.length === 0) return;
    const prices = (points.length > 1 ? points : [points[0], points[0]]).map(Number);
    const low = Math.min(...prices), span = Math.max(...prices) - low;
    const step = WIDTH / (prices.length - 1);
    const path = prices.map((value, index) =>
      `${(index * step).toFixed(2)} ${(span === 0 ? HEIGHT / 2 : 2 + (1 - (value - low) / span) * (HEIGHT - 4)).toFixed(2)}`).join("L");
    this.#line.setAttribute("d", `M${path}`);
    this.#area.setAttribute("d", `M${path}V${HEIGHT}H0Z`);
    this.element.dataset.trend = trend;
    this.element.ariaLabel = `the line of ${range || "24h"} is ${trend}`;
  };
}
