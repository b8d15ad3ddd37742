/** What holdings and positions are worth, exactly: decimals in, decimals out, and what is missing is undefined, never guessed. */
import { Decimal } from "/tidegate.js";

const HUNDREDTHS = 2;

/** Whether a text is a decimal above zero, as people write one. */
export function isAmount(text) { return Decimal.isValid(text) && !text.startsWith("-") && /[1-9]/.test(text); }

/**
 * A holding's figures, in its market's quote currency.
 * @param holding `amount`, and `cost`, the price paid for one, if known.
 * @param figures `price`, and `open`, the price 24 h ago; each undefined where it is not known.
 * @returns `value`, `day` and `gain` (24 h, and since the purchase), their percentages.
 */
export function holdingFigures({ amount, cost }, { price, open } = {}) {
  if (price === undefined) return {};
  const value = Decimal.multiply(amount, price);
  const since = (before) => {
    if (before === undefined) return [undefined, undefined];
    const difference = Decimal.subtract(price, before);
    return [Decimal.multiply(amount, difference), Decimal.percent(difference, before, HUNDREDTHS) ?? undefined];
  };
  const [day, dayPercent] = since(open), [gain, gainPercent] = since(cost);
  return { value, day, dayPercent, gain, gainPercent };
}

/**
 * What a position has made and not yet realised, in its market's quote currency; `percent` is of the margin, entry × size ÷ leverage.
 * @param position `side` (`long`, `short`), `size`, `entry`, `leverage`.
 */
export function positionFigures({ side, size, entry, leverage = "1" }, { price } = {}) {
  if (price === undefined) return {};
  const difference = side === "short" ? Decimal.subtract(entry, price) : Decimal.subtract(price, entry);
  const gain = Decimal.multiply(difference, size);
  return { gain, gainPercent: Decimal.percent(Decimal.multiply(gain, leverage), Decimal.multiply(entry, size), HUNDREDTHS) ?? undefined };
}

/**
 * The sum over lines, in one currency.
 * @param lines `{value, day, gain, rate}`; a line without a value or a rate is left out and counted.
 * @returns `total`, `day`, `dayPercent`, and the number of lines `missing`.
 */
export function summed(lines) {
  let total = "0", day = "0", before = "0", missing = 0;
  for (const { value, day: moved, rate } of lines) {
    if (value === undefined || rate === undefined) { missing += 1; continue; }
    const worth = Decimal.multiply(value, rate);
    total = Decimal.add(total, worth);
    if (moved === undefined) continue;
    const change = Decimal.multiply(moved, rate);
    day = Decimal.add(day, change);
    before = Decimal.add(before, Decimal.subtract(worth, change));
  }
  return { total, day, dayPercent: Decimal.percent(day, before, HUNDREDTHS) ?? undefined, missing };
}

/**
 * The line of what all holdings were worth, at the rates of now. It begins where every holding's line has begun.
 * @param parts `{amount, rate, line}`, the lines of one range and number of points.
 * @returns what `LineChart` shows; null while there is nothing that all lines have.
 */
export function valueLine(parts) {
  if (parts.length === 0 || parts.some(({ line }) => line === undefined || line.points.length === 0)) return null;
  const step = parts[0].line.step;
  if (step <= 0 || parts.some(({ line }) => line.step !== step)) return null;
  const from = Math.max(...parts.map(({ line }) => line.from));
  const end = Math.min(...parts.map(({ line }) => line.from + line.points.length * step));
  const count = Math.round((end - from) / step);
  if (count < 1) return null;
  const points = Array.from({ length: count }, (_, index) => parts.reduce((sum, { amount, rate, line }) => {
    const point = line.points[Math.round((from - line.from) / step) + index];
    return Decimal.add(sum, Decimal.multiply(Decimal.multiply(amount, rate), point));
  }, "0")).map((point) => Decimal.rounded(point, HUNDREDTHS));
  const sign = Decimal.compare(points.at(-1), points[0]);
  const starts = parts.map(({ line }) => line.coveredFrom);
  return {
    range: parts[0].line.range, from, step, points, trend: sign > 0 ? "up" : sign < 0 ? "down" : "flat",
    coveredFrom: starts.includes(undefined) ? undefined : Math.max(...starts), gaps: parts.flatMap(({ line }) => line.gaps),
  };
}
