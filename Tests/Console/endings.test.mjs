// What passes is tried again; what cannot pass ends the client and its subscriptions, with the reason.
import assert from "node:assert/strict";
import { test } from "node:test";
import { World, snapshot } from "./world.mjs";

const BTC = "kraken:BTC-USD";

function followed(world) {
  const seen = [], subscription = world.client.subscribe({ channel: "pulse", symbol: BTC }, (value, info) => seen.push({ value, info }));
  return { subscription, seen, reader: subscription[Symbol.asyncIterator]() };
}

/** Ends the attempt as the `ws` package of Node tells it. */
async function fail(world, message, code) {
  world.socket.onerror?.({ message, error: Object.assign(new Error(message), code && { code }) });
  await world.close(1006);
}

/** The failures, and whether they end a client that no gateway has answered yet. */
const CASES = [
  ["another protocol", true, async (world) => { world.socket.protocol = ""; await world.open(); }],
  ["a message that is no JSON", true, async (world) => { await world.open(); await world.say("<html>"); }],
  ["an untrusted certificate", true, (world) => fail(world, "self-signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT")],
  ["another host's certificate", true, (world) => fail(world, "Hostname/IP does not match", "ERR_TLS_CERT_ALTNAME_INVALID")],
  ["no TLS", true, (world) => fail(world, "wrong version number", "ERR_SSL_WRONG_VERSION_NUMBER")],
  ...[200, 301, 404, 421, 501].map((status) => [`status ${status}`, true, (world) => fail(world, `Unexpected server response: ${status}`)]),
  ...[408, 425, 429, 500, 502, 503, 504].map((status) => [`status ${status}`, false, (world) => fail(world, `Unexpected server response: ${status}`)]),
  ["nobody there", false, (world) => fail(world, "connect ECONNREFUSED", "ECONNREFUSED")],
  ["an unknown name", false, (world) => fail(world, "getaddrinfo ENOTFOUND", "ENOTFOUND")],
  ["a browser's failure", false, (world) => world.close(1006)],
];

test("before a gateway has answered, what names another server ends; what may pass is tried again", async () => {
  for (const [name, isEnd, happen] of CASES) {
    const world = new World();
    const { subscription, seen, reader } = followed(world);
    await world.advance(0);
    await happen(world);
    assert.equal(world.client.state, isEnd ? "disconnected" : "reconnecting", name);
    const attempts = world.sockets.length;
    await world.advance(60_000);
    assert.equal(world.sockets.length > attempts, !isEnd, name);
    if (!isEnd) continue;
    const [, , { reason }] = world.log.find(([event, state]) => event === "state" && state === "disconnected");
    assert.equal(subscription.state, "failed", name);
    assert.deepEqual(seen.map(({ info }) => [info.type, info.error.code, info.error.message]), [["end", "ended", reason]], name);
    await assert.rejects(reader.next(), { code: "ended", message: reason });
    assert.equal((await reader.next()).done, true, "it ends once");
  }
});

test("after a gateway has answered once, the same failures are tried again", async () => {
  for (const [name, , happen] of CASES) {
    const world = new World();
    const { subscription } = followed(world);
    await world.connected();
    await world.say(snapshot(1, "pulse", BTC, 4, { price: "1" }));
    await world.close(1006);
    while (!world.socket.onopen) await world.advance(100);
    await happen(world);
    assert.equal(world.client.state, "reconnecting", name);
    await world.openNext();
    await world.welcome();
    assert.equal(world.client.state, "connected", name);
    assert.notEqual(subscription.state, "failed", name);
  }
});

test("a refusal of the gateway ends at any time: a close code below 4100, and a status that says that the request is wrong", async () => {
  const refusals = [[4001], [4003], [4008], ...[400, 401, 403, 407, 426].map((status) => [undefined, status])];
  for (const [code, status] of refusals) {
    for (const isLate of [false, true]) {
      const world = new World();
      const { reader } = followed(world);
      if (isLate) {
        await world.connected();
        await world.close(1006);
        while (!world.socket.onopen) await world.advance(100);
      } else {
        await world.advance(0);
      }
      if (code) { await world.open(); await world.close(code, "no"); } else { await fail(world, `Unexpected server response: ${status}`); }
      assert.equal(world.client.state, "disconnected", `${code ?? status}`);
      await assert.rejects(reader.next(), { code: "ended" });
    }
  }
});

test("a token that the handshake refuses is replaced once", async () => {
  const tokens = ["old-token", "new-token", "newest-token"];
  const world = new World({ token: () => tokens.shift() });
  await world.advance(0);
  await fail(world, "Unexpected server response: 401");
  assert.equal(world.client.state, "reconnecting");
  await world.open();
  assert.equal(world.requests("hello")[0].token, "new-token");
  await world.close(4001, "no");
  assert.equal(world.client.state, "disconnected");
});

test("the reason of a failed attempt is the host's own words, where it says any", async () => {
  const world = new World();
  await world.advance(0);
  await fail(world, "connect ECONNREFUSED 127.0.0.1:1", "ECONNREFUSED");
  const [, , { reason }] = world.log.at(-1);
  assert.match(reason, /ECONNREFUSED 127\.0\.0\.1:1/);
});

test("a subscription of a client that has ended ends with the same reason", async () => {
  const world = new World();
  await world.open();
  await world.close(4003, "not you");
  const { subscription, seen, reader } = followed(world);
  assert.equal(seen.length, 0, "never before `subscribe` returns");
  await world.advance(0);
  assert.equal(subscription.state, "failed");
  assert.match(seen[0].info.error.message, /not you/);
  await assert.rejects(reader.next(), /not you/);
  world.client.close();
  assert.equal(subscription.state, "cancelled");
});
