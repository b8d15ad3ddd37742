// The channels that no single market makes, from the messages that the protocol's reference shows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { World } from "./world.mjs";

async function followed(request) {
  const world = new World(), seen = [];
  const subscription = world.client.subscribe(request, (value, info) => seen.push({ value, info }));
  await world.connected();
  const { channel, symbol } = request;
  const say = (type, seq, data, prev) => world.say({ type, channel, ...(symbol ? { symbol } : {}), stream: 1, seq, prev, reason: "subscribe", time: 1, data });
  return { world, subscription, seen, say };
}

test("a rate has its way and its age, and says why there is none", async () => {
  const { world, subscription, say } = await followed({ channel: "rate", symbol: "ZEC-USD", intervalMilliseconds: 1_000 });
  assert.deepEqual(world.requests("subscribe")[0].streams, [{ channel: "rate", interval_ms: 1_000, symbols: ["ZEC-USD"] }]);
  const live = { base: "ZEC", quote: "USD", rate: "48.2304", path: ["kraken:ZEC-BTC", "coinbase:BTC-USD"], state: "live", age_ms: 120 };
  await say("snapshot", 11, live);
  assert.deepEqual(subscription.value, live);
  await say("update", 12, { base: "ZEC", quote: "USD", state: "unavailable", reason: "no live market has the asset ZEC" }, 11);
  assert.equal(subscription.value.rate, undefined);
  assert.throws(() => world.client.subscribe({ channel: "rate", symbol: "" }), TypeError);
});

test("a composite's quote says whose prices they are", async () => {
  const { subscription, say } = await followed({ channel: "quote", symbol: "composite:BTC-USD" });
  await say("snapshot", 11, { state: "single", bid: "64123.40", bid_venue: "kraken", venues: ["kraken"], absent: [{ venue: "bitstamp", reason: "stale" }], time: 1 });
  assert.equal(subscription.value.bid_venue, "kraken");
  assert.deepEqual(subscription.value.absent, [{ venue: "bitstamp", reason: "stale" }]);
});

test("portfolios are asked for one a request, with what they hold, and are valued by line", async () => {
  const holdings = [{ asset: "BTC", quantity: "0.5", cost: "20000" }];
  const { world, subscription, say } = await followed({ channel: "portfolio", currency: "EUR", holdings });
  const kept = world.client.subscribe({ channel: "portfolio", portfolio: "3" });
  await world.advance(0);
  assert.deepEqual(world.requests("subscribe").map(({ streams }) => streams), [
    [{ channel: "portfolio", currency: "EUR", holdings }], [{ channel: "portfolio", portfolio: "3" }],
  ]);
  await world.say({ type: "subscribed", id: world.requests("subscribe")[1].id, ok: [{ stream: 2, channel: "portfolio", portfolio: "3", epoch: "e1", seq: 1 }], failed: [] });
  await say("snapshot", 11, { currency: "EUR", state: "stale", value: "32100.5", holdings: [{ asset: "BTC", state: "stale", price_time: 5, value: "32100.5" }], positions: [] });
  assert.equal(subscription.value.holdings[0].value, "32100.5");
  assert.equal(kept.value, undefined, "each has a stream of its own");
  await world.say({ type: "snapshot", channel: "portfolio", portfolio: "3", stream: 2, seq: 2, reason: "subscribe", time: 1, data: { portfolio: "3", state: "deleted" } });
  assert.equal(kept.value.state, "deleted");
  assert.equal(subscription.value.value, "32100.5");
});

test("a portfolio whose sums or lines are none ends the connection", async () => {
  for (const data of [{ value: "many" }, { holdings: [7] }, { holdings: [{ value: 1e9 }] }, { positions: [{ mark: "1e5" }] }, { holdings: Array(1_001).fill({}) }, { positions: "all" }]) {
    const { world, say } = await followed({ channel: "portfolio", portfolio: "3" });
    await say("snapshot", 11, { currency: "EUR", state: "live", ...data });
    assert.deepEqual(world.states.slice(-1), ["reconnecting"], JSON.stringify(data).slice(0, 60));
  }
});

test("a topic's last documents are kept, and each new one is handed on", async () => {
  const { subscription, seen, say } = await followed({ channel: "topic", symbol: "risk-state", last: 5 });
  const document = (number) => ({ number, time: 1, document: { state: `S${number}` } });
  await say("snapshot", 11, { number: 2, documents: [document(1), document(2)] });
  await say("update", 12, { number: 3, documents: [document(3)] }, 11);
  assert.deepEqual(subscription.value.map(({ number }) => number), [1, 2, 3]);
  assert.deepEqual(seen.at(-1).info.data.documents, [document(3)]);
});

test("a deck shows the card of the day of a time zone, and says that it is gone", async () => {
  const { world, subscription, say } = await followed({ channel: "deck", symbol: "calm", zone: "Europe/Berlin" });
  assert.deepEqual(world.requests("subscribe")[0].streams, [{ channel: "deck", zone: "Europe/Berlin", symbols: ["calm"] }]);
  await say("snapshot", 11, { deck: "calm", zone: "Europe/Berlin", state: "live", date: "2026-11-23", turns_at: 5, cards: 14, card: { number: 5, quote: "Wait.", action: "Do.", minutes: 5, domain: "wealth" } });
  assert.equal(subscription.value.card.quote, "Wait.");
  await say("update", 12, { deck: "calm", zone: "Europe/Berlin", state: "removed" }, 11);
  assert.equal(subscription.value.card, undefined);
});

test("alerts are merged: changed ones in their place, removed ones gone", async () => {
  const { subscription, say } = await followed({ channel: "alerts" });
  await say("snapshot", 11, { kept: false, alerts: [{ id: "1", state: "running", rule: {} }, { id: "2", state: "paused", rule: {} }] });
  await say("update", 12, { alerts: [{ id: "1", state: "alerting", rule: {} }], removed: ["2"], firings: [{ alert: "1", number: 1 }] }, 11);
  assert.deepEqual(subscription.value.alerts.map(({ id, state }) => [id, state]), [["1", "alerting"]]);
  assert.equal(subscription.value.isKept, false);
});

test("a derivative is shown whole, and a wrong number of it is none", async () => {
  const { subscription, say } = await followed({ channel: "derivative", symbol: "bybit:BTC-USDT-PERP" });
  const data = {
    mark: "64123.4", funding_rate: "-0.000076", funding_interval_s: 28_800, computed: ["open_interest_quote"],
    as_of: { mark: 1 },
  };
  await say("snapshot", 11, data);
  assert.deepEqual(subscription.value, data);
  await say("update", 12, { mark: "64123.5", as_of: { mark: 2 } }, 11);
  assert.deepEqual(subscription.value, { mark: "64123.5", as_of: { mark: 2 } });
  await say("update", 13, { mark: "64,1", as_of: {} }, 12);
  assert.equal(subscription.value.mark, "64123.5");
});

test("liquidations are events: each counts, and the last fifty are kept", async () => {
  const { subscription, seen, say } = await followed({ channel: "liquidations", symbol: "bybit:BTC-USDT-PERP" });
  const one = (time) => ({
    position: "long", side: "sell", price: "0.021436", price_kind: "bankruptcy", size: "6666", time,
  });
  await say("snapshot", 11, { liquidations: [one(1)], complete: false });
  assert.equal(seen.find(({ info }) => info.type === "snapshot").info.data.complete, false);
  for (let seq = 12; seq < 72; seq += 1) await say("update", seq, { liquidations: [one(seq)] }, seq - 1);
  assert.equal(subscription.value.length, 50);
  assert.equal(subscription.value.at(-1).time, 71);
});
