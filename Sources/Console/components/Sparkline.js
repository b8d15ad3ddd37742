import { el, onFrame, paint, token } from "../dom.js";

/** A small line of the last prices: 1.5 px, with a fading area. */
export class Sparkline {
  element = el("canvas", { class: "sparkline", role: "img", "aria-label": "no prices yet" });
  #line;

  constructor() {
    new ResizeObserver(() => onFrame(this.#draw)).observe(this.element);
  }

  show(line) {
    this.#line = line;
    onFrame(this.#draw);
  }

  #draw = () => {
    const line = this.#line;
    if (line === undefined) return;
    this.element.setAttribute("aria-label", line.points.length < 2 ? "no prices yet" : `the line of ${line.range || "24h"} is ${line.trend}`);
    paint(this.element, (context, width, height) => {
      const prices = line.points.map(Number);
      if (prices.length < 2) return;
      const low = Math.min(...prices), high = Math.max(...prices);
      const x = (index) => 1 + (index / (prices.length - 1)) * (width - 2);
      const y = (value) => (high === low ? height / 2 : 2 + (1 - (value - low) / (high - low)) * (height - 4));
      const colour = token({ up: "trading-long", down: "trading-short" }[line.trend] ?? "text-tertiary");
      context.beginPath();
      prices.forEach((value, index) => context.lineTo(x(index), y(value)));
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      context.lineJoin = "round";
      context.stroke();
      context.lineTo(x(prices.length - 1), height);
      context.lineTo(x(0), height);
      const area = context.createLinearGradient(0, 0, 0, height);
      area.addColorStop(0, colour);
      area.addColorStop(1, "transparent");
      context.globalAlpha = 0.2;
      context.fillStyle = area;
      context.fill();
      context.globalAlpha = 1;
    });
  };
}
