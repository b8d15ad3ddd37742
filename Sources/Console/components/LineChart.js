import { el, onFrame, paint, setText, token } from "../dom.js";
import { clock, price as priceText } from "../format.js";

/** Points of the shortest stretch that can be zoomed to. */
const LEAST = 10;

/**
 * The chart of a market's line: area, price axis, a dashed line at the present price, moving averages, a crosshair that speaks. Wheel,
 * `+` and `−` zoom; drag and the arrow keys move; double click and `0` show all.
 */
export class LineChart {
  #line;
  #quote;
  #averages = new Set();
  /** The stretch that is shown, in points: [first, end). */
  #view = null;
  #cross = null;
  #drag = null;

  constructor(quote) {
    this.#quote = quote;
    this.canvas = el("canvas", {
      class: "chart", tabIndex: 0, role: "img",
      "aria-label": "price chart: plus and minus zoom, arrow keys move the crosshair, zero shows all",
    });
    this.readout = el("p", { class: "caption", "aria-live": "polite" }, "\u00a0");
    this.element = el("div", {}, this.canvas, this.readout);
    new ResizeObserver(() => onFrame(this.#draw)).observe(this.canvas);
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.#zoom(event.deltaY < 0 ? 0.8 : 1.25, event.offsetX / this.canvas.clientWidth);
    }, { passive: false });
    this.canvas.addEventListener("pointermove", (event) => this.#moved(event));
    this.canvas.addEventListener("pointerleave", () => { this.#cross = null; onFrame(this.#draw); });
    this.canvas.addEventListener("pointerdown", (event) => {
      this.#drag = { x: event.offsetX, view: this.#shown() };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointerup", () => { this.#drag = null; });
    this.canvas.addEventListener("dblclick", () => { this.#view = null; onFrame(this.#draw); });
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  show(line) {
    const old = this.#line;
    this.#line = line;
    if (this.#view && old && this.#view[1] >= old.points.length - 1) {
      // Who looks at the newest goes on looking at it.
      const width = this.#view[1] - this.#view[0];
      this.#view = [Math.max(0, line.points.length - width), line.points.length];
    }
    onFrame(this.#draw);
  }

  /** Shows or hides the moving average of so many points. Returns whether it is shown now. */
  toggleAverage(length) {
    if (!this.#averages.delete(length)) this.#averages.add(length);
    onFrame(this.#draw);
    return this.#averages.has(length);
  }

  #shown() {
    const count = this.#line?.points.length ?? 0;
    if (this.#view === null) return [0, count];
    const width = Math.min(Math.max(this.#view[1] - this.#view[0], LEAST), count);
    const first = Math.min(Math.max(0, this.#view[0]), count - width);
    return [first, first + width];
  }

  #zoom(factor, anchor) {
    const [first, end] = this.#shown();
    const count = this.#line?.points.length ?? 0;
    const width = Math.min(Math.max((end - first) * factor, LEAST), count);
    const start = first + (end - first - width) * anchor;
    this.#view = width >= count ? null : [Math.round(start), Math.round(start + width)];
    onFrame(this.#draw);
  }

  #moved(event) {
    if (this.#drag) {
      const [first, end] = this.#drag.view;
      const moved = Math.round(((this.#drag.x - event.offsetX) / this.canvas.clientWidth) * (end - first));
      if (this.#view !== null) this.#view = [first + moved, end + moved];
    }
    this.#cross = event.offsetX / this.canvas.clientWidth;
    onFrame(this.#draw);
  }

  #key(event) {
    const [first, end] = this.#shown();
    const step = 1 / Math.max(1, end - first - 1);
    switch (event.key) {
      case "+": case "=": this.#zoom(0.8, this.#cross ?? 1); break;
      case "-": this.#zoom(1.25, this.#cross ?? 1); break;
      case "0": this.#view = null; break;
      case "ArrowLeft": this.#cross = Math.max(0, (this.#cross ?? 1) - step); break;
      case "ArrowRight": this.#cross = Math.min(1, (this.#cross ?? 1) + step); break;
      default: return;
    }
    event.preventDefault();
    onFrame(this.#draw);
  }

  #draw = () => {
    const line = this.#line;
    if (line === undefined) return;
    paint(this.canvas, (context, width, height) => {
      const [first, end] = this.#shown();
      const prices = line.points.map(Number);
      const shown = prices.slice(first, end);
      context.font = `11px ${token("font-price") || "monospace"}`;
      if (shown.length < 2) {
        context.fillStyle = token("text-secondary");
        context.font = "13px sans-serif";
        context.fillText("The line begins with the first prices and grows from here.", 12, height / 2);
        return;
      }
      let low = Math.min(...shown), high = Math.max(...shown);
      if (low === high) { low *= 0.999; high *= 1.001; }
      const right = 74, bottom = 18, top = 8;
      const x = (index) => ((index - first) / (end - 1 - first)) * (width - right);
      const y = (value) => top + (1 - (value - low) / (high - low)) * (height - top - bottom);
      const digits = Math.max(0, ...line.points.slice(-1).map((each) => (each.split(".")[1] ?? "").length));
      context.fillStyle = token("text-tertiary");
      context.strokeStyle = token("border-subtle");
      context.lineWidth = 1;
      for (let step = 0; step <= 4; step += 1) {
        const value = low + ((high - low) * step) / 4;
        context.beginPath();
        context.moveTo(0, y(value));
        context.lineTo(width - right, y(value));
        context.stroke();
        context.fillText(value.toFixed(Math.min(digits, 6)), width - right + 6, y(value) + 4);
      }
      const time = (index) => line.from + index * line.step;
      for (let step = 0; step < 4; step += 1) {
        const index = Math.round(first + ((end - 1 - first) * step) / 4);
        context.fillText(clock(time(index)).slice(0, 5), x(index), height - 4);
      }
      const colour = token({ up: "trading-long", down: "trading-short" }[line.trend] ?? "accent-primary");
      context.beginPath();
      shown.forEach((value, index) => context.lineTo(x(first + index), y(value)));
      context.strokeStyle = colour;
      context.lineWidth = 2;
      context.lineJoin = "round";
      context.stroke();
      context.lineTo(x(end - 1), height - bottom);
      context.lineTo(x(first), height - bottom);
      const area = context.createLinearGradient(0, top, 0, height - bottom);
      area.addColorStop(0, colour);
      area.addColorStop(1, "transparent");
      context.globalAlpha = 0.18;
      context.fillStyle = area;
      context.fill();
      context.globalAlpha = 1;
      for (const length of this.#averages) {
        let sum = 0;
        context.beginPath();
        prices.forEach((value, index) => {
          sum += value - (index >= length ? prices[index - length] : 0);
          if (index >= length - 1 && index >= first && index < end) context.lineTo(x(index), y(sum / length));
        });
        context.strokeStyle = token(length < 20 ? "accent-text" : "warning-text");
        context.lineWidth = 1.25;
        context.stroke();
      }
      const last = prices.at(-1);
      if (last >= low && last <= high) {
        context.setLineDash([4, 4]);
        context.strokeStyle = token("accent-text");
        context.beginPath();
        context.moveTo(0, y(last));
        context.lineTo(width - right, y(last));
        context.stroke();
        context.setLineDash([]);
      }
      if (this.#cross === null) return setText(this.readout, "\u00a0");
      const index = Math.min(end - 1, Math.max(first, Math.round(first + (this.#cross * width / (width - right)) * (end - 1 - first))));
      context.strokeStyle = token("border-emphasis");
      context.beginPath();
      context.moveTo(x(index), top);
      context.lineTo(x(index), height - bottom);
      context.moveTo(0, y(prices[index]));
      context.lineTo(width - right, y(prices[index]));
      context.stroke();
      setText(this.readout, `${clock(time(index))}  ${priceText(line.points[index], this.#quote)}`);
    });
  };
}
