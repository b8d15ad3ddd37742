/** The line of a portfolio's value, exactly. */
import { Decimal } from "/tidegate.js";

/** Whether a text is a plain decimal above zero. */
export function isAmount(text) { return Decimal.isValid(text) && !text.startsWith("-") && /[1-9]/.test(text); }

/**
 * The past value of all holdings, at present rates, for `LineChart`; null while the lines have no common time. @param
 * parts `{amount, rate, line}`, the lines of one range and number of points. @param total the gateway's total, which is
 * the last point. @param open the present profit of open positions, which every point contains.
 */
export function valueLine(parts, total, open = "0") {
  if (parts.length === 0 || parts.some(({ line }) => line === undefined || line.points.length === 0)) return null;
  const step = parts[0].line.step;
  if (step <= 0 || parts.some(({ line }) => line.step !== step)) return null;
  const from = Math.max(...parts.map(({ line }) => line.from));
  const end = Math.min(...parts.map(({ line }) => line.from + line.points.length * step));
  const count = Math.round((end - from) / step);
  if (count < 1) return null;
  const worth = (price) => parts.reduce((sum, { amount, rate, line }) => (
    Decimal.add(sum, Decimal.multiply(Decimal.multiply(amount, rate), price(line)))), open);
  const points = Array.from({ length: count }, (_, index) => worth((line) => line.points[Math.round((from - line.from) / step) + index]));
  // The change of a range is from the prices at its beginning, as on a market's line.
  const first = parts.every(({ line }) => line.from === from && line.open !== undefined) ? worth((line) => line.open) : points[0];
  if (total !== undefined) points[count - 1] = total;
  points.forEach((point, index) => { points[index] = Decimal.rounded(point, 2); });
  const sign = Decimal.compare(points.at(-1), first);
  const starts = parts.map(({ line }) => line.coveredFrom);
  return {
    range: parts[0].line.range, from, step, points, trend: sign > 0 ? "up" : sign < 0 ? "down" : "flat",
    coveredFrom: starts.includes(undefined) ? undefined : Math.max(...starts), gaps: parts.flatMap(({ line }) => line.gaps),
  };
}
