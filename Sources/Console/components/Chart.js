import { el, onFrame, paint, setText, token } from "../dom.js";
import { decimals, grouped, moment, priceStep } from "../format.js";
import { Decimal } from "/tidegate.js";

const AXIS = 74, FOOT = 20, TOP = 10;
export const MINUTE = 60e6;
const HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const TIME_STEPS = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY];

/** Draws a straight line. */
export function stroke(context, x, y, toX, toY) {
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(toX, toY);
  context.stroke();
}

/**
 * The parts that charts share: time (µs) from left to right, prices upwards, zoom, pan, crosshair, moving averages,
 * the dashed line of the present price, and hatched times that were not observed.
 *
 * A subclass sets `series` (`{time, value, least, most, length}`, oldest first) and `step`, calls `changed`, and draws
 * with `drawSeries`. `length` is a point's time if it is longer than `step`; points from `first` on are of one length.
 * `describe(index)` is the text of the crosshair.
 */
export class Chart {
  series = [];
  first = 0;
  /** The whole range, and the one shown first: [from, to] in µs. */
  extent = [0, 1];
  home = [0, 1];
  /** Unobserved times: `{from, to}` in µs. */
  unobserved = [];
  /** The time between two points, µs. */
  step = MINUTE;
  #present;
  /** The decimals of every label of the price axis. */
  #digits = 0;
  #averages = new Set();
  #view = null;
  #cross = null;
  #pointers = new Map();
  #grip = null;

  constructor(quote, label) {
    this.quote = quote;
    this.canvas = el("canvas.chart", {
      tabIndex: 0, role: "img",
      "aria-label": `${label}: plus and minus zoom, arrow keys move the crosshair, with Shift they move the view, zero shows all`,
    });
    this.readout = el("p.caption.readout", { "aria-live": "polite" }, "\u00a0");
    this.element = el("div.chart-frame", this.canvas, this.readout);
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
    const on = (name, work, options) => this.canvas.addEventListener(name, work, options);
    on("wheel", (event) => {
      event.preventDefault();
      this.#zoom(event.deltaY < 0 ? 0.8 : 1.25, this.#share(event.offsetX));
    }, { passive: false });
    on("pointerdown", (event) => {
      this.#pointers.set(event.pointerId, event.offsetX);
      this.canvas.setPointerCapture(event.pointerId);
      this.#hold();
    });
    on("pointermove", (event) => this.#moved(event));
    for (const name of ["pointerup", "pointercancel"]) {
      on(name, (event) => { this.#pointers.delete(event.pointerId); this.#hold(); });
    }
    on("pointerleave", () => { if (this.#pointers.size === 0) { this.#cross = null; this.redraw(); } });
    on("dblclick", () => this.#look(null));
    on("keydown", (event) => this.#key(event));
  }

  redraw() { onFrame(this.#draw); }

  /**
   * The data has changed: it covers `first` to `end` of a range of `span`, µs (Infinity: everything), except `gaps`.
   * If the view showed the newest, it follows it.
   */
  changed(first, end, span, gaps) {
    const [, oldEnd] = this.extent, start = (span === Infinity ? first : Math.min(end - span, first)) - this.step;
    this.unobserved = first > start + this.step ? [{ from: start, to: first }, ...gaps] : gaps;
    const extent = (this.extent = [start, end + this.step / 2]);
    this.home = [Math.max(start, end - Math.max(end - first, 24 * this.step) * 1.12), extent[1]];
    if (this.#view !== null && this.#view[1] >= oldEnd - this.step) {
      const moved = extent[1] - oldEnd;
      this.#view = this.#bounded([this.#view[0] + moved, this.#view[1] + moved]);
    }
    this.redraw();
  }

  /** Shows another range whole. */
  reset() {
    this.#digits = 0;
    this.#look(null);
  }

  /** Sets the dashed line's price; undefined removes it. */
  set present(decimal) {
    if (decimal === this.#present) return;
    this.#present = decimal;
    this.redraw();
  }

  /** Toggles the moving average of `length` points. Returns whether it is shown. */
  toggleAverage(length) {
    if (!this.#averages.delete(length)) this.#averages.add(length);
    this.redraw();
    return this.#averages.has(length);
  }
  get averages() { return new Set(this.#averages); }
  set averages(lengths) { this.#averages = new Set(lengths); this.redraw(); }

  /** The shown times, [from, to] in µs. */
  get view() { return this.#view ?? this.home; }

  /** The points within a time, [first, end), and one more a side, so that lines reach the edges. */
  within(from, to) {
    const place = (time) => {
      let low = 0, high = this.series.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.series[middle].time < time) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    return [Math.max(0, place(from) - 1), Math.min(this.series.length, place(to) + 1)];
  }

  // What a subclass overrides.

  /** The lowest and the highest value of points [first, end). */
  bounds(first, end) {
    let low = Infinity, high = -Infinity;
    for (let index = first; index < end; index += 1) {
      const { value, least = value, most = value } = this.series[index];
      low = Math.min(low, least);
      high = Math.max(high, most);
    }
    return [low, high];
  }
  drawSeries() {}
  describe() { return ""; }

  #share(x) { return Math.min(1, Math.max(0, x / Math.max(1, this.canvas.clientWidth - AXIS))); }

  #bounded([from, to]) {
    const [least, most] = this.extent;
    const span = Math.min(Math.max(to - from, 8 * this.step), most - least);
    const start = Math.min(Math.max(from, least), most - span);
    return [start, start + span];
  }

  #look(view) {
    this.#view = view === null ? null : this.#bounded(view);
    this.redraw();
  }

  #zoom(factor, anchor) {
    const [from, to] = this.view;
    const span = (to - from) * factor, start = from + (to - from - span) * anchor;
    this.#look([start, start + span]);
  }

  /** Begins a drag of one pointer, or a pinch of two. */
  #hold() {
    const places = [...this.#pointers.values()].slice(0, 2);
    this.#grip = places.length === 0 ? null : { places, view: this.view };
  }

  #moved(event) {
    if (this.#pointers.has(event.pointerId)) this.#pointers.set(event.pointerId, event.offsetX);
    const grip = this.#grip;
    if (grip !== null) {
      const [from, to] = grip.view, width = Math.max(1, this.canvas.clientWidth - AXIS);
      const places = [...this.#pointers.values()].slice(0, 2);
      if (places.length === 2 && grip.places.length === 2) {
        const before = Math.max(8, Math.abs(grip.places[0] - grip.places[1])), now = Math.max(8, Math.abs(places[0] - places[1]));
        const span = (to - from) * (before / now), middle = (grip.places[0] + grip.places[1]) / 2 / width;
        const start = from + (to - from - span) * middle;
        this.#look([start, start + span]);
      } else if (Math.abs(places[0] - grip.places[0]) > 2) {
        const moved = ((grip.places[0] - places[0]) / width) * (to - from);
        this.#look([from + moved, to + moved]);
      }
    }
    this.#cross = this.#share(event.offsetX);
    this.redraw();
  }

  #key(event) {
    const [from, to] = this.view;
    const step = this.step / (to - from), pan = (to - from) / 10;
    const turn = (by) => {
      if (event.shiftKey) return this.#look([from + by * pan, to + by * pan]);
      this.#cross = Math.min(1, Math.max(0, (this.#cross ?? 1) + by * step));
    };
    switch (event.key) {
      case "+": case "=": this.#zoom(0.8, this.#cross ?? 1); break;
      case "-": case "−": this.#zoom(1.25, this.#cross ?? 1); break;
      case "0": this.#look(null); break;
      case "ArrowLeft": turn(-1); break;
      case "ArrowRight": turn(1); break;
      case "Escape": this.#cross = null; break;
      default: return;
    }
    event.preventDefault();
    this.redraw();
  }

  #draw = () => paint(this.canvas, (context, width, height) => {
    const [from, to] = this.view, right = width - AXIS, bottom = height - FOOT;
    context.font = `11px ${token("font-price") || "monospace"}`;
    const [first, end] = this.within(from, to);
    const frame = { from, to, first, end, right, bottom, top: TOP, x: (time) => ((time - from) / (to - from)) * right };
    this.#hatch(context, frame);
    if (this.series.length === 0) {
      context.fillStyle = token("text-secondary");
      context.font = "13px sans-serif";
      context.fillText("The chart begins with the first prices and grows from here.", 12, height / 2, width - 24);
      return;
    }
    let [low, high] = this.bounds(first, end);
    if (!(low <= high)) low = high = this.series.at(-1).value;
    if (low === high) { low -= Math.abs(low) * 0.001 || 1; high += Math.abs(high) * 0.001 || 1; }
    frame.y = (value) => TOP + (1 - (value - low) / (high - low)) * (bottom - TOP);
    this.#axes(context, frame, low, high);
    context.save();
    context.beginPath();
    context.rect(0, 0, right, height);
    context.clip();
    this.drawSeries(context, frame);
    this.#drawAverages(context, frame);
    context.restore();
    this.#drawPresent(context, frame, low, high);
    this.#drawCross(context, frame);
  });

  /** Diagonal lines, and a text if there is space: not only a colour. */
  #hatch(context, { from, to, x, right, bottom }) {
    for (const gap of this.unobserved) {
      const start = Math.max(0, x(Math.max(gap.from, from))), stop = Math.min(right, x(Math.min(gap.to, to)));
      if (!(stop - start >= 1)) continue;
      context.save();
      context.beginPath();
      context.rect(start, TOP, stop - start, bottom - TOP);
      context.clip();
      context.strokeStyle = token("border-subtle");
      context.lineWidth = 1;
      for (let place = start - bottom; place < stop; place += 8) stroke(context, place, bottom, place + bottom, 0);
      context.restore();
      if (stop - start < 90) continue;
      context.fillStyle = token("text-secondary");
      context.fillText("not observed", start + 8, bottom - 8);
    }
  }

  #axes(context, { from, to, x, y, right, bottom }, low, high) {
    context.fillStyle = token("text-tertiary");
    context.strokeStyle = token("border-subtle");
    context.lineWidth = 1;
    // Four labels of prices and more; a label each 56 px of width, but at most seven of times.
    const step = priceStep(high - low, bottom - TOP);
    this.#digits = Math.max(this.#digits, decimals(this.#present), Math.min(8, -Math.floor(Math.log10(step) + 1e-9)));
    for (let index = Math.ceil(low / step); index * step <= high; index += 1) {
      const value = index * step;
      stroke(context, 0, y(value), right, y(value));
      // The label of the present price is in its place.
      if (Math.abs(y(value) - y(Number(this.#present))) < 15) continue;
      context.fillText(grouped(value.toFixed(this.#digits)), right + 6, y(value) + 4, AXIS - 10);
    }
    const count = Math.max(2, Math.min(7, right / 56));
    const width = TIME_STEPS.find((each) => (to - from) / each <= count) ?? TIME_STEPS.at(-1);
    // Labels are at whole steps of local time.
    const offset = new Date(from / 1_000).getTimezoneOffset() * MINUTE;
    for (let time = Math.ceil((from - offset) / width) * width + offset; time <= to; time += width) {
      if (x(time) < right - 30) context.fillText(moment(time, width), x(time), bottom + 15);
    }
  }

  #drawAverages(context, { first, end, x, y }) {
    for (const length of this.#averages) {
      let sum = 0, last = null;
      context.beginPath();
      const start = Math.max(this.first, first - length + 1);
      for (let index = start; index < end; index += 1) {
        sum += this.series[index].value - (index - start >= length ? this.series[index - length].value : 0);
        if (index - start < length - 1 || index < first) continue;
        last = [x(this.series[index].time), y(sum / length)];
        context.lineTo(...last);
      }
      context.strokeStyle = context.fillStyle = token(length < 20 ? "accent-text" : "warning-text");
      context.lineWidth = 1.25;
      context.setLineDash(length < 20 ? [] : [6, 3]);
      context.stroke();
      context.setLineDash([]);
      if (last) context.fillText(String(length), Math.max(4, last[0] - 16), last[1] - 6);
    }
  }

  #drawPresent(context, { y, right }, low, high) {
    const text = this.#present, value = Number(text);
    if (text === undefined || !(value >= low && value <= high)) return;
    context.setLineDash([4, 4]);
    context.strokeStyle = token("accent-text");
    stroke(context, 0, y(value), right, y(value));
    context.setLineDash([]);
    context.fillStyle = token("accent-primary");
    context.fillRect(right + 2, y(value) - 9, AXIS - 4, 18);
    context.fillStyle = token("on-accent");
    context.fillText(grouped(Decimal.rounded(text, this.#digits)), right + 6, y(value) + 4, AXIS - 10);
  }

  #drawCross(context, { from, to, first, end, x, y, right, bottom }) {
    if (this.#cross === null || end <= first) return setText(this.readout, "\u00a0");
    const wanted = from + this.#cross * (to - from);
    let index = first;
    for (let each = first; each < end; each += 1) {
      if (Math.abs(this.series[each].time - wanted) < Math.abs(this.series[index].time - wanted)) index = each;
    }
    const { time, value, length = 0 } = this.series[index];
    if (Math.abs(time - wanted) > Math.max(2 * this.step, length)) return setText(this.readout, `${moment(wanted, MINUTE, true)}  not observed`);
    context.strokeStyle = token("border-emphasis");
    stroke(context, x(time), TOP, x(time), bottom);
    stroke(context, 0, y(value), right, y(value));
    setText(this.readout, `${moment(time, MINUTE, true)}  ${this.describe(index)}`);
  }
}
