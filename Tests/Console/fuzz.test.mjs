// Servers that say anything: whatever comes, the client throws nothing, keeps its bounds, and goes on with a good
// server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededGenerator, World, seeds, snapshot, update } from "./world.mjs";

const BTC = "kraken:BTC-USD";
const ODD = [
  null, true, -1, 0, 1.5, 1e308, "9223372036854775807", 9223372036854775807, "", "x", "-0", "1e5", [], {}, [[]], [["1"]],
  [["1", "2", "3"]], { __proto__: 1 }, "__proto__", "constructor", [null], [["1", null]], "\u0000", "1".repeat(100), Number.MAX_SAFE_INTEGER,
];

function seedMessages() {
  return [
    { type: "welcome", id: 1, session: "s", heartbeat_s: 5, limits: { requests_per_s: 20 }, ok: [], failed: [] },
    { type: "subscribed", id: 2, ok: [{ stream: 1, channel: "book", symbol: BTC, epoch: "e", seq: 1 }], failed: [{ item: 0, error: { code: "x", retry_after_ms: 5 } }] },
    snapshot(1, "book", BTC, 10, { bids: [["1", "1"], ["0.5", "3"]], asks: [["2", "1"]], time: 1 }),
    update(1, "book", BTC, 10, 11, { bids: [["1", "0"]], asks: [["2", "4"]] }),
    snapshot(2, "sparkline", BTC, 10, { range: "24h", from: 900000000, step_s: 900, points: ["1", "2"], trend: "up" }),
    update(2, "sparkline", BTC, 10, 11, { index: 2, price: "3", from: 900000000 }),
    snapshot(6, "candles", BTC, 10, { interval: "1m", candles: [{ time: 60e6, open: "1", high: "2", low: "1", close: "2", volume: "3", closed: false, rev: 0 }] }),
    update(6, "candles", BTC, 10, 11, { interval: "1m", candles: [{ time: 120e6, open: "1", high: "2", low: "1", close: "2", closed: false, rev: 1 }] }),
    snapshot(2, "sparkline", BTC, 12, { range: "7d", from: 1, step_s: 900, points: ["1"], covered_from: 1, gaps: [{ from: 1, to: 2 }] }),
    snapshot(3, "trades", BTC, 10, { trades: [{ id: "a", price: "1", size: "1", side: "buy", time: 1 }] }),
    update(3, "trades", BTC, 10, 11, { trades: [{ id: "b", price: "1", size: "1" }] }),
    snapshot(4, "status", "", 10, { feeds: [{ venue: "kraken", state: "live", age_ms: 1 }] }),
    snapshot(5, "ticker", BTC, 1, { last: "1", change_pct_24h: "-0.5", time: 1 }),
    { type: "heartbeat", time: 1, sent: 0, feeds: { kraken: { state: "live", age_ms: 1 } } },
    { type: "notice", code: "lost", stream: 3, from_seq: 11, to_seq: 12, count: 1, events: 1 },
    { type: "notice", code: "slow", action: "degraded", streams: [{ stream: 9, from: 1 }] },
    { type: "notice", code: "drain", reconnect_in_ms: 10 },
    { type: "notice", code: "forbidden", streams: [1], total: 1 },
    { type: "notice", code: "expiring", in_ms: 1 },
    { type: "configured", streams: [{ stream: 2, from: 1 }] },
    { type: "error", id: 2, code: "rate_limited", message: "m", retry: true, retry_after_ms: 5 },
  ];
}

/** Changes one or more places of a message: a value becomes odd, a field goes, a value is repeated elsewhere. */
function mutate(random, message) {
  const copy = structuredClone(message);
  for (let change = random.below(3); change >= 0; change -= 1) {
    let place = copy;
    for (let depth = 0; depth < 5; depth += 1) {
      const keys = Object.keys(place);
      if (keys.length === 0) break;
      const key = random.pick(keys);
      if (typeof place[key] === "object" && place[key] !== null && random.below(3) > 0) { place = place[key]; continue; }
      if (random.below(6) === 0) delete place[key];
      else place[key] = structuredClone(random.pick(ODD));
      break;
    }
  }
  return copy;
}

for (const seed of seeds(60)) {
  test(`no message of a server ends the page, and a good server is followed afterwards (seed ${seed})`, async () => {
    const random = new SeededGenerator(seed);
    const world = new World({ token: async () => "t" }, seed);
    const subscriptions = [
      { channel: "book", symbol: BTC }, { channel: "sparkline", symbol: BTC }, { channel: "trades", symbol: BTC },
      { channel: "status" }, { channel: "ticker", symbol: BTC }, { channel: "candles", symbol: BTC, interval: "5m" },
    ].map((request) => world.client.subscribe(request, () => {}));
    await world.openNext();
    for (let step = 0; step < 250; step += 1) {
      if (world.client.state === "disconnected") break;
      if (world.client.state !== "connected" && random.below(3) === 0) await world.openNext();
      const message = mutate(random, random.pick(seedMessages()));
      const text = JSON.stringify(message);
      await world.say(random.below(30) === 0 ? text.slice(0, random.below(text.length)) : text);
      if (random.below(8) === 0) await world.advance(random.below(3_000));
      assert.ok(world.timers.size < 60, `${world.timers.size} timers at step ${step}`);
      assert.ok(world.client.feeds.size <= 1_000);
    }
    if (world.client.state === "disconnected") return;
    // A good server, on a connection of its own.
    await world.close(1006);
    await world.openNext();
    await world.welcome({ ok: [], failed: [] });
    // A bad server may have allowed one request a second.
    await world.advance(3_000);
    for (const [place, request] of world.requests("subscribe").entries()) {
      const ok = request.streams.map((item, index) => ({
        stream: 100 * (place + 1) + index, channel: item.channel, symbol: item.symbols?.[0], epoch: "g", seq: 1,
      }));
      await world.say({ type: "subscribed", id: request.id, ok, failed: [] });
      for (const { stream, channel, symbol } of ok) {
        const data = { book: { bids: [["7", "1"]], asks: [] }, sparkline: { from: 0, step_s: 900, points: ["7"] }, trades: { trades: [] }, candles: { candles: [] }, status: { feeds: [] }, ticker: { last: "7" } }[channel];
        await world.say(snapshot(stream, channel, symbol, 1, data));
      }
    }
    assert.equal(world.client.state, "connected");
    for (const subscription of subscriptions) assert.equal(subscription.state, "live", subscription.request.channel);
    assert.deepEqual(subscriptions[0].value.bids, [["7", "1"]]);
  });
}
