// Books and lines against plain models, under random input.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Book, CandleSeries, Sparkline } from "../../Sources/Console/client/tidegate.js";
import { SeededGenerator, seeds } from "./world.mjs";

for (const seed of seeds(20)) {
  test(`a book equals a map of its levels after every update (seed ${seed})`, () => {
    const random = new SeededGenerator(seed);
    const price = () => (100 + random.below(60) / 4).toFixed(random.pick([2, 3]));
    const book = Book.from({ bids: [], asks: [] });
    const model = { bids: new Map(), asks: new Map() };
    for (let step = 0; step < 400; step += 1) {
      const change = { bids: [], asks: [] };
      for (let level = random.below(4); level >= 0; level -= 1) {
        const side = random.pick(["bids", "asks"]);
        const entry = [price(), random.below(3) === 0 ? random.pick(["0", "0.00"]) : String(1 + random.below(9))];
        change[side].push(entry);
        if (/[1-9]/.test(entry[1])) model[side].set(Number(entry[0]), entry[1]);
        else model[side].delete(Number(entry[0]));
      }
      book.apply(change);
      for (const [side, direction] of [["bids", -1], ["asks", 1]]) {
        const expected = [...model[side]].sort((a, b) => (a[0] - b[0]) * direction);
        assert.deepEqual(book[side].map(([p, s]) => [Number(p), s]), expected);
      }
    }
  });
}

test("depth has exact totals and shares of the larger side", () => {
  const book = Book.from({ bids: [["100", "0.1"], ["99", "0.2"]], asks: [["101", "0.3"], ["102", "0.3"]] });
  const { bids, asks } = book.depth(2);
  assert.deepEqual(bids.map(({ total }) => total), ["0.1", "0.3"]);
  assert.deepEqual(asks.map(({ share }) => share), [0.5, 1]);
  assert.equal(book.mid, "100.5");
  assert.equal(book.spreadPercent, "0.9950");
});

for (const seed of seeds(20)) {
  test(`a line equals the last price of each slice (seed ${seed})`, () => {
    const random = new SeededGenerator(seed);
    const step = 60e6, slots = 12;
    const closes = new Map();
    let now = 1_700_000_040_000_000;
    closes.set(Math.floor(now / step), "1");
    const line = () => {
      const last = Math.floor(now / step);
      const points = [];
      let from, price;
      for (const key of [...closes.keys()].sort((a, b) => a - b)) if (key < last - slots + 1) price = closes.get(key);
      for (let slot = last - slots + 1; slot <= last; slot += 1) {
        price = closes.get(slot) ?? price;
        if (price === undefined) continue;
        from ??= slot * step;
        points.push(price);
      }
      return { from, points };
    };
    const first = line();
    const client = Sparkline.from({ range: "24h", from: first.from, step_s: 60, points: first.points });
    for (let turn = 0; turn < 200; turn += 1) {
      now += random.below(4) * 25e6;
      if (random.below(20) === 0) now += 20 * step;
      const price = String(1 + random.below(50));
      closes.set(Math.floor(now / step), price);
      const expected = line();
      client.apply({ index: expected.points.length - 1, price, from: expected.from });
      assert.deepEqual(client.points, expected.points, `turn ${turn}`);
      assert.equal(client.from, expected.from);
    }
  });
}

test("trend and change are the gateway's, and of the same two prices", () => {
  const line = Sparkline.from({ from: 0, step_s: 60, points: ["100", "90", "99.56"], open: "99", trend: "up", change: "0.56", change_pct: "0.57" });
  assert.deepEqual([line.open, line.trend, line.change, line.changePercent], ["99", "up", "0.56", "0.57"]);
  line.apply({ index: 2, price: "98", from: 0, open: "99", trend: "down", change: "-1", change_pct: "-1.01" });
  assert.deepEqual([line.last, line.trend, line.changePercent], ["98", "down", "-1.01"]);
  assert.throws(() => line.apply({ index: 2, price: "98", from: 0, open: "much" }));
});

test("the line of an older gateway changes from its first point", () => {
  const line = Sparkline.from({ from: 0, step_s: 60, points: ["100", "90", "99.56"], trend: "down" });
  assert.deepEqual([line.open, line.trend, line.change, line.changePercent], ["100", "down", "-0.44", "-0.44"]);
});

for (const seed of seeds(20)) {
  test(`a series of candles has each time once, the highest revision of it, in order (seed ${seed})`, () => {
    const random = new SeededGenerator(seed);
    const series = CandleSeries.from({ interval: "1m", candles: [] });
    const model = new Map();
    for (let step = 0; step < 300; step += 1) {
      const candles = Array.from({ length: 1 + random.below(4) }, () => {
        const close = String(1 + random.below(90));
        return { time: 60e6 * random.below(80), open: "1", high: "90", low: "1", close, rev: random.below(4), closed: true };
      });
      for (const candle of candles) {
        if ((model.get(candle.time)?.rev ?? 0) <= candle.rev) model.set(candle.time, candle);
      }
      series.merge(candles);
      assert.deepEqual(series.candles, [...model.values()].sort((a, b) => a.time - b.time));
    }
  });
}

test("a series keeps its newest 5,000 candles", () => {
  const series = CandleSeries.from({ interval: "1m", candles: [] });
  for (let minute = 0; minute < 5_010; minute += 1) {
    series.merge([{ time: minute * 60e6, open: "1", high: "1", low: "1", close: "1", closed: true }]);
  }
  assert.equal(series.candles.length, 5_000);
  assert.equal(series.candles[0].time, 10 * 60e6);
});
