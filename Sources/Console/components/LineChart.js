import { token } from "../dom.js";
import { price as priceText } from "../format.js";
import { Chart } from "./Chart.js";

/** The line of a range: thin and dashed if not observed, open at a gap. */
export class LineChart extends Chart {
  #line;
  #trend;

  /** @param trend its colour, `up` or `down`; the line's own if left out. */
  show(line, span = Infinity, trend = line.trend) {
    this.#line = line;
    this.#trend = trend;
    this.step = Math.max(1, line.step);
    this.series = line.points.map((point, index) => ({ time: line.from + index * line.step, value: Number(point) }));
    this.changed(line.from, line.from + line.points.length * line.step, span, line.gaps);
  }

  drawSeries(context, { first, end, x, y, bottom, top }) {
    const { series, unobserved } = this, line = this.#line;
    const colour = token({ up: "trading-long", down: "trading-short" }[this.#trend] ?? "accent-primary");
    const observed = line.coveredFrom ?? Infinity;
    const isGap = (time) => unobserved.some((gap) => time >= gap.from && time < gap.to);
    const area = context.createLinearGradient(0, top, 0, bottom);
    area.addColorStop(0, colour);
    area.addColorStop(1, "transparent");
    context.lineJoin = "round";
    context.strokeStyle = colour;
    const finish = (run, isObserved) => {
      if (run.length === 0) return;
      context.beginPath();
      for (const { time, value } of run) context.lineTo(x(time), y(value));
      if (run.length === 1) context.arc(x(run[0].time), y(run[0].value), 2, 0, 7);
      context.lineWidth = isObserved ? 2 : 1;
      context.setLineDash(isObserved ? [] : [3, 3]);
      context.stroke();
      context.setLineDash([]);
      if (!isObserved || run.length === 1) return;
      context.lineTo(x(run.at(-1).time), bottom);
      context.lineTo(x(run[0].time), bottom);
      context.globalAlpha = 0.18;
      context.fillStyle = area;
      context.fill();
      context.globalAlpha = 1;
    };
    let run = [], isObserved = true;
    for (let index = first; index < end; index += 1) {
      const point = series[index];
      if (isGap(point.time)) { finish(run, isObserved); run = []; continue; }
      const now = point.time + this.step > observed;
      if (now !== isObserved && run.length > 0) { finish([...run, point], isObserved); run = []; }
      isObserved = now;
      run.push(point);
    }
    finish(run, isObserved);
  }

  describe(index) { return priceText(this.#line.points[index], this.quote); }
}
