// The line of a portfolio's value, amounts, and the rules of alerts.
import assert from "node:assert/strict";
import { register } from "node:module";
import { test } from "node:test";
import { SeededGenerator } from "./world.mjs";

// The console's modules name the client by the path under which a gateway serves it.
const client = new URL("../../Sources/Console/client/tidegate.js", import.meta.url).href;
register(`data:text/javascript,${encodeURIComponent(`export function resolve(name, context, next) {
  return name === "/tidegate.js" ? { url: ${JSON.stringify(client)}, shortCircuit: true } : next(name, context);
}`)}`);
const { decimals, figure, price: priceText, priceStep, sharedDecimals, trafficText }
  = await import("../../Sources/Console/format.js");
const { isAmount, valueLine } = await import("../../Sources/Console/valuation.js");
const { described, fired, ruleOf } = await import("../../Sources/Console/rules.js");

test("the line of the value begins where every line has begun, and is covered where all are", () => {
  const line = (from, points, coveredFrom) => ({ range: "24h", from, step: 60, points, coveredFrom, gaps: [] });
  const value = valueLine([
    { amount: "2", rate: "1", line: line(0, ["1", "2", "3"], 30) }, { amount: "1", rate: "10", line: line(60, ["5", "6"], 90) },
  ]);
  assert.deepEqual([value.from, value.points, value.coveredFrom, value.trend], [60, ["54.00", "66.00"], 90, "up"]);
  assert.equal(valueLine([{ amount: "1", rate: "1", line: undefined }]), null);
});

test("the line of the value ends with the gateway's value, and changes from the prices at the beginning", () => {
  const parts = [{ amount: "2", rate: "1", line: { range: "24h", from: 0, step: 60, points: ["1", "2"], open: "3", coveredFrom: 0, gaps: [] } }];
  assert.deepEqual([valueLine(parts, "5.005").points, valueLine(parts, "5.005").trend], [["2.00", "5.00"], "down"]);
  assert.equal(valueLine(parts, "6.5").trend, "up");
  // The profit of open positions is in every point, so that it is no change of the range.
  const { points, trend } = valueLine(parts, "6.5", "0.5");
  assert.deepEqual([points, trend], [["2.50", "6.50"], "flat"]);
});

test("what a connection costs is told by the minute", () => {
  const traffic = { messages: 200, records: 190, bytes: 15_600, wakeUps: 100, milliseconds: 10_000 };
  assert.equal(trafficText(traffic), "This page gets 93.6 kB in 600 wake-ups a minute; 95 % of the messages are binary.");
  assert.match(trafficText({ ...traffic, bytes: 10 }), /gets 60 B in/);
  for (const none of [undefined, { ...traffic, milliseconds: 0 }]) {
    assert.equal(trafficText(none), "Nothing has been measured yet.");
  }
});

test("amounts are decimals above zero", () => {
  for (const [text, is] of [["1", true], ["0.5", true], ["0", false], ["0.00", false], ["-1", false], ["1e5", false], ["", false], [undefined, false]]) {
    assert.equal(isAmount(text), is, String(text));
  }
});

test("a filled form becomes a rule, and every rule has words, whatever it holds", () => {
  const price = ruleOf({ kind: "price", symbol: "kraken:BTC-USD", is: "above", value: "70000", frequency: "300" });
  assert.deepEqual(price, { condition: { type: "price", symbol: "kraken:BTC-USD", is: "above", value: "70000" }, frequency: { every_s: 300 } });
  assert.deepEqual(described(price), { hero: "$70,000", text: "BTC-USD at or above" });
  assert.equal(ruleOf({ kind: "alarm", at: "06:30", days: ["mon"] }).condition.at, "06:30");
  for (const rule of [undefined, {}, { condition: {} }, { condition: { type: "price" } }, { condition: { type: "all", of: 3 } }, { condition: { type: "alarm" } }, { condition: { type: "x", symbol: 7 } }]) {
    assert.equal(typeof described(rule).text, "string");
  }
});

test("an alert shows the figure at which it fired, in its own unit", () => {
  const alert = (condition, value) => ({ rule: { condition }, firing: { symbol: "kraken:BTC-USD", value } });
  assert.equal(fired(alert({ type: "price" }, "70000.1")), "$70,000.10");
  assert.equal(fired(alert({ type: "change" }, "-5.214")), "-5.21%");
  assert.equal(fired(alert({ type: "spread", percent: "0.1" }, "0.12")), "0.12%");
  assert.equal(fired(alert({ type: "depth" }, "1200")), "1,200");
  for (const none of [alert({ type: "alarm" }, undefined), alert({ type: "price" }, "x"), {}]) assert.equal(fired(none), undefined);
});

test("an axis of prices has four round labels and more, apart from each other, whatever it shows", () => {
  const generator = new SeededGenerator(1), random = () => generator.next();
  for (let trial = 0; trial < 2_000; trial += 1) {
    const height = 150 + random() * 400, range = 10 ** (random() * 12 - 6), low = random() * range * 10;
    const step = priceStep(range, height);
    const labels = Math.floor((low + range) / step) - Math.ceil(low / step) + 1, gap = (step / range) * height;
    const isRight = labels >= 4 && gap >= Math.min(40, height / 10) - 1e-6;
    assert.ok(isRight, `${labels} labels, ${gap} px apart: ${low} + ${range} on ${height} px`);
    assert.match(step.toExponential(6), /^[125]\.0+e/);
  }
});

test("prices of a list share their decimals, and a price has none, or two and more", () => {
  assert.deepEqual(["97203.5", "97203.50000000", "0.00001230", "7", undefined].map(decimals), [2, 2, 7, 0, 0]);
  assert.equal(sharedDecimals(["0.5", "0.5012", "1"]), 4);
  assert.deepEqual(["0.5", "0.5012", "1"].map((each) => figure(each, 4)), ["0.5000", "0.5012", "1.0000"]);
  assert.equal(priceText("97203.5", "USD"), "$97,203.50");
});
