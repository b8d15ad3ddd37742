// A server that wants a page's memory, its time or its token: each costs the connection or nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { World, snapshot, update } from "./world.mjs";

const BTC = "kraken:BTC-USD";

async function connected(options = {}, ...channels) {
  const world = new World(options);
  const subscriptions = channels.map((channel) => world.client.subscribe({ channel, symbol: BTC }));
  await world.connected();
  return [world, subscriptions];
}

/** Why the connection was given up; undefined where it was not. */
function lost(world) { return world.states.includes("reconnecting") ? world.log.find(([, state]) => state === "reconnecting")[2].reason : undefined; }

test("heartbeats that name ever new venues end the connection, not the page's memory", async () => {
  const [world] = await connected({}, "pulse");
  for (let beat = 0; beat < 2_000 && lost(world) === undefined; beat += 1) {
    await world.say({ type: "heartbeat", time: 1, sent: 0, feeds: { [`venue${beat}`]: { state: "live", age_ms: 1 } } });
  }
  assert.match(lost(world) ?? "", /too many feeds/);
  assert.ok(world.client.feeds.size <= 1_001);
});

test("a message beyond the largest book is not parsed", async () => {
  const [world] = await connected({}, "pulse");
  await world.say(`{"type":"later","fill":"${"x".repeat(8 << 20)}"}`);
  assert.match(lost(world) ?? "", /more than 8 MiB/);
});

test("a message as deep as it is long ends nothing", async () => {
  const [world, [pulse]] = await connected({}, "pulse");
  const depth = 100_000;
  await world.say(`{"type":"snapshot","channel":"pulse","symbol":"${BTC}","stream":1,"seq":10,"data":{"price":"1","x":${"[".repeat(depth)}${"]".repeat(depth)}}}`);
  // Taken or refused, as the engine's parser can: the client goes on.
  if (lost(world) === undefined) assert.equal(pulse.value.price, "1");
  else assert.match(lost(world), /not JSON/);
});

test("an answer with a million streams is refused", async () => {
  const [world] = await connected({}, "pulse");
  world.client.subscribe({ channel: "trades", symbol: "kraken:*" });
  await world.advance(0);
  const ok = Array.from({ length: 30_000 }, (_, index) => ({ stream: index + 2, channel: "trades", symbol: `kraken:A${index}-USD`, epoch: "e", seq: 1 }));
  await world.say({ type: "subscribed", id: world.requests("subscribe").at(-1).id, ok, failed: [] });
  assert.match(lost(world) ?? "", /broke the protocol: ok/);
});

test("endless notices of a gap cost a slow reader a bounded queue", async () => {
  const [world, [trades]] = await connected({}, "trades");
  await world.say(snapshot(1, "trades", BTC, 10, { trades: [] }));
  const reader = trades[Symbol.asyncIterator]();
  for (let turn = 0; turn < 20_000; turn += 1) {
    await world.say({ type: "notice", code: "lost", stream: 1, from_seq: 11 + turn, to_seq: 11 + turn, count: 1, events: 1 });
  }
  assert.equal(lost(world), undefined);
  const { value: { info } } = await reader.next();
  assert.deepEqual([info.type, info.skipped], ["gap", 19_000]);
  let waiting = 1;
  for (; waiting < 1_001; waiting += 1) if ((await Promise.race([reader.next(), null])) === null) break;
  assert.equal(waiting, 1_000);
});

test("numbers at and past what a number holds are refused, not rounded", async () => {
  for (const seq of ["9007199254740992", "1e308", "-1", "0.5"]) {
    const [world] = await connected({}, "pulse");
    await world.say(`{"type":"snapshot","channel":"pulse","symbol":"${BTC}","stream":1,"seq":${seq},"data":{"price":"1"}}`);
    assert.match(lost(world) ?? "", /broke the protocol: seq/, seq);
  }
  const [world] = await connected({}, "pulse");
  await world.say(snapshot(1, "pulse", BTC, Number.MAX_SAFE_INTEGER, { price: "1" }));
  await world.say(update(1, "pulse", BTC, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, { price: "2" }));
  assert.equal(lost(world), undefined);
});

test("a token that the server repeats is in no error, no reason and no refusal", async () => {
  const token = "a-secret-of-this-page";
  const [world] = await connected({ token }, "pulse");
  const failed = world.client.subscribe({ channel: "book", symbol: BTC });
  await world.advance(0);
  const id = world.requests("subscribe").at(-1).id;
  const error = { code: token, message: `no ${token}, no ${token}`, hint: `give ${token}`, impact: `${token}` };
  await world.say({ type: "subscribed", id, ok: [], failed: [{ item: 0, error }] });
  await world.say({ type: "error", ...error });
  const asked = world.client.ask({ op: "alert", action: "list" }).catch((refusal) => refusal);
  await world.advance(0);
  await world.say({ type: "error", id: world.socket.sent.at(-1).id, ...error });
  const refusal = await asked;
  await world.close(4001, `bad token ${token}`);
  const told = JSON.stringify([world.log, failed.error, refusal, refusal.message, refusal.hint]);
  assert.ok(told.includes("no …, no …"), told);
  assert.ok(!told.includes(token), told);
});
