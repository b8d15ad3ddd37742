// What holdings and positions are worth, against arithmetic on fractions of whole numbers.
import assert from "node:assert/strict";
import { register } from "node:module";
import { test } from "node:test";
import { SeededGenerator, seeds } from "./world.mjs";

// The console's modules name the client by the path under which a gateway serves it.
const client = new URL("../../Sources/Console/client/tidegate.js", import.meta.url).href;
register(`data:text/javascript,${encodeURIComponent(`export function resolve(name, context, next) {
  return name === "/tidegate.js" ? { url: ${JSON.stringify(client)}, shortCircuit: true } : next(name, context);
}`)}`);
const { holdingFigures, isAmount, positionFigures, summed, valueLine } = await import("../../Sources/Console/valuation.js");
const { described, ruleOf } = await import("../../Sources/Console/rules.js");

/** A decimal of `scale` digits after the point as a whole number of 10⁻¹². */
function whole(text) {
  const [digits, part = ""] = text.replace("-", "").split(".");
  return (text.startsWith("-") ? -1n : 1n) * BigInt(digits + part.padEnd(12, "0"));
}

for (const seed of seeds(20)) {
  test(`values and sums are exact (seed ${seed})`, () => {
    const random = new SeededGenerator(seed);
    const decimal = (digits) => `${1 + random.below(99_999)}.${String(random.below(10 ** digits)).padStart(digits, "0")}`;
    let total = 0n, day = 0n;
    const lines = Array.from({ length: 1 + random.below(8) }, () => {
      const amount = decimal(4), price = decimal(2), open = decimal(2), rate = decimal(2);
      total += (whole(amount) * whole(price) * whole(rate)) / 10n ** 24n;
      day += (whole(amount) * (whole(price) - whole(open)) * whole(rate)) / 10n ** 24n;
      return { rate, ...holdingFigures({ amount }, { price, open }) };
    });
    const sum = summed(lines);
    assert.equal(whole(sum.total), total);
    assert.equal(whole(sum.day), day);
    assert.equal(sum.missing, 0);
  });
}

test("what is not known is left out and counted, never guessed", () => {
  assert.deepEqual(holdingFigures({ amount: "1" }, undefined), {});
  const sum = summed([{ value: "10", day: "1", rate: "2" }, { value: undefined, rate: "1" }, { value: "5", rate: undefined }]);
  assert.deepEqual([sum.total, sum.day, sum.missing], ["20", "2", 2]);
});

test("a short position gains what the price falls, and its leverage multiplies the percentage alone", () => {
  const position = { side: "short", size: "2", entry: "3300", leverage: "3" };
  assert.deepEqual(positionFigures(position, { price: "3201" }), { gain: "198", gainPercent: "9.00" });
  assert.equal(positionFigures({ ...position, side: "long" }, { price: "3201" }).gain, "-198");
});

test("the line of the value begins where every line has begun, and is covered where all are", () => {
  const line = (from, points, coveredFrom) => ({ range: "24h", from, step: 60, points, coveredFrom, gaps: [] });
  const value = valueLine([
    { amount: "2", rate: "1", line: line(0, ["1", "2", "3"], 30) }, { amount: "1", rate: "10", line: line(60, ["5", "6"], 90) },
  ]);
  assert.deepEqual([value.from, value.points, value.coveredFrom, value.trend], [60, ["54.00", "66.00"], 90, "up"]);
  assert.equal(valueLine([{ amount: "1", rate: "1", line: undefined }]), null);
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
