// A clock that is moved by hand, sockets without a network, and the gateway's side of them.
import { Tidegate } from "../../Sources/Console/client/tidegate.js";

/** Numbers that come again with the same seed (SplitMix64). */
export class SeededGenerator {
  constructor(seed) { this.state = BigInt(seed); }
  next() {
    this.state = BigInt.asUintN(64, this.state + 0x9e3779b97f4a7c15n);
    let z = this.state;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
  }
  below(limit) { return Math.floor(this.next() * limit); }
  pick(values) { return values[this.below(values.length)]; }
}

export function seeds(count) {
  const one = process.env.TIDEGATE_SEED;
  return one ? [Number(one)] : Array.from({ length: count }, (_, index) => index + 1);
}

class EventTargetDouble {
  listeners = new Map();
  addEventListener(name, work) { this.listeners.set(name, [...(this.listeners.get(name) ?? []), work]); }
  removeEventListener(name, work) { this.listeners.set(name, (this.listeners.get(name) ?? []).filter((each) => each !== work)); }
  dispatch(name) { for (const work of this.listeners.get(name) ?? []) work(); }
}

export class World {
  time = 0;
  timers = new Map();
  nextTimer = 1;
  sockets = [];
  log = [];
  window = new EventTargetDouble();
  document = Object.assign(new EventTargetDouble(), { visibilityState: "visible" });

  constructor(options = {}, seed = 7) {
    const world = this;
    const random = new SeededGenerator(seed);
    class ScriptedSocket {
      sent = [];
      isClosed = false;
      constructor(url, protocols) {
        this.url = url;
        this.protocols = protocols;
        world.sockets.push(this);
      }
      send(text) { this.sent.push(JSON.parse(text)); }
      close(code) { this.isClosed = true; this.code = code; }
    }
    this.client = new Tidegate({
      url: "ws://gateway.test", ...options,
      environment: {
        WebSocket: ScriptedSocket, now: () => world.time, random: () => random.next(), location: undefined,
        window: this.window, document: this.document,
        setTimeout: (work, milliseconds) => {
          const id = world.nextTimer++;
          world.timers.set(id, { at: world.time + Math.max(0, milliseconds ?? 0), id, work });
          return id;
        },
        clearTimeout: (id) => world.timers.delete(id),
      },
    });
    for (const name of ["state", "gap", "error", "notice"]) {
      this.client.on(name, (...parameters) => this.log.push([name, ...parameters]));
    }
  }

  get socket() { return this.sockets.at(-1); }
  get states() { return this.log.filter(([name]) => name === "state").map(([, state]) => state); }

  /** Lets promises settle. */
  async settle() { for (let turn = 0; turn < 6; turn += 1) await null; }

  async advance(milliseconds) {
    const end = this.time + milliseconds;
    await this.settle();
    for (;;) {
      const due = [...this.timers.values()].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at || a.id - b.id)[0];
      if (due === undefined) break;
      this.timers.delete(due.id);
      this.time = Math.max(this.time, due.at);
      due.work();
      await this.settle();
    }
    this.time = end;
  }

  /** What the client has sent with this `op`, on the last socket. */
  requests(op) { return this.socket.sent.filter((request) => request.op === op); }

  async open() {
    await this.advance(0);
    this.socket.onopen?.();
    await this.advance(0);
  }

  /** Opens the client's next connection, whenever it comes. */
  async openNext() {
    for (let turn = 0; turn < 200; turn += 1) {
      if (this.socket?.onopen && !this.socket.isOpen) {
        this.socket.isOpen = true;
        return this.open();
      }
      await this.advance(500);
    }
    throw new Error("the client does not connect");
  }

  async say(message) {
    this.socket.onmessage?.({ data: typeof message === "string" ? message : JSON.stringify(message) });
    await this.settle();
  }

  async welcome(more = {}) {
    await this.say({
      type: "welcome", id: this.requests("hello").at(-1).id, session: "s_1", heartbeat_s: 5, resumed: false,
      limits: { requests_per_s: 1_000 }, ...more,
    });
    await this.advance(0);
  }

  /** Accepts everything that the last `subscribe` asks for, with stream numbers from `first`. */
  async accept(first = 1) {
    const request = this.requests("subscribe").at(-1);
    const ok = request.streams.map((item, index) => ({
      stream: first + index, channel: item.channel, symbol: item.symbols?.[0], epoch: "e1", seq: 10, state: "live",
    }));
    await this.say({ type: "subscribed", id: request.id, total: ok.length, ok, failed: [] });
  }

  async connected(options = {}) {
    await this.open();
    await this.welcome(options);
    await this.accept();
  }

  async close(code, reason = "") {
    this.socket.onclose?.({ code, reason });
    await this.settle();
  }
}

export function snapshot(stream, channel, symbol, seq, data, reason = "subscribe") {
  return { type: "snapshot", channel, symbol, stream, seq, reason, time: 1, data };
}
export function update(stream, channel, symbol, prev, seq, data) {
  return { type: "update", channel, symbol, stream, prev, seq, time: 1, data };
}
