import { token } from "../dom.js";
import { price as priceText, short } from "../format.js";
import { Chart, stroke } from "./Chart.js";

/** µs of each interval. */
const INTERVALS = { "1m": 60e6, "5m": 300e6, "15m": 900e6, "1h": 3_600e6, "4h": 14_400e6, "1d": 86_400e6 };

/** Candles above their volume: rising ones hollow, falling ones filled, partly observed ones pale. */
export class CandlestickChart extends Chart {
  #candles = [];

  show(series, span = Infinity) {
    const candles = series.candles, step = INTERVALS[series.interval] ?? 60e6;
    this.step = step;
    this.#candles = candles;
    this.series = candles.map(({ time, close }) => ({ time: time + step / 2, value: Number(close) }));
    if (candles.length === 0) return this.changed(0, 1, 1, []);
    const ends = candles.map(({ time }) => time + step);
    const gaps = candles.flatMap(({ time }, index) => (time > ends[index - 1] ? [{ from: ends[index - 1], to: time }] : []));
    this.changed(candles[0].time, ends.at(-1), span, gaps);
  }

  bounds(first, end) {
    let low = Infinity, high = -Infinity;
    for (const candle of this.#candles.slice(first, end)) {
      low = Math.min(low, Number(candle.low));
      high = Math.max(high, Number(candle.high));
    }
    // Only volume bars are in the lowest quarter.
    return [low - (high - low) * 0.34, high];
  }

  drawSeries(context, { first, end, x, y, bottom, top }) {
    const candles = this.#candles.slice(first, end);
    const most = candles.reduce((sum, { volume }) => Math.max(sum, Number(volume ?? 0)), 0);
    const width = Math.max(1, Math.min(14, (x(this.step) - x(0)) * 0.7)), height = (bottom - top) * 0.25;
    context.lineWidth = 1;
    for (const candle of candles) {
      const [open, high, low, close] = [candle.open, candle.high, candle.low, candle.close].map(Number);
      const middle = x(candle.time + this.step / 2), isUp = close >= open;
      context.strokeStyle = context.fillStyle = token(isUp ? "trading-long" : "trading-short");
      context.globalAlpha = 0.3;
      if (most > 0) {
        const bar = (Number(candle.volume ?? 0) / most) * height;
        context.fillRect(middle - width / 2, bottom - bar, width, bar);
      }
      context.globalAlpha = candle.source === "partial" ? 0.55 : 1;
      const ceiling = Math.min(y(open), y(close)), body = Math.max(1, Math.abs(y(open) - y(close)));
      stroke(context, middle, y(high), middle, ceiling);
      stroke(context, middle, ceiling + body, middle, y(low));
      if (isUp && width >= 3) context.strokeRect(middle - width / 2, ceiling, width, body);
      else context.fillRect(middle - width / 2, ceiling, width, body);
      context.globalAlpha = 1;
    }
  }

  describe(index) {
    const { open, high, low, close, volume, source } = this.#candles[index], { quote } = this;
    const words = [["open", open], ["high", high], ["low", low], ["close", close]].map(([name, value]) => `${name} ${priceText(value, quote)}`);
    return `${words.join("  ")}${volume === undefined ? "" : `  volume ${short(volume)}`}${source === "partial" ? "  (partly observed)" : ""}`;
  }
}
