import { token } from "../dom.js";
import { price as priceText, short, stretch } from "../format.js";
import { Chart, MINUTE, stroke } from "./Chart.js";

/** µs of each interval. */
export const INTERVALS = { "1m": MINUTE, "5m": 300e6, "15m": 900e6, "1h": 3_600e6, "4h": 14_400e6, "1d": 86_400e6 };

/** Candles above their volume: rising ones hollow, falling ones filled, partly observed ones pale. */
export class CandlestickChart extends Chart {
  #candles = [];

  /** @param older longer candles of the time before the series, for which there are no short ones. */
  show(series, span = Infinity, older = { candles: [] }) {
    const step = INTERVALS[series.interval] ?? MINUTE, longer = INTERVALS[older.interval] ?? step;
    // The series takes over where the last long candle ends.
    const begin = older.candles.length === 0 ? -Infinity : older.candles.at(-1).time + longer;
    const candles = (this.#candles = [...older.candles, ...series.candles.filter(({ time }) => time >= begin)]);
    this.step = step;
    this.series = candles.map(({ time, close, low, high }) => {
      const length = time < begin ? longer : step;
      return { time: time + length / 2, value: Number(close), least: Number(low), most: Number(high), length };
    });
    this.first = older.candles.length;
    if (candles.length === 0) return this.changed(0, 1, 1, []);
    const ends = candles.map(({ time }, index) => time + this.series[index].length);
    const gaps = candles.flatMap(({ time }, index) => (time > ends[index - 1] ? [{ from: ends[index - 1], to: time }] : []));
    this.changed(candles[0].time, ends.at(-1), span, gaps);
  }

  bounds(first, end) {
    const [low, high] = super.bounds(first, end);
    // Only volume bars are in the lowest quarter.
    return [low - (high - low) * 0.34, high];
  }

  drawSeries(context, { first, end, x, y, bottom, top }) {
    const rate = (index) => Number(this.#candles[index].volume ?? 0) / this.series[index].length;
    let busiest = 0;
    for (let index = first; index < end; index += 1) busiest = Math.max(busiest, rate(index));
    const height = (bottom - top) * 0.25;
    context.lineWidth = 1;
    for (let index = first; index < end; index += 1) {
      const candle = this.#candles[index], { time, length, value: close, least, most } = this.series[index];
      const open = Number(candle.open);
      const middle = x(time), isUp = close >= open, width = Math.max(1, Math.min(14, (x(length) - x(0)) * 0.7));
      context.strokeStyle = context.fillStyle = token(isUp ? "trading-long" : "trading-short");
      context.globalAlpha = 0.3;
      if (busiest > 0) {
        const bar = (rate(index) / busiest) * height;
        context.fillRect(middle - width / 2, bottom - bar, width, bar);
      }
      context.globalAlpha = candle.source === "partial" ? 0.55 : 1;
      const ceiling = Math.min(y(open), y(close)), body = Math.max(1, Math.abs(y(open) - y(close)));
      stroke(context, middle, y(most), middle, ceiling);
      stroke(context, middle, ceiling + body, middle, y(least));
      if (isUp && width >= 3) context.strokeRect(middle - width / 2, ceiling, width, body);
      else context.fillRect(middle - width / 2, ceiling, width, body);
      context.globalAlpha = 1;
    }
  }

  describe(index) {
    const { open, high, low, close, volume, source } = this.#candles[index], { quote } = this;
    const words = [["open", open], ["high", high], ["low", low], ["close", close]].map(([name, value]) => `${name} ${priceText(value, quote)}`);
    const { length } = this.series[index];
    return [
      ...words, volume === undefined ? "" : `volume ${short(volume)}`, source === "partial" ? "(partly observed)" : "", length > this.step ? `(${stretch(length)})` : "",
    ].filter(Boolean).join("  ");
  }
}
