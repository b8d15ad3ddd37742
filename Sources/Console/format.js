/** Numbers, times and words as the page shows and speaks them. Prices stay decimal strings. */
import { Decimal } from "/tidegate.js";

/** `1234567.50` as `1,234,567.50`. */
export function grouped(decimal) {
  const [whole, part] = decimal.split(".");
  const sign = whole.startsWith("-") ? "-" : "";
  const digits = whole.slice(sign.length).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return sign + digits + (part === undefined ? "" : `.${part}`);
}

/** The decimals of a price without a venue's padding zeros: none, or two and more. */
export function decimals(decimal) {
  const [, part = ""] = Decimal.trimmed(decimal ?? "0", 2).split(".");
  return part.length === 1 ? 2 : part.length;
}

/**
 * The round step (1, 2 or 5 of a power of ten) between the labels of an axis of `height` px that shows a range of
 * prices above zero: labels are 40 px apart at least, or a tenth of a low axis, so at least four fit.
 */
export function priceStep(range, height) {
  const rough = (range * Math.min(40, height / 10)) / height, power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((each) => each * power >= rough) ?? 10);
}

/** The decimals that all of a list can share. */
export function sharedDecimals(list) { return Math.max(0, ...list.map(decimals)); }

/** A price with at least so many decimals: `64,235.80`. */
export function figure(decimal, least = 0) {
  return grouped(Decimal.rounded(Decimal.trimmed(decimal, 2), Math.max(least, decimals(decimal))));
}

const MARKS = { USD: "$", EUR: "€", GBP: "£", JPY: "¥" };

export function mark(currency) { return MARKS[currency] ?? ""; }

/** A price with its currency's mark: `$64,235.80`. */
export function price(decimal, quote = "", least = 0) {
  if (decimal === undefined || decimal === null) return "–";
  return mark(quote) + figure(decimal, least);
}

/** An amount of money, to the currency's smallest unit. */
export function money(decimal, currency) {
  return price(decimal === undefined ? undefined : Decimal.rounded(decimal, currency === "BTC" ? 8 : 2), currency);
}

/** A profit or loss: `+$12.50`. */
export function signedMoney(decimal, currency) {
  const isLess = decimal.startsWith("-");
  return (isLess ? "-" : /[1-9]/.test(decimal) ? "+" : "") + money(isLess ? decimal.slice(1) : decimal, currency);
}

/** What a client has received, in a sentence: `31.2 kB and 640 wake-ups a minute, 98 % of the messages binary.` */
export function trafficText(traffic) {
  if (traffic === undefined || traffic.milliseconds < 1_000) return "Nothing has been measured yet.";
  const minute = (count) => Math.round((count * 60_000) / traffic.milliseconds), bytes = minute(traffic.bytes);
  const size = bytes < 1_000 ? `${bytes} B` : `${(bytes / 1_000).toFixed(1)} kB`;
  const share = Math.round((100 * traffic.records) / traffic.messages);
  const often = `${minute(traffic.wakeUps)} wake-ups a minute`;
  return `This page gets ${size} in ${often}; ${share} % of the messages are binary.`;
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

/** A volume, short: `1.23 M`. */
export function short(decimal) {
  if (decimal === undefined || decimal === null) return "–";
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 }).format(Number(decimal));
}

/** An error: what is wrong, and what to do. */
export function said({ message, hint }) { return [message, hint].filter(Boolean).join(": "); }

/** An age in milliseconds, in words. */
export function age(milliseconds) {
  if (milliseconds === undefined || milliseconds === null) return "never";
  return milliseconds < 1_000 ? `${Math.round(milliseconds)} ms` : stretch(milliseconds * 1_000);
}

/** A moment (µs) as local time of day. */
export function clock(microseconds) {
  return microseconds === undefined ? "–" : new Date(microseconds / 1_000).toLocaleTimeString("en-GB");
}

/** The parts of `kraken:BTC-USD`. */
export function symbolParts(symbol) {
  const [venue, market = ""] = String(symbol ?? "").split(":");
  const [base = "", quote = "", kind] = market.split("-");
  return { venue, market, base, quote, kind };
}

/** The address of a market's page. */
export function marketPage(symbol) { return `#/market/${encodeURIComponent(symbol)}`; }

/** A spoken price: "48 dollars and 23 cents". */
export function spokenPrice(decimal, quote) {
  const names = { USD: ["dollar", "cent"], EUR: ["euro", "cent"], GBP: ["pound", "penny"] };
  const name = names[quote];
  if (name === undefined) return `${decimal} ${quote}`;
  const [whole, part] = Decimal.rounded(decimal, 2).split(".");
  const plural = (count, word) => `${Number(count)} ${Number(count) === 1 ? word : word === "penny" ? "pence" : `${word}s`}`;
  return Number(part) === 0 ? plural(whole, name[0]) : `${plural(whole, name[0])} and ${plural(part, name[1])}`;
}

/** A text of a published document, cut for a card; undefined if there is none. */
export function textOf(document, name, limit = 500) {
  const value = document?.[name];
  return typeof value === "string" && value !== "" ? value.slice(0, limit) : typeof value === "number" ? String(value) : undefined;
}

/** A moment (µs) as an axis with steps of `step` µs writes it; whole, with day and time, if `isWhole`. */
export function moment(microseconds, step, isWhole = false) {
  const date = new Date(microseconds / 1_000);
  if (isWhole) {
    return date.toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });
  }
  if (step < 86_400e6) return date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return date.toLocaleDateString("en-GB", step < 90 * 86_400e6 ? { day: "numeric", month: "short" } : { month: "short", year: "numeric" });
}

/** A stretch of time (µs) in words: `3 min`, `5 h`, `12 days`. */
export function stretch(microseconds) {
  const seconds = microseconds / 1e6;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
