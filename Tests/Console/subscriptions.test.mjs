// Subscribing and cancelling while answers are under way: a stream that somebody follows has a value, and a stream that
// nobody follows ends.
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededGenerator, World, seeds, snapshot } from "./world.mjs";

const BTC = "kraken:BTC-USD";
const HOLDINGS = { channel: "portfolio", currency: "USD", holdings: [{ asset: "BTC", quantity: "1" }] };

function accepted(request, numbers) {
  const ok = request.streams.map(({ channel, symbols }, index) => ({
    stream: numbers[index], channel, symbol: symbols?.[0], epoch: "e1", seq: 10, state: "live",
  }));
  return { type: "subscribed", id: request.id, total: ok.length, ok, failed: [] };
}

test("what is cancelled and subscribed to again while its request is under way gets its value", async () => {
  const world = new World();
  const first = world.client.subscribe(HOLDINGS);
  await world.open();
  await world.welcome();
  first.cancel();
  const second = world.client.subscribe(HOLDINGS);
  await world.advance(0);
  for (const request of world.requests("subscribe")) await world.say(accepted(request, [1]));
  await world.say(snapshot(1, "portfolio", undefined, 10, { state: "live", value: "5" }));
  await world.advance(0);
  assert.equal(second.value?.value, "5");
  assert.deepEqual(world.requests("unsubscribe"), []);
});

test("what is cancelled and subscribed to again in one turn goes on, without a request", async () => {
  const world = new World();
  const first = world.client.subscribe(HOLDINGS);
  await world.connected();
  await world.say(snapshot(1, "portfolio", undefined, 10, { state: "live", value: "5" }));
  const seen = [];
  first.cancel();
  const second = world.client.subscribe(HOLDINGS, (value, info) => seen.push([value?.value, info.type]));
  await world.advance(0);
  assert.deepEqual(seen, [["5", "snapshot"]]);
  assert.equal(second.state, "live");
  assert.equal(world.requests("subscribe").length, 1);
  assert.deepEqual(world.requests("unsubscribe"), []);
  second.cancel();
  await world.advance(0);
  assert.deepEqual(world.requests("unsubscribe").map(({ streams }) => streams), [[1]]);
});

test("a stream that two requests name goes on when the first is cancelled before the second is answered", async () => {
  const world = new World();
  const first = world.client.subscribe({ channel: "book", symbol: BTC });
  await world.connected();
  await world.say(snapshot(1, "book", BTC, 10, { state: "live", bids: [["1", "1"]], asks: [["2", "1"]] }));
  // The same stream to the gateway, which sends no second snapshot.
  const second = world.client.subscribe({ channel: "book", symbol: BTC, depth: 25 });
  await world.advance(0);
  first.cancel();
  await world.advance(0);
  await world.say(accepted(world.requests("subscribe").at(-1), [1]));
  await world.advance(0);
  assert.deepEqual(second.value?.bids, [["1", "1"]]);
  assert.deepEqual(world.requests("unsubscribe"), []);
});

test("many that are cancelled together are one request, so that the next subscription need not wait", async () => {
  const world = new World();
  const all = Array.from({ length: 150 }, (_, index) => (
    world.client.subscribe({ channel: "quote", symbol: `kraken:A${index}-USD` })));
  await world.open();
  await world.welcome({ limits: { requests_per_s: 20 } });
  await world.accept();
  for (const each of all) each.cancel();
  world.client.subscribe({ channel: "quote", symbol: BTC });
  await world.advance(0);
  assert.deepEqual(world.requests("unsubscribe").map(({ streams }) => streams.length), [150]);
  assert.deepEqual(world.requests("subscribe").at(-1).streams, [{ channel: "quote", symbols: [BTC] }]);
});

test("more than a request may name are several requests", async () => {
  const world = new World();
  const all = Array.from({ length: 2_300 }, (_, index) => (
    world.client.subscribe({ channel: "quote", symbol: `kraken:A${index}-USD` })));
  await world.open();
  await world.welcome();
  let next = 1;
  for (const request of world.requests("subscribe")) {
    await world.say(accepted(request, request.streams.map(() => next++)));
  }
  for (const each of all) each.cancel();
  await world.advance(0);
  assert.deepEqual(world.requests("unsubscribe").map(({ streams }) => streams.length), [1_000, 1_000, 300]);
});

test("what is cancelled without a connection is not asked for again; what is cancelled while it is resumed ends", async () => {
  const world = new World();
  const gone = world.client.subscribe({ channel: "pulse", symbol: BTC });
  const late = world.client.subscribe({ channel: "book", symbol: BTC });
  await world.connected();
  await world.say(snapshot(1, "pulse", BTC, 10, { price: "1" }));
  await world.say(snapshot(2, "book", BTC, 10, { state: "live", bids: [], asks: [] }));
  await world.close(1006);
  gone.cancel();
  await world.advance(400);
  await world.open();
  const [hello] = world.requests("hello");
  assert.deepEqual(hello.resume.streams.map(({ channel }) => channel), ["book"]);
  late.cancel();
  await world.advance(0);
  await world.say({
    type: "welcome", id: hello.id, session: "s_2", heartbeat_s: 5, resumed: true, limits: { requests_per_s: 1_000 }, total: 1,
    ok: [{ stream: 7, channel: "book", symbol: BTC, epoch: "e1", seq: 10, recovered: true }], failed: [],
  });
  await world.advance(0);
  assert.deepEqual(world.requests("unsubscribe").map(({ streams }) => streams), [[7]]);
  assert.deepEqual(world.requests("subscribe"), []);
});

/** Streams by what a request means, as the gateway has them: requests in order, a snapshot for each new subscription. */
class Gateway {
  numbers = new Map();
  subscribed = new Map();
  answer(request) {
    if (request.op === "unsubscribe") {
      for (const number of request.streams) this.subscribed.delete(number);
      return [{ type: "unsubscribed", id: request.id, streams: request.streams, total: this.subscribed.size }];
    }
    if (request.op !== "subscribe") return [];
    const ok = [], snapshots = [];
    for (const { channel, symbols, depth = 25, holdings } of request.streams) {
      const symbol = symbols?.[0], name = JSON.stringify([channel, symbol, channel === "book" ? depth : holdings]);
      if (!this.numbers.has(name)) this.numbers.set(name, this.numbers.size + 1);
      const stream = this.numbers.get(name);
      if (!this.subscribed.has(stream)) {
        const data = channel === "book" ? { state: "live", bids: [["1", String(stream)]], asks: [] } : { state: "live", value: String(stream) };
        snapshots.push(snapshot(stream, channel, symbol, 10, data));
      }
      this.subscribed.set(stream, name);
      if (!ok.some((each) => each.stream === stream)) ok.push({ stream, channel, symbol, epoch: "e", seq: 10, state: "live" });
    }
    return [{ type: "subscribed", id: request.id, total: this.subscribed.size, ok, failed: [] }, ...snapshots];
  }
}

test("in any order of subscribing, cancelling and answering, what is followed has its value, and nothing else is left", async () => {
  for (const seed of seeds(300)) {
    const random = new SeededGenerator(seed), world = new World({}, seed), gateway = new Gateway();
    const requests = [
      { channel: "book", symbol: BTC }, { channel: "book", symbol: BTC, depth: 25 }, { channel: "book", symbol: BTC, depth: 10 },
      HOLDINGS, { ...HOLDINGS, holdings: [{ asset: "BTC", quantity: "2" }] },
    ];
    let held = [], read = 0;
    const toClient = [];
    await world.open();
    await world.welcome();
    const step = async (choice) => {
      if (choice < 3) held.push(world.client.subscribe(random.pick(requests)));
      else if (choice < 6 && held.length > 0) held.splice(random.below(held.length), 1)[0].cancel();
      else if (choice < 7) await world.advance(0);
      else if (choice < 9 && read < world.socket.sent.length) toClient.push(...gateway.answer(world.socket.sent[read++]));
      else if (toClient.length > 0) await world.say(toClient.shift());
    };
    for (let turn = 0; turn < 60; turn += 1) await step(random.below(11));
    for (let turn = 0; turn < 20; turn += 1) {
      await world.advance(0);
      while (read < world.socket.sent.length) toClient.push(...gateway.answer(world.socket.sent[read++]));
      while (toClient.length > 0) await world.say(toClient.shift());
    }
    const wanted = new Set(held.map(({ request: { channel, depth = 25, holdings } }) => JSON.stringify([channel, channel === "book" ? BTC : undefined, channel === "book" ? depth : holdings])));
    assert.deepEqual(new Set(gateway.subscribed.values()), wanted, `seed ${seed}`);
    for (const { request, value, state } of held) assert.ok(value !== undefined && state === "live", `seed ${seed}: ${JSON.stringify(request)} is ${state}`);
    assert.equal(world.client.state, "connected", `seed ${seed}`);
  }
});
