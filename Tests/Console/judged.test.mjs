// tidegate.js against a gateway that drops messages, connections and itself, at random: nothing is missed without being
// told, and no wrong book is shown as right.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Judge, ModelGateway } from "./model.mjs";
import { SeededGenerator, World, seeds } from "./world.mjs";

/** What no gateway sends: each costs the connection, or nothing. */
const HOSTILE = [
  "{", "null", "[]", '{"type":7}', '{"type":"update","channel":"trades","stream":-9,"seq":1,"prev":0,"data":{}}',
  '{"type":"update","channel":"book","stream":12,"seq":"x","prev":1,"data":{}}', '{"type":"heartbeat","sent":9223372036854775807,"feeds":{}}',
  '{"type":"update","channel":"topic","stream":16,"seq":1e99,"data":{"documents":[]}}', '{"type":"heartbeat","sent":-1,"feeds":[]}',
  '{"type":"notice","code":"lost","stream":12,"from_seq":18446744073709551615,"to_seq":0}',
  '{"type":"notice","code":"drain","reconnect_in_ms":9223372036854775807}', "[".repeat(5_000),
  '{"type":"subscribed","id":1,"ok":[{"stream":1,"channel":"weather"}],"failed":[{}]}',
];

class Trial {
  gateway = new ModelGateway();
  judge = new Judge();
  #handled = 0;
  #socket = null;
  /** The connection is there for the gateway, and nothing arrives. */
  #isHalfOpen = false;
  #mayRefuse = true;
  #beat = 0;

  constructor(seed, hasFaults) {
    this.random = new SeededGenerator(seed);
    this.hasFaults = hasFaults;
    this.world = new World({ heartbeatSeconds: 1 }, seed);
    const { client } = this.world, { judge, gateway } = this;
    const events = (channel, request, numbers) => client.subscribe(request, (_, { type, data }) => {
      if (type === "gap") judge.gap(channel);
      if (type === "snapshot" || type === "update") judge.take(channel, numbers(data), type === "snapshot");
    });
    events("trades", { channel: "trades", symbol: "kraken:BTC-USD" }, ({ trades }) => trades.map(({ id }) => Number(id)));
    events("topic", { channel: "topic", symbol: "news", last: 3 }, (data) => data.documents.map(({ number }) => number));
    this.book = client.subscribe({ channel: "book", symbol: "kraken:BTC-USD" }, (book) => {
      if (book !== undefined) judge.show(book.bids.map(([price, size]) => `${price}:${size}`).join(" "), gateway.states);
    });
  }

  async run(steps) {
    await this.#pass(0);
    for (let step = 0; step < steps; step += 1) {
      await this.#step();
      await this.#pass(this.random.below(300));
    }
    // It heals: after a while everything is as it is at the gateway, or was told to be missing.
    this.#mayRefuse = false;
    for (let turn = 0; turn < 250; turn += 1) await this.#pass(500);
    await this.#say(this.gateway.trade(), false);
    await this.#say(this.gateway.write(), false);
    await this.#say(this.gateway.change(3, 2), false);
  }

  async #step() {
    const { gateway, random } = this;
    // To be moved to another rate is no fault.
    switch (this.hasFaults ? random.below(60) : random.below(30) === 0 ? 6 : 60) {
      case 0: return this.#close(1006);
      case 1: return this.#close(random.pick([4108, 4202, 1006, 4129]));
      case 2: this.#isHalfOpen = gateway.isConnected; return;
      case 3: gateway.restart(); return this.#close(4201);
      case 4: return this.#say([{ type: "notice", code: "drain", reconnect_in_ms: 700 }], false);
      case 5: return this.#say(gateway.lose(1 + random.below(5)), false);
      case 6: return this.#say(gateway.slow(), false);
      case 7: return this.#say([random.pick(HOSTILE)], false);
      default: return this.#say(
        [() => gateway.write(), () => gateway.trade(), () => gateway.change(1 + random.below(9), random.below(4))][random.below(3)](), this.hasFaults);
    }
  }

  async #pass(milliseconds) {
    await this.world.advance(milliseconds);
    await this.#follow();
    if (this.world.time - this.#beat < 1_000) return;
    this.#beat = this.world.time;
    if (this.gateway.isConnected) await this.#say([this.gateway.heartbeat()], false);
  }

  async #close(code) {
    this.gateway.disconnect();
    if (!this.#isHalfOpen) await this.world.close(code);
    await this.#follow();
  }

  /** Messages on their way; one in twenty does not arrive. */
  async #say(messages, mayDrop) {
    for (const message of messages) {
      if (!this.gateway.isConnected) return;
      if (this.#isHalfOpen || (mayDrop && this.random.below(20) === 0)) continue;
      await this.world.say(message);
      await this.#follow();
    }
  }

  /** Does what the client wants. */
  async #follow() {
    const { world, gateway } = this;
    for (;;) {
      const socket = world.socket;
      if (socket === undefined) return;
      if (socket !== this.#socket) {
        gateway.disconnect();
        [this.#socket, this.#handled, this.#isHalfOpen] = [socket, 0, false];
        if (this.hasFaults && this.#mayRefuse && this.random.below(6) === 0) { await world.close(1006); return; }
        gateway.connect();
        await world.open();
      } else if (socket.isClosed || socket.onmessage === null) {
        gateway.disconnect();
        return;
      } else if (this.#handled < socket.sent.length) {
        const request = socket.sent[this.#handled++];
        if (gateway.isConnected && !this.#isHalfOpen) for (const reply of gateway.answer(request)) if (world.socket === socket) await world.say(reply);
      } else {
        return;
      }
    }
  }
}

for (const seed of seeds(20)) {
  test(`nothing is missed without being told, through faults (seed ${seed})`, async () => {
    const trial = new Trial(seed, true);
    await trial.run(600);
    const { judge, gateway, book } = trial;
    assert.deepEqual(judge.problems, []);
    assert.equal(trial.world.client.state, "connected");
    assert.equal(book.state, "live");
    assert.deepEqual([judge.last.trades, judge.last.topic, judge.book], [gateway.lastTrade, gateway.lastDocument, gateway.text]);
  });
}

for (const seed of seeds(5)) {
  test(`without faults nothing is said to be missing (seed ${seed})`, async () => {
    const trial = new Trial(seed, false);
    await trial.run(400);
    assert.deepEqual([trial.judge.problems, trial.judge.gaps, trial.world.sockets.length], [[], 0, 1]);
    assert.equal(trial.judge.book, trial.gateway.text);
    assert.ok(trial.judge.seen.trades > 80, `${trial.judge.seen.trades} trades`);
  });
}

test("the judge sees what is missing", () => {
  const judge = new Judge();
  judge.take("trades", [1, 2, 5], false);
  assert.deepEqual(judge.problems, ["trades 5 after 2"]);
  judge.gap("trades");
  judge.take("trades", [9, 9], false);
  judge.take("trades", [8, 9], true);
  judge.take("trades", [11], false);
  assert.deepEqual(judge.problems.slice(1), ["trades 9 after 9", "trades 11 after 9"]);
  judge.show("a", new Set(["b"]));
  assert.equal(judge.problems.length, 4);
});
