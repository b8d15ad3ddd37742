/** Numbers, times and words as the page shows and speaks them. Prices stay decimal strings: nothing is rounded for show. */
import { Decimal } from "/tidegate.js";

/** `1234567.50` as `1,234,567.50`. */
export function grouped(decimal) {
  const [whole, part] = decimal.split(".");
  const sign = whole.startsWith("-") ? "-" : "";
  const digits = whole.slice(sign.length).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return sign + digits + (part === undefined ? "" : `.${part}`);
}

const MARKS = { USD: "$", EUR: "€", GBP: "£", JPY: "¥" };

/** A price with its currency's mark, without the zeros that a venue pads with: `$64,235.80`. At least two digits where there are any. */
export function price(decimal, quote = "") {
  if (decimal === undefined || decimal === null) return "–";
  return (MARKS[quote] ?? "") + grouped(Decimal.trimmed(decimal, 2));
}

/** A signed percentage: `+2.34%`. */
export function percent(decimal) {
  if (decimal === undefined || decimal === null) return "–";
  return `${decimal.startsWith("-") || !/[1-9]/.test(decimal) ? "" : "+"}${Decimal.rounded(decimal, 2)}%`;
}

export function direction(decimal) {
  if (decimal === undefined || decimal === null || !/[1-9]/.test(decimal)) return "flat";
  return decimal.startsWith("-") ? "down" : "up";
}

export const ARROWS = { up: "▲", down: "▼", flat: "▬" };

/** A volume, short: `1.23 M`. For reading only. */
export function short(decimal) {
  if (decimal === undefined || decimal === null) return "–";
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 }).format(Number(decimal));
}

/** An age in milliseconds, in words. */
export function age(milliseconds) {
  if (milliseconds === undefined || milliseconds === null) return "never";
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 90_000) return `${Math.round(milliseconds / 1_000)} s`;
  if (milliseconds < 5_400_000) return `${Math.round(milliseconds / 60_000)} min`;
  return `${Math.round(milliseconds / 3_600_000)} h`;
}

/** A moment of the protocol (µs) as the clock shows it. */
export function clock(microseconds) {
  return microseconds === undefined ? "–" : new Date(microseconds / 1_000).toLocaleTimeString("en-GB");
}

/** `kraken:BTC-USD` taken apart. */
export function symbolParts(symbol) {
  const [venue, market = ""] = symbol.split(":");
  const [base = "", quote = "", kind] = market.split("-");
  return { venue, market, base, quote, kind };
}

/** How a price is said: "48 dollars and 23 cents". */
export function spokenPrice(decimal, quote) {
  const names = { USD: ["dollar", "cent"], EUR: ["euro", "cent"], GBP: ["pound", "penny"] };
  const name = names[quote];
  if (name === undefined) return `${decimal} ${quote}`;
  const [whole, part] = Decimal.rounded(decimal, 2).split(".");
  const plural = (count, word) => `${Number(count)} ${Number(count) === 1 ? word : word === "penny" ? "pence" : `${word}s`}`;
  return Number(part) === 0 ? plural(whole, name[0]) : `${plural(whole, name[0])} and ${plural(part, name[1])}`;
}
