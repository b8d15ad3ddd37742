// Groups: symbols that are subscribed to together arrive together.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededGenerator, World, seeds, snapshot, update } from "./world.mjs";

const SYMBOLS = ["kraken:A-USD", "kraken:B-USD", "kraken:C-USD"];

function followed(world, symbols = SYMBOLS, channel = "pulse", more = {}) {
  const seen = [];
  const subscriptions = symbols.map((symbol) => world.client.subscribe(
    { channel, symbol, ...more },
    (value, { type, symbol: name }) => { if (type !== "state") seen.push([name, type, JSON.stringify(value)]); }));
  return { seen, subscriptions };
}

const group = (stream, symbols, channel = "pulse", more = {}) => (
  { stream, channel, group: true, symbols, epoch: "e1", seq: 10, state: "live", ...more });
const answer = (request, ok, failed = []) => ({ type: "subscribed", id: request.id, total: ok.length, ok, failed });

function whole(stream, members, updates, seq = 10, channel = "pulse") {
  return { type: "snapshot", channel, group: true, stream, seq, reason: "subscribe", time: 1, data: { members, updates } };
}
function some(stream, prev, seq, updates, channel = "pulse") {
  return { type: "update", channel, group: true, stream, prev, seq, time: 1, data: { updates } };
}

async function grouped(symbols = SYMBOLS) {
  const world = new World();
  const { seen, subscriptions } = followed(world, symbols);
  await world.open();
  await world.welcome();
  const [request] = world.requests("subscribe");
  assert.deepEqual(request.streams, [{ channel: "pulse", symbols, group: true }]);
  await world.say(answer(request, [group(1, symbols)]));
  await world.say(whole(1, symbols, [{ i: 0, data: { price: "1" } }, { i: 1, data: { price: "2" } }]));
  return { world, seen, subscriptions };
}

test("a watchlist is one stream, and each symbol has its own values", async () => {
  const { world, seen, subscriptions } = await grouped();
  assert.deepEqual(subscriptions.map(({ state }) => state), ["live", "live", "waiting"]);
  await world.say(some(1, 10, 11, [
    { i: 1, data: { price: "3" } }, { i: 2, snapshot: true, data: { price: "4" } }, { i: 1, data: { price: "5" } },
  ]));
  assert.deepEqual(seen.slice(2), [
    [SYMBOLS[1], "update", '{"price":"3"}'], [SYMBOLS[2], "snapshot", '{"price":"4"}'],
    [SYMBOLS[1], "update", '{"price":"5"}'],
  ]);
  assert.deepEqual(subscriptions.map(({ value }) => value.price), ["1", "5", "4"]);
  // A heartbeat counts messages.
  await world.say({ type: "heartbeat", time: 1, sent: 2, feeds: {} });
  assert.ok(!world.states.includes("reconnecting"));
});

test("channels without groups, rates without ticks and composite markets are asked for as before", async () => {
  const world = new World();
  followed(world, SYMBOLS, "trades");
  followed(world, SYMBOLS, "quote");
  followed(world, SYMBOLS, "book", { intervalMilliseconds: 100, depth: 100 });
  followed(world, ["composite:A-USD", "composite:B-USD"]);
  followed(world, [SYMBOLS[0]], "ticker");
  const other = new World({ usesGroups: false });
  followed(other);
  for (const each of [world, other]) {
    await each.open();
    assert.ok(each.requests("subscribe").every(({ streams }) => streams.every((item) => item.group === undefined)));
  }
  followed(world, SYMBOLS, "book", { intervalMilliseconds: 100 });
  await world.advance(0);
  assert.equal(world.requests("subscribe").at(-1).streams[0].group, true);
});

test("an older gateway refuses the field; its symbols are asked for alone, also later", async () => {
  const world = new World();
  const { subscriptions } = followed(world);
  await world.open();
  await world.welcome({ version: "0.9" });
  const [request] = world.requests("subscribe");
  const error = { code: "bad_request", message: "there is no field `streams[0].group`" };
  await world.say(answer(request, [], [{ item: 0, channel: "pulse", symbol: SYMBOLS[0], error }]));
  await world.advance(0);
  assert.deepEqual(
    world.requests("subscribe")[1].streams, SYMBOLS.map((symbol) => ({ channel: "pulse", symbols: [symbol] })));
  await world.accept();
  await world.say(snapshot(1, "pulse", SYMBOLS[0], 10, { price: "1" }));
  assert.deepEqual(subscriptions.map(({ state }) => state), ["live", "waiting", "waiting"]);
  followed(world, SYMBOLS, "ticker");
  await world.advance(0);
  assert.equal(world.requests("subscribe")[2].streams.length, 3);
  // Another version may have them.
  await world.close(1006);
  await world.openNext();
  await world.welcome({ version: "1.0" });
  followed(world, SYMBOLS, "sparkline");
  await world.advance(0);
  assert.equal(world.requests("subscribe").at(-1).streams[0].group, true);
});

test("a symbol that is refused fails alone; what no answer names is asked for alone", async () => {
  const world = new World();
  const { subscriptions } = followed(world);
  await world.open();
  await world.welcome();
  const [request] = world.requests("subscribe");
  await world.say(answer(
    request, [group(1, [SYMBOLS[0]])],
    [{ item: 0, channel: "pulse", symbol: SYMBOLS[1], error: { code: "unknown_symbol", message: "no" } }]));
  await world.advance(0);
  assert.deepEqual(subscriptions.map(({ state }) => state), ["waiting", "failed", "pending"]);
  assert.deepEqual(world.requests("subscribe")[1].streams, [{ channel: "pulse", symbols: [SYMBOLS[2]] }]);
});

test("after a gap nothing is believed until a snapshot, which is asked for if none comes", async () => {
  const { world, seen, subscriptions } = await grouped();
  const before = seen.length;
  await world.say(some(1, 11, 12, [{ i: 0, data: { price: "9" } }]));
  await world.say(some(1, 12, 13, [{ i: 0, data: { price: "9" } }]));
  assert.ok(!seen.slice(before).some(([, type]) => type === "update"));
  assert.equal(world.log.filter(([name]) => name === "gap").length, 3);
  await world.say(whole(1, SYMBOLS, [{ i: 0, data: { price: "7" } }], 14));
  assert.deepEqual(subscriptions.map(({ state }) => state), ["live", "waiting", "waiting"]);
  assert.equal(subscriptions[0].value.price, "7");
  await world.say(some(1, 15, 16, []));
  await world.advance(5_000);
  assert.deepEqual(world.requests("unsubscribe").map(({ streams }) => streams), [[1]]);
  assert.equal(world.requests("subscribe").at(-1).streams[0].group, true);
});

test("once most symbols are cancelled, the others are a smaller group; the last one ends it", async () => {
  const { world, subscriptions } = await grouped([...SYMBOLS, "kraken:D-USD", "kraken:E-USD"]);
  subscriptions[0].cancel();
  subscriptions[1].cancel();
  await world.advance(0);
  assert.deepEqual(world.requests("unsubscribe"), []);
  subscriptions[2].cancel();
  await world.advance(0);
  assert.deepEqual(world.requests("unsubscribe").map(({ streams }) => streams), [[1]]);
  const request = world.requests("subscribe").at(-1);
  assert.deepEqual(request.streams[0].symbols, ["kraken:D-USD", "kraken:E-USD"]);
  await world.say(answer(request, [group(2, request.streams[0].symbols)]));
  subscriptions[3].cancel();
  subscriptions[4].cancel();
  await world.advance(0);
  assert.deepEqual(world.requests("unsubscribe").at(-1).streams, [2]);
});

test("another rate moves a group; a group that ends with a right is asked for again", async () => {
  const { world, subscriptions } = await grouped();
  await world.say({
    type: "notice", code: "slow", action: "degraded", interval_ms: 250, queued_bytes: 9,
    streams: [group(5, SYMBOLS, "pulse", { from: 1 })],
  });
  await world.say(whole(5, SYMBOLS, [{ i: 1, data: { price: "6" } }]));
  assert.equal(subscriptions[1].value.price, "6");
  await world.say({ type: "notice", code: "forbidden", streams: [5], total: 1 });
  await world.advance(0);
  assert.deepEqual(world.requests("subscribe").at(-1).streams, [{ channel: "pulse", symbols: SYMBOLS, group: true }]);
});

test("hostile groups end the connection and nothing else", async () => {
  const bad = [
    { ...whole(1, SYMBOLS, []), data: { members: 7 } }, { ...whole(1, SYMBOLS, []), data: { updates: [7] } },
    some(1, 10, 11, [{ i: 3, data: {} }]), some(1, 10, 11, [{ i: -1, data: {} }]), some(1, 10, 11, [{ i: 0 }]),
    { ...some(1, 10, 11, []), group: undefined }, some(1, 10, 11, [{ i: 0, data: { price: {} } }]),
    some(1, 10, 11, [], "quote"),
  ];
  for (const message of bad) {
    const { world } = await grouped();
    await world.say(message);
    assert.ok(world.states.includes("reconnecting"), JSON.stringify(message));
  }
});

test("what arrives is counted: bytes, and wake-ups of one or several messages", async () => {
  const { world } = await grouped(), before = { ...world.client.traffic };
  for (let tick = 0; tick < 10; tick += 1) {
    await world.advance(100);
    await world.say(some(1, 10 + tick, 11 + tick, [{ i: 0, data: { price: "1" } }]));
    world.socket.onmessage({ data: Uint8Array.of(0x44, 0x63, 0x01).buffer });
  }
  const { messages, records, bytes, wakeUps, milliseconds } = world.client.traffic;
  assert.deepEqual(
    [messages - before.messages, records - before.records, wakeUps - before.wakeUps, milliseconds], [20, 10, 10, 1_000]);
  assert.ok(bytes - before.bytes > 1_000);
});

for (const seed of seeds(8)) {
  test(`the values of a group are those of streams alone (seed ${seed})`, async () => {
    const random = new SeededGenerator(seed), alone = new World({ usesGroups: false }), { world } = await grouped();
    const one = followed(alone), other = followed(world);
    await alone.connected();
    let seq = 10;
    const seqs = [10, 10, 10];
    for (const [index, symbol] of SYMBOLS.entries()) {
      await alone.say(snapshot(index + 1, "pulse", symbol, 10, { price: "0" }));
    }
    await world.say(whole(1, SYMBOLS, SYMBOLS.map((_, i) => ({ i, data: { price: "0" } }))));
    one.seen.length = other.seen.length = 0;
    for (let tick = 0; tick < 50; tick += 1) {
      const updates = [];
      for (let change = random.below(6); change > 0; change -= 1) {
        const i = random.below(3), isWhole = random.below(9) === 0;
        updates.push({ i, ...(isWhole ? { snapshot: true } : {}), data: { price: String(random.below(999)) } });
      }
      for (const { i, snapshot: isWhole, data } of updates) {
        const next = seqs[i] + 1;
        await alone.say(isWhole
          ? snapshot(i + 1, "pulse", SYMBOLS[i], next, data, "resync") : update(i + 1, "pulse", SYMBOLS[i], seqs[i], next, data));
        seqs[i] = next;
      }
      await world.say(some(1, seq, seq + 1, updates));
      seq += 1;
    }
    assert.ok(one.seen.length > 20);
    assert.deepEqual(other.seen, one.seen);
  });
}
