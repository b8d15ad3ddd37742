import assert from "node:assert/strict";
import { test } from "node:test";
import { World, snapshot, update } from "./world.mjs";

const BTC = "kraken:BTC-USD";

function followed(world, request) {
  const seen = [];
  const subscription = world.client.subscribe(request, (value, info) => seen.push({ value, info }));
  return { subscription, seen };
}

test("says hello first, subscribes at once, and asks for equal things once", async () => {
  const world = new World({ token: "secret" });
  followed(world, { channel: "pulse", symbol: BTC });
  followed(world, { channel: "pulse", symbol: BTC });
  followed(world, { channel: "book", symbol: BTC, depth: 10 });
  await world.open();
  assert.equal(world.socket.sent[0].op, "hello");
  assert.equal(world.socket.sent[0].token, "secret");
  assert.ok(!world.socket.url.includes("secret"), "a token never stands in a URL");
  assert.deepEqual(world.requests("subscribe")[0].streams, [
    { channel: "pulse", symbols: [BTC] }, { channel: "book", depth: 10, symbols: [BTC] },
  ]);
  await world.welcome();
  assert.deepEqual(world.states, ["connected"]);
});

test("a channel and symbol with other parameters goes into a request of its own, so that answers are unambiguous", async () => {
  const world = new World();
  followed(world, { channel: "book", symbol: BTC, depth: 10 });
  followed(world, { channel: "book", symbol: BTC, depth: 100 });
  await world.open();
  assert.equal(world.requests("subscribe").length, 2);
});

test("a book is its snapshot and the updates after it", async () => {
  const world = new World();
  const { subscription, seen } = followed(world, { channel: "book", symbol: BTC });
  await world.connected();
  assert.equal(subscription.state, "waiting");
  await world.say(snapshot(1, "book", BTC, 10, { bids: [["100", "1"], ["99.5", "2"]], asks: [["100.5", "3"]], time: 5 }));
  assert.equal(subscription.state, "live");
  await world.say(update(1, "book", BTC, 10, 12, { bids: [["100", "0"], ["99.75", "4"]], asks: [["100.50", "1"]] }));
  assert.deepEqual(subscription.value.bids, [["99.75", "4"], ["99.5", "2"]]);
  assert.deepEqual(subscription.value.asks, [["100.50", "1"]], "100.5 and 100.50 are one price");
  assert.equal(subscription.value.spread, "0.75");
  assert.equal(seen.at(-1).info.type, "update");
});

test("a book that the gateway has lost is empty and says so, until its snapshot", async () => {
  const world = new World();
  const { subscription } = followed(world, { channel: "book", symbol: BTC });
  await world.connected();
  await world.say(snapshot(1, "book", BTC, 10, { state: "live", bids: [["1", "1"]], asks: [["2", "1"]] }));
  assert.equal(subscription.value.state, "live");
  await world.say(update(1, "book", BTC, 10, 11, { state: "syncing", reason: "a message is missing", bids: [], asks: [] }));
  assert.equal(subscription.value.state, "syncing");
  assert.equal(subscription.value.reason, "a message is missing");
  assert.deepEqual(subscription.value.bids, []);
  await world.say(snapshot(1, "book", BTC, 12, { state: "live", bids: [["3", "1"]], asks: [] }, "resync"));
  assert.equal(subscription.value.state, "live");
  assert.equal(subscription.value.reason, undefined);
});

test("after a broken prev a stream is waited for and told so; a snapshot heals it", async () => {
  const world = new World();
  const { subscription, seen } = followed(world, { channel: "book", symbol: BTC });
  await world.connected();
  await world.say(snapshot(1, "book", BTC, 10, { bids: [["1", "1"]], asks: [["2", "1"]] }));
  await world.say(update(1, "book", BTC, 11, 12, { bids: [["1", "9"]] }));
  assert.equal(subscription.state, "waiting");
  assert.deepEqual(subscription.value.bids, [["1", "1"]], "an update that does not follow is not applied");
  assert.ok(seen.some(({ info }) => info.type === "gap"));
  await world.say(update(1, "book", BTC, 12, 13, { bids: [["1", "8"]] }));
  assert.deepEqual(subscription.value.bids, [["1", "1"]]);
  await world.say(snapshot(1, "book", BTC, 13, { bids: [["1", "8"]], asks: [["2", "1"]] }, "resync"));
  assert.equal(subscription.state, "live");
  assert.deepEqual(subscription.value.bids, [["1", "8"]]);
});

test("where no snapshot comes after a gap, the stream is subscribed to again", async () => {
  const world = new World();
  const { subscription } = followed(world, { channel: "book", symbol: BTC });
  await world.connected();
  await world.say(snapshot(1, "book", BTC, 10, { bids: [], asks: [] }));
  await world.say(update(1, "book", BTC, 11, 12, { bids: [["1", "9"]] }));
  await world.advance(4_900);
  assert.equal(world.requests("unsubscribe").length, 0);
  await world.advance(200);
  assert.deepEqual(world.requests("unsubscribe")[0].streams, [1]);
  assert.equal(world.requests("subscribe").length, 2);
  await world.accept(7);
  await world.say(snapshot(7, "book", BTC, 20, { bids: [["1", "3"]], asks: [] }));
  assert.equal(subscription.state, "live");
});

test("trades that are announced lost are told of by number, and the rest goes on", async () => {
  const world = new World();
  const { subscription, seen } = followed(world, { channel: "trades", symbol: BTC });
  await world.connected();
  const trade = (id) => ({ id, price: "1", size: "2", side: "buy", time: 3 });
  await world.say(snapshot(1, "trades", BTC, 10, { trades: [trade("a")] }));
  await world.say({ type: "notice", code: "lost", stream: 1, from_seq: 11, to_seq: 20, count: 10, events: 14 });
  assert.equal(seen.at(-1).info.lost, 14);
  await world.say(update(1, "trades", BTC, 20, 21, { trades: [trade("b")] }));
  assert.equal(seen.at(-1).info.type, "update", "no second gap");
  assert.deepEqual(subscription.value.map(({ id }) => id), ["a", "b"]);
});

test("a trade that follows a hole of the exchange is told as a gap, once, and the rest goes on", async () => {
  const world = new World();
  const { subscription, seen } = followed(world, { channel: "trades", symbol: BTC });
  await world.connected();
  const trade = (id, more) => ({ id, price: "1", size: "2", side: "buy", time: 3, ...more });
  const marked = trade("1", { gap: true, renumbered: true });
  const gaps = () => seen.filter(({ info }) => info.type === "gap").length;
  await world.say(snapshot(1, "trades", BTC, 10, { trades: [trade("9")] }));
  await world.say(update(1, "trades", BTC, 10, 11, { trades: [marked] }));
  assert.equal(gaps(), 1);
  assert.equal(seen.at(-1).info.type, "update");
  await world.say(update(1, "trades", BTC, 11, 12, { trades: [trade("2")] }));
  await world.say(snapshot(1, "trades", BTC, 20, { trades: [trade("9"), marked, trade("2")] }));
  assert.equal(gaps(), 1, "a snapshot that shows it again is no news");
  assert.deepEqual(subscription.value.map(({ id, renumbered }) => `${id} ${renumbered ?? false}`), ["9 false", "1 true", "2 false"]);
});

test("trades that the gateway did not get are told of by number; those that it finds go to their places", async () => {
  const world = new World();
  const { subscription, seen } = followed(world, { channel: "trades", symbol: BTC });
  await world.connected();
  const trade = (id, time, late) => ({ id, price: "1", size: "2", side: "buy", time, ...(late && { late }) });
  await world.say(snapshot(1, "trades", BTC, 10, { trades: [trade("5", 5)] }));
  const hole = { from_id: "6", to_id: "8", from: 5, to: 9 };
  await world.say(update(1, "trades", BTC, 10, 11, { trades: [], lost: { ...hole, count: 3, requested: true } }));
  assert.equal(seen.filter(({ info }) => info?.type === "gap").at(-1).info.lost, 3);
  await world.say(update(1, "trades", BTC, 11, 12, { trades: [trade("9", 9)] }));
  await world.say(update(1, "trades", BTC, 12, 13, { trades: [trade("6", 6, true), trade("8", 8, true)] }));
  await world.say(update(1, "trades", BTC, 13, 14, { trades: [], found: { ...hole, count: 2, missing: 1 } }));
  assert.deepEqual(subscription.value.map(({ id }) => id), ["5", "6", "8", "9"]);
  assert.equal(seen.filter(({ info }) => info?.type === "gap").length, 1);
  assert.equal(subscription.state, "live");
});

test("a channel that died alone at the exchange is waited for, with the reason, until it speaks again", async () => {
  const world = new World(), reason = "no trades although the venue trades", silent = { state: "syncing", reason };
  const trades = followed(world, { channel: "trades", symbol: BTC }), pulse = followed(world, { channel: "pulse", symbol: BTC });
  await world.connected();
  await world.say(snapshot(1, "trades", BTC, 10, { trades: [{ id: "1", price: "1", size: "1", side: "buy", time: 1 }] }));
  await world.say(snapshot(2, "pulse", BTC, 10, { price: "1", merged: 1, time: 1 }));
  await world.say(update(1, "trades", BTC, 10, 11, { trades: [], ...silent }));
  await world.say(update(2, "pulse", BTC, 10, 11, { price: "1", merged: 0, time: 2, ...silent }));
  for (const { subscription, seen } of [trades, pulse]) {
    assert.equal(subscription.state, "waiting");
    assert.deepEqual([seen.at(-1).info.type, seen.at(-1).info.reason], ["state", reason]);
  }
  assert.equal(trades.subscription.value.length, 1, "what is known stays");
  assert.equal(pulse.subscription.value.price, "1");
  await world.say(update(1, "trades", BTC, 11, 12, { trades: [], state: "live" }));
  await world.say(update(2, "pulse", BTC, 11, 12, { price: "2", merged: 1, time: 3 }));
  for (const { subscription } of [trades, pulse]) assert.equal(subscription.state, "live");
});

test("a heartbeat that counts messages which did not arrive ends the connection", async () => {
  const world = new World();
  followed(world, { channel: "pulse", symbol: BTC });
  await world.connected();
  await world.say({ type: "heartbeat", time: 1, sent: 0, feeds: {} });
  assert.equal(world.client.state, "connected");
  await world.say({ type: "heartbeat", time: 1, sent: 1, feeds: {} });
  assert.equal(world.client.state, "reconnecting");
  assert.ok(world.socket.isClosed);
});

test("silence is found by the watchdog, and the attempts after it are spread and bounded", async () => {
  const world = new World();
  await world.open();
  await world.welcome();
  await world.advance(12_400);
  assert.equal(world.client.state, "connected");
  await world.advance(200);
  assert.equal(world.client.state, "reconnecting");
  const waits = [];
  for (let attempt = 0; attempt < 12; attempt += 1) {
    const [, , detail] = world.log.filter(([name, state]) => name === "state" && state === "reconnecting").at(-1);
    waits.push(detail.inMilliseconds);
    await world.advance(detail.inMilliseconds);
    await world.close(1006);
  }
  assert.ok(waits.every((wait, attempt) => wait <= Math.min(30_000, 250 * 2 ** attempt)), String(waits));
  assert.ok(Math.max(...waits) > 2_000, String(waits));
});

test("a connection that does not open is given up, and the network's return is not waited out", async () => {
  const world = new World();
  await world.advance(10_001);
  assert.equal(world.client.state, "reconnecting");
  for (let attempt = 0; attempt < 8; attempt += 1) { await world.advance(30_001); await world.close(1006); }
  const sockets = world.sockets.length;
  world.window.dispatch("online");
  await world.advance(0);
  assert.equal(world.sockets.length, sockets + 1);
});

test("after a drop it resumes where each stream stopped", async () => {
  const world = new World();
  const { subscription } = followed(world, { channel: "book", symbol: BTC, depth: 25 });
  const pulse = followed(world, { channel: "pulse", symbol: BTC });
  await world.connected();
  await world.say(snapshot(1, "book", BTC, 10, { bids: [["1", "1"]], asks: [["2", "1"]] }));
  await world.say(snapshot(2, "pulse", BTC, 4, { price: "1" }));
  await world.close(1006);
  assert.equal(subscription.state, "waiting");
  await world.advance(300);
  await world.open();
  const [hello] = world.requests("hello");
  assert.deepEqual(hello.resume, {
    session: "s_1", streams: [
      { channel: "book", depth: 25, symbol: BTC, stream: 1, epoch: "e1", seq: 10 },
      { channel: "pulse", symbol: BTC, stream: 2, epoch: "e1", seq: 4 },
    ],
  });
  assert.equal(world.requests("subscribe").length, 0, "what is resumed is not asked for twice");
  await world.welcome({
    resumed: true, ok: [
      { stream: 1, channel: "book", symbol: BTC, depth: 25, epoch: "e1", seq: 12, recovered: true },
      { stream: 2, channel: "pulse", symbol: BTC, epoch: "e2", seq: 9, recovered: false },
    ], failed: [],
  });
  assert.equal(subscription.state, "live");
  await world.say(update(1, "book", BTC, 10, 11, { bids: [["1", "5"]] }));
  assert.deepEqual(subscription.value.bids, [["1", "5"]]);
  assert.equal(pulse.subscription.state, "waiting");
  await world.say(snapshot(2, "pulse", BTC, 9, { price: "3" }, "epoch"));
  assert.equal(pulse.subscription.state, "live");
});

test("two streams of one channel and symbol both come back after a drop", async () => {
  const world = new World();
  const narrow = followed(world, { channel: "book", symbol: BTC, depth: 10 });
  const wide = followed(world, { channel: "book", symbol: BTC, depth: 100 });
  await world.open();
  await world.welcome();
  for (const [place, request] of world.requests("subscribe").entries()) {
    const ok = [{ stream: place + 1, channel: "book", symbol: BTC, epoch: "e1", seq: 10, state: "live" }];
    await world.say({ type: "subscribed", id: request.id, ok, failed: [] });
    await world.say(snapshot(place + 1, "book", BTC, 10, { bids: [["1", String(place + 1)]], asks: [] }));
  }
  await world.close(1006);
  await world.advance(300);
  await world.open();
  const [{ resume }] = world.requests("hello");
  const ok = resume.streams.map(({ stream }) => ({ stream, channel: "book", symbol: BTC, epoch: "e1", seq: 10, recovered: true }));
  await world.welcome({ resumed: true, ok, failed: [] });
  const taken = new Set(ok.map(({ stream }) => stream));
  for (const request of world.requests("subscribe")) {
    const [item] = request.streams;
    const stream = item.depth === 10 ? 1 : 2;
    taken.add(stream);
    await world.say({ type: "subscribed", id: request.id, ok: [{ stream, channel: "book", symbol: BTC, epoch: "e1", seq: 10 }], failed: [] });
    await world.say(snapshot(stream, "book", BTC, 10, { bids: [["1", String(stream)]], asks: [] }));
  }
  assert.deepEqual([...taken].sort(), [1, 2]);
  assert.equal(narrow.subscription.state, "live");
  assert.equal(wide.subscription.state, "live");
  await world.say(update(1, "book", BTC, 10, 11, { bids: [["1", "7"]] }));
  await world.say(update(2, "book", BTC, 10, 11, { bids: [["1", "8"]] }));
  assert.deepEqual(narrow.subscription.value.bids, [["1", "7"]]);
  assert.deepEqual(wide.subscription.value.bids, [["1", "8"]]);
});

test("a line of a range says what was observed; candles of an interval are merged by their time", async () => {
  const world = new World();
  const line = followed(world, { channel: "sparkline", symbol: BTC, range: "7d", points: 3 });
  const candles = followed(world, { channel: "candles", symbol: BTC, interval: "5m" });
  await world.open();
  assert.deepEqual(world.requests("subscribe")[0].streams, [
    { channel: "sparkline", range: "7d", points: 3, symbols: [BTC] }, { channel: "candles", interval: "5m", symbols: [BTC] },
  ]);
  await world.welcome();
  await world.accept();
  await world.say(snapshot(1, "sparkline", BTC, 10, {
    range: "7d", from: 0, step_s: 60, points: ["1", "2", "3"], covered_from: 60e6, gaps: [{ from: 90e6, to: 120e6 }],
  }));
  assert.equal(line.subscription.value.coveredFrom, 60e6);
  assert.deepEqual(line.subscription.value.gaps, [{ from: 90e6, to: 120e6 }]);
  const candle = (time, close, more = {}) => ({ time, open: "1", high: "9", low: "1", close, volume: "1", closed: false, rev: 0, ...more });
  await world.say(snapshot(2, "candles", BTC, 10, { interval: "5m", candles: [candle(300e6, "2", { closed: true, rev: 1 }), candle(600e6, "3")] }));
  await world.say(update(2, "candles", BTC, 10, 11, { interval: "5m", candles: [candle(600e6, "4", { closed: true }), candle(900e6, "5")] }));
  const { value } = candles.subscription;
  assert.equal(value.interval, "5m");
  assert.deepEqual(value.candles.map(({ time, close }) => [time, close]), [[300e6, "2"], [600e6, "4"], [900e6, "5"]]);
  assert.equal(value.last.close, "5");
});

test("what the answer to resume does not name is subscribed to anew", async () => {
  const world = new World();
  followed(world, { channel: "pulse", symbol: BTC });
  await world.connected();
  await world.say(snapshot(1, "pulse", BTC, 4, { price: "1" }));
  await world.close(1006);
  await world.advance(300);
  await world.open();
  await world.welcome({ ok: [], failed: [] });
  assert.equal(world.requests("subscribe").length, 1);
});

test("a message that breaks the protocol costs the connection, and nothing half applied is gone on with", async () => {
  const world = new World();
  const { subscription } = followed(world, { channel: "book", symbol: BTC });
  await world.connected();
  await world.say(snapshot(1, "book", BTC, 10, { bids: [["1", "1"]], asks: [] }));
  await world.say(update(1, "book", BTC, 10, 11, { bids: [["1", "7"], ["x", "1"]] }));
  assert.equal(world.client.state, "reconnecting");
  await world.advance(300);
  await world.open();
  assert.equal(world.requests("hello")[0].resume, undefined);
  assert.equal(subscription.state, "waiting");
});

test("numbers beyond what a client can count are refused", async () => {
  for (const sent of ["9223372036854775807", "-1", "1e400", "\"1\"", "1.5", "null"]) {
    const world = new World();
    await world.open();
    await world.welcome();
    await world.say(`{"type":"heartbeat","time":1,"sent":${sent},"feeds":{}}`);
    assert.equal(world.client.state, "reconnecting", sent);
  }
});

test("a slow client's streams go on under other numbers", async () => {
  const world = new World();
  const { subscription } = followed(world, { channel: "book", symbol: BTC });
  await world.connected();
  await world.say(snapshot(1, "book", BTC, 10, { bids: [["1", "1"]], asks: [] }));
  await world.say({
    type: "notice", code: "slow", action: "degraded", interval_ms: 1000,
    streams: [{ stream: 12, from: 1, channel: "book", symbol: BTC, epoch: "e1", seq: 3 }],
  });
  await world.say(snapshot(12, "book", BTC, 3, { bids: [["2", "1"]], asks: [] }, "slow"));
  assert.deepEqual(subscription.value.bids, [["2", "1"]]);
  subscription.cancel();
  await world.advance(0);
  assert.deepEqual(world.requests("unsubscribe")[0].streams, [12]);
});

test("a shared stream ends with its last subscription, and a late one gets the value at once", async () => {
  const world = new World();
  const first = followed(world, { channel: "pulse", symbol: BTC });
  await world.connected();
  await world.say(snapshot(1, "pulse", BTC, 4, { price: "1" }));
  const second = followed(world, { channel: "pulse", symbol: BTC });
  await world.advance(0);
  assert.equal(second.subscription.value.price, "1");
  assert.equal(world.requests("subscribe").length, 1);
  first.subscription.cancel();
  await world.advance(0);
  assert.equal(world.requests("unsubscribe").length, 0);
  second.subscription.cancel();
  await world.advance(0);
  assert.deepEqual(world.requests("unsubscribe")[0].streams, [1]);
});

test("what is cancelled while its request is under way is unsubscribed from", async () => {
  const world = new World();
  const { subscription } = followed(world, { channel: "pulse", symbol: BTC });
  await world.open();
  await world.welcome();
  subscription.cancel();
  await world.accept();
  await world.advance(0);
  assert.deepEqual(world.requests("unsubscribe")[0].streams, [1]);
});

test("not_ready is asked for again when the gateway says; an unknown symbol is told and left", async () => {
  const world = new World();
  const ready = followed(world, { channel: "quote", symbol: BTC });
  const wrong = followed(world, { channel: "quote", symbol: "kraken:BTC-USX" });
  await world.open();
  await world.welcome();
  const [request] = world.requests("subscribe");
  await world.say({
    type: "subscribed", id: request.id, ok: [], failed: [
      { item: 0, channel: "quote", symbol: BTC, error: { code: "not_ready", message: "soon", retry_after_ms: 700 } },
      { item: 1, channel: "quote", symbol: "kraken:BTC-USX", error: { code: "unknown_symbol", message: "no", hint: "BTC-USD" } },
    ],
  });
  assert.equal(wrong.subscription.state, "failed");
  assert.equal(wrong.subscription.error.hint, "BTC-USD");
  assert.equal(ready.subscription.state, "pending");
  await world.advance(600);
  assert.equal(world.requests("subscribe").length, 1);
  await world.advance(200);
  assert.deepEqual(world.requests("subscribe")[1].streams, [{ channel: "quote", symbols: [BTC] }]);
  followed(world, { channel: "quote", symbol: "kraken:BTC-USX" });
  await world.advance(0);
  assert.equal(world.requests("subscribe").length, 3, "who asks again is asked for again");
});

test("a wildcard's subscription gets every stream it stands for", async () => {
  const world = new World();
  const { seen } = followed(world, { channel: "pulse", symbol: "kraken:*" });
  await world.open();
  await world.welcome();
  const [request] = world.requests("subscribe");
  await world.say({
    type: "subscribed", id: request.id, failed: [], ok: [
      { stream: 1, channel: "pulse", symbol: BTC, epoch: "e", seq: 1 }, { stream: 2, channel: "pulse", symbol: "kraken:ZEC-USD", epoch: "e", seq: 1 },
    ],
  });
  await world.say(snapshot(2, "pulse", "kraken:ZEC-USD", 1, { price: "48.23" }));
  assert.equal(seen.at(-1).info.symbol, "kraken:ZEC-USD");
});

test("tokens are asked for anew: before they end, and once after they were refused", async () => {
  let asked = 0;
  const world = new World({ token: async () => `t${(asked += 1)}` });
  await world.open();
  assert.equal(world.requests("hello")[0].token, "t1");
  await world.welcome();
  await world.say({ type: "notice", code: "expiring", expires: 1, in_ms: 60000 });
  await world.advance(0);
  assert.equal(world.requests("hello")[1].token, "t2");
  await world.close(4001, "expired");
  await world.advance(0);
  await world.open();
  assert.equal(world.requests("hello")[0].token, "t3");
  await world.close(4001, "not good");
  assert.equal(world.client.state, "disconnected", "a second refusal in a row is final");
  assert.ok(!JSON.stringify(world.log).includes("t3"));
});

test("close codes say what to do", async () => {
  for (const [code, state, waits] of [[4003, "disconnected"], [4008, "disconnected"], [4201, "reconnecting", 0], [4108, "reconnecting"]]) {
    const world = new World();
    await world.open();
    await world.welcome();
    await world.close(code);
    assert.equal(world.client.state, state, String(code));
    if (waits !== undefined) assert.equal(world.log.at(-1)[2].inMilliseconds, waits);
  }
});

test("a drain is left at the moment told, with resume", async () => {
  const world = new World();
  followed(world, { channel: "pulse", symbol: BTC });
  await world.connected();
  await world.say(snapshot(1, "pulse", BTC, 4, { price: "1" }));
  await world.say({ type: "notice", code: "drain", reconnect_in_ms: 3_000, deadline: 1 });
  await world.advance(2_900);
  assert.equal(world.client.state, "connected");
  await world.advance(150);
  await world.open();
  assert.equal(world.requests("hello")[0].resume.session, "s_1");
});

test("a request that is not answered ends the connection", async () => {
  const world = new World();
  await world.open();
  await world.say({ type: "heartbeat", time: 1, sent: 0, feeds: {} });
  await world.advance(10_100);
  assert.equal(world.client.state, "reconnecting");
});

test("a hidden page is paused after a moment, and goes on when it is looked at", async () => {
  const world = new World();
  await world.open();
  await world.welcome();
  world.document.visibilityState = "hidden";
  world.document.dispatch("visibilitychange");
  await world.advance(4_000);
  assert.equal(world.requests("pause").length, 0);
  await world.advance(1_100);
  assert.equal(world.requests("pause").length, 1);
  world.document.visibilityState = "visible";
  world.document.dispatch("visibilitychange");
  assert.equal(world.requests("resume").length, 1);
});

test("requests wait for their turn at the rate that the gateway allows", async () => {
  const world = new World();
  await world.open();
  await world.welcome({ limits: { requests_per_s: 10 } });
  for (let index = 0; index < 60; index += 1) world.client.configure({ intervalMilliseconds: 100 });
  const first = world.requests("configure").length;
  assert.ok(first <= 20, String(first));
  await world.advance(2_000);
  const then = world.requests("configure").length;
  assert.ok(then > first && then <= first + 17, `${first} ${then}`);
});

test("for await gets the newest state and every trade up to a bound, and says what it skipped", async () => {
  const world = new World();
  const trades = world.client.subscribe({ channel: "trades", symbol: BTC });
  const pulse = world.client.subscribe({ channel: "pulse", symbol: BTC });
  const tradeReader = trades[Symbol.asyncIterator](), pulseReader = pulse[Symbol.asyncIterator]();
  await world.connected();
  await world.say(snapshot(1, "trades", BTC, 0, { trades: [] }));
  await world.say(snapshot(2, "pulse", BTC, 0, { price: "0" }));
  for (let seq = 1; seq <= 1_100; seq += 1) {
    await world.say(update(1, "trades", BTC, seq - 1, seq, { trades: [{ id: String(seq), price: "1", size: "1" }] }));
    await world.say(update(2, "pulse", BTC, seq - 1, seq, { price: String(seq) }));
  }
  const { value } = await pulseReader.next();
  assert.equal(value.value.price, "1100");
  const next = await tradeReader.next();
  assert.equal(next.value.info.skipped, 101);
  trades.cancel();
  await tradeReader.return();
  assert.equal((await tradeReader.next()).done, true);
});

test("a listener that throws stops nobody else", async () => {
  const world = new World();
  const thrown = [];
  globalThis.reportError = (error) => thrown.push(error.message);
  try {
    world.client.subscribe({ channel: "pulse", symbol: BTC }, () => { throw new Error("mine"); });
    const { seen } = followed(world, { channel: "pulse", symbol: BTC });
    await world.connected();
    await world.say(snapshot(1, "pulse", BTC, 4, { price: "1" }));
    assert.equal(seen.at(-1).value.price, "1");
    assert.ok(thrown.includes("mine"));
  } finally {
    delete globalThis.reportError;
  }
});

test("close ends everything: no timer and no socket is left", async () => {
  const world = new World();
  const { subscription } = followed(world, { channel: "pulse", symbol: BTC });
  await world.connected();
  world.client.close();
  await world.advance(0);
  assert.equal(subscription.state, "cancelled");
  assert.ok(world.socket.isClosed);
  assert.equal(world.timers.size, 0);
  assert.equal(world.window.listeners.get("online").length, 0);
});
