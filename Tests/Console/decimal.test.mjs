import assert from "node:assert/strict";
import { test } from "node:test";
import { Decimal } from "../../Sources/Console/client/tidegate.js";
import { SeededGenerator, seeds } from "./world.mjs";

test("decimals are compared and added by value, exactly", () => {
  assert.equal(Decimal.compare("1.0", "1.00"), 0);
  assert.equal(Decimal.compare("-2", "1"), -1);
  assert.equal(Decimal.compare("9007199254740993", "9007199254740992"), 1, "beyond a Number");
  assert.equal(Decimal.add("0.1", "0.2"), "0.3");
  assert.equal(Decimal.subtract("0.1", "0.25"), "-0.15");
  assert.equal(Decimal.multiply("-0.05", "0.1"), "-0.005");
});

test("rounding is half to even, once", () => {
  assert.equal(Decimal.rounded("0.125", 2), "0.12");
  assert.equal(Decimal.rounded("0.135", 2), "0.14");
  assert.equal(Decimal.rounded("-0.125", 2), "-0.12");
  assert.equal(Decimal.rounded("2.5", 0), "2");
  assert.equal(Decimal.rounded("2", 2), "2.00");
  assert.equal(Decimal.percent("-0.67", "100", 2), "-0.67");
  assert.equal(Decimal.percent("1", "0", 2), null);
});

test("trimming keeps the value and the least digits", () => {
  assert.equal(Decimal.trimmed("169.45000000", 2), "169.45");
  assert.equal(Decimal.trimmed("169.00000000", 2), "169.00");
  assert.equal(Decimal.trimmed("169.00000000"), "169");
  assert.equal(Decimal.trimmed("169"), "169");
  assert.equal(Decimal.trimmed("100", 2), "100");
});

test("what is no decimal is refused", () => {
  for (const text of ["", ".", "1.", ".5", "1e5", "NaN", "Infinity", "0x10", " 1", "1 ", "--1", "1,5", null, undefined, 1, {}, "1".repeat(65)]) {
    assert.equal(Decimal.isValid(text), false, String(text));
    assert.throws(() => Decimal.add(text, "1"), RangeError);
  }
});

for (const seed of seeds(20)) {
  test(`random decimals obey the arithmetic of integers (seed ${seed})`, () => {
    const random = new SeededGenerator(seed);
    const make = () => {
      const scale = random.below(9);
      const value = BigInt(Math.floor((random.next() - 0.5) * 2 ** 52));
      const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, "0");
      const whole = digits.slice(0, digits.length - scale);
      const text = (value < 0n ? "-" : "") + whole + (scale ? "." + digits.slice(digits.length - scale) : "");
      return { text, at12: value * 10n ** BigInt(12 - scale) };
    };
    const at12 = (text) => {
      const [whole, part = ""] = text.replace("-", "").split(".");
      const value = BigInt(whole + part.padEnd(12, "0"));
      return text.startsWith("-") ? -value : value;
    };
    for (let step = 0; step < 300; step += 1) {
      const a = make(), b = make();
      assert.equal(at12(Decimal.add(a.text, b.text)), a.at12 + b.at12);
      assert.equal(at12(Decimal.subtract(a.text, b.text)), a.at12 - b.at12);
      assert.equal(Decimal.compare(a.text, b.text), a.at12 < b.at12 ? -1 : a.at12 > b.at12 ? 1 : 0);
      assert.equal(at12(Decimal.trimmed(a.text)), a.at12);
    }
  });
}
