// tidegate.js against a real gateway, with faults between: nothing is missing without being told.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Tidegate } from "../../Sources/Console/client/tidegate.js";
import { Gateway, Relay, noGateway } from "./gateway.mjs";
import { eventually } from "./webdriver.mjs";

const noSocket = typeof WebSocket === "undefined" ? "this node has no WebSocket: 20 has one with --experimental-websocket" : false;
const skip = noGateway || noSocket;
const SYMBOL = "kraken:BTC-USD";
let gateway, relay;

before(async () => {
  if (skip) return;
  gateway = await Gateway.start();
  relay = await Relay.start(gateway.port);
});
after(async () => {
  relay?.close();
  await gateway?.stop();
});

/** A client that notes each trade, and how many it was told are lost. */
function follow(port, options = {}) {
  const client = new Tidegate({ url: `ws://127.0.0.1:${port}`, heartbeatSeconds: 1, ...options });
  const seen = { trades: [], told: 0, states: [], client };
  client.on("state", (state) => seen.states.push(state));
  client.subscribe({ channel: "trades", symbol: SYMBOL }, (trades, info) => {
    if (info.type === "gap") seen.told += info.lost ?? 1;
    if (info.type === "snapshot" && seen.trades.length > 0) seen.told += 1;
    for (const trade of info.data?.trades ?? []) seen.trades.push(trade.id);
  });
  seen.book = client.subscribe({ channel: "book", symbol: SYMBOL, depth: 10 });
  return seen;
}

/** The ids of the quiet client between the first and the last that both have. */
function compare(seen, truth) {
  const first = truth.trades.findIndex((id) => seen.trades.includes(id));
  const last = truth.trades.findLastIndex((id) => seen.trades.includes(id));
  const expected = truth.trades.slice(first, last + 1);
  const got = seen.trades.slice(seen.trades.indexOf(expected[0]), seen.trades.indexOf(expected.at(-1)) + 1);
  return { expected, got };
}

for (const [name, fault] of [["dropped", (each) => each.drop()], ["half-open", (each) => each.stall()]]) {
  test(`connections that are ${name} again and again lose no trade without a word`, { skip, timeout: 120_000 }, async () => {
    const truth = follow(gateway.port), seen = follow(relay.port);
    try {
      await eventually("both follow", () => truth.trades.length > 3 && seen.trades.length > 3 && seen.book.state === "live");
      for (let turn = 0; turn < 4; turn += 1) {
        const before = seen.states.filter((state) => state === "connected").length;
        fault(relay);
        await eventually("it is back", () => seen.states.filter((state) => state === "connected").length > before, 30);
        await eventually("its book is live again", () => seen.book.state === "live", 20);
        await sleep(500);
      }
      const mark = truth.trades.length;
      await eventually("both go on", () => truth.trades.length > mark + 3 && seen.trades.includes(truth.trades[mark]), 20);
      const { expected, got } = compare(seen, truth);
      assert.ok(expected.length > 5, `${expected.length} trades`);
      if (seen.told === 0) assert.deepEqual(got, expected);
      else assert.ok(got.every((id) => expected.includes(id)));
      assert.equal(new Set(got).size, got.length, "no trade came twice");
    } finally {
      seen.client.close();
      truth.client.close();
    }
  });
}

test("a book that was followed through faults is the gateway's own", { skip, timeout: 60_000 }, async () => {
  const seen = follow(relay.port);
  try {
    await eventually("it is live", () => seen.book.state === "live");
    relay.drop();
    await eventually(
      "it is back", () => seen.states.filter((state) => state === "connected").length > 1 && seen.book.state === "live", 30);
    // The market moves between the two looks: one of a few must meet the same moment.
    await eventually("both are equal", async () => {
      const body = await (await fetch(`${gateway.url}/v1/books/${SYMBOL}?depth=10`)).json();
      const { bids, asks } = body.data ?? body;
      return JSON.stringify([bids, asks]) === JSON.stringify([seen.book.value.bids.slice(0, 10), seen.book.value.asks.slice(0, 10)]);
    }, 30);
  } finally {
    seen.client.close();
  }
});

test("a gateway that ends and comes back is followed again, with a new epoch", { skip, timeout: 120_000 }, async () => {
  const own = await Gateway.start();
  const seen = follow(own.port);
  try {
    await eventually("it is live", () => seen.book.state === "live");
    await own.stop("SIGKILL");
    await eventually("it notices", () => seen.client.state === "reconnecting");
    const again = await Gateway.start(["--demo"], own.port);
    try {
      await eventually("it is live again", () => seen.book.state === "live", 60);
    } finally {
      await again.stop();
    }
  } finally {
    seen.client.close();
    await own.stop();
  }
});
