/** Rules of alerts and alarms, as text and as JSON. */
import { grouped, moment, percent, price, stretch, symbolParts } from "./format.js";
import { Decimal } from "/tidegate.js";

export const WAYS = { above: "at or above", below: "at or below", crosses_up: "rises through", crosses_down: "falls through", crosses: "crosses" };
export const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/** What a rule watches: `hero`, the large figure, and `text`, a line. */
export function described(rule) {
  const condition = rule?.condition ?? {};
  const { quote, market } = symbolParts(condition.symbol);
  const way = WAYS[condition.is] ?? String(condition.is ?? "");
  switch (condition.type) {
    case "price": return { hero: price(condition.value, quote), text: `${market} ${way}` };
    case "change": return { hero: `${condition.percent}%`, text: `${market} ${way}, within ${condition.window_min} min` };
    case "spread": return { hero: condition.percent ? `${condition.percent}%` : price(condition.value, quote), text: `spread of ${market} ${way}` };
    case "depth": return { hero: String(condition.value), text: `${condition.side} of ${market} within ${condition.within_percent}% ${way}` };
    case "funding": return { hero: `${condition.percent}%`, text: `funding of ${market} ${way}` };
    case "open_interest":
      return {
        hero: `${condition.percent}%`, text: `open interest of ${market} ${way}, within ${condition.window_min} min`,
      };
    case "liquidations":
      return {
        hero: grouped(condition.value),
        text: `liquidations of ${market} ${way}, within ${condition.window_min} min`,
      };
    case "stale": return { hero: stretch(Number(condition.for_s) * 1e6), text: `${condition.part ?? "feed"} of ${condition.symbol} not live` };
    case "alarm": {
      if (typeof condition.at === "number") return { hero: moment(condition.at, 60e6), text: moment(condition.at, 60e6, true) };
      const days = Array.isArray(condition.days) ? condition.days : [];
      return { hero: String(condition.at), text: days.length === 0 ? "once" : days.length === 7 ? "every day" : days.join(", ") };
    }
    case "countdown": return { hero: stretch(Number(condition.for_s) * 1e6), text: "countdown" };
    case "all": case "any": {
      const parts = Array.isArray(condition.of) ? condition.of : [];
      return { hero: `${parts.length} conditions`, text: `${condition.type} of: ${parts.slice(0, 4).map((each) => described({ condition: each }).text).join("; ")}` };
    }
    default: return { hero: "–", text: String(condition.type ?? "unknown rule") };
  }
}

/** The figure at which an alert fired; undefined for a clock. */
export function fired({ rule, firing }) {
  const condition = rule?.condition ?? {}, value = firing?.value, { quote } = symbolParts(firing?.symbol);
  if (!Decimal.isValid(value)) return undefined;
  if (condition.type === "change" || condition.type === "open_interest") return percent(value);
  if (condition.type === "funding") return `${value}%`;
  if (condition.type === "spread" && condition.percent) return `${value}%`;
  return condition.type === "price" || condition.type === "spread" ? price(value, quote) : grouped(value);
}

/** The text of how often a rule fires. */
export function frequencyText(rule) {
  const frequency = rule?.frequency;
  if (frequency === "daily") return "once a day";
  if (typeof frequency?.every_s === "number") return `at most every ${stretch(frequency.every_s * 1e6)}`;
  return rule?.condition?.type === "alarm" ? "" : "once";
}

/** The rule of a form; `fields` are its texts. */
export function ruleOf(fields) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  switch (fields.kind) {
    case "alarm": return { condition: { type: "alarm", at: fields.at, days: fields.days }, time_zone: zone };
    case "countdown": return { condition: { type: "countdown", for_s: Math.round(Number(fields.minutes) * 60) } };
    case "change": return {
      condition: { type: "change", symbol: fields.symbol, is: fields.is, percent: fields.value, window_min: Number(fields.window) }, frequency: frequencyOf(fields.frequency),
    };
    default: return { condition: { type: "price", symbol: fields.symbol, is: fields.is, value: fields.value }, frequency: frequencyOf(fields.frequency) };
  }
}

function frequencyOf(text) { return text === "once" || text === "daily" ? text : { every_s: Number(text) }; }
