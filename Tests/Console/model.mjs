// The gateway's side, simulated: one book, one stream of trades, one topic, sessions, an epoch that ends with a
// restart; and a judge that shares no code with the client.
import { snapshot, update } from "./world.mjs";

const SYMBOLS = { book: "kraken:BTC-USD", trades: "kraken:BTC-USD", topic: "news" };

export class ModelGateway {
  epoch = 1;
  lastTrade = 0;
  lastDocument = 1;
  levels = new Map();
  /** All that the book ever was. */
  states = new Set([""]);
  #session = 0;
  #hasSession = false;
  #seq = { book: 100, trades: 100, topic: 100 };
  #kept = { book: [], trades: [], topic: [] };
  #moves = 0;
  #sent = 0;
  /** The numbers that the connection is subscribed to, by channel; null: no connection. */
  #subscribed = null;

  get isConnected() { return this.#subscribed !== null; }
  get text() { return [...this.levels].sort(([a], [b]) => b - a).map(([price, size]) => `${price}:${size}`).join(" "); }

  connect() { this.#subscribed = {}; this.#sent = 0; }
  disconnect() { this.#subscribed = null; }
  restart() {
    this.epoch += 1;
    this.#hasSession = false;
    this.#subscribed = null;
    this.#kept = { book: [], trades: [], topic: [] };
    this.#seq = { book: 7, trades: 7, topic: 7 };
  }

  #number(channel) { return this.epoch * 10_000 + { book: 10 + this.#moves * 10, trades: 1, topic: 2 }[channel]; }
  #update({ channel, prev, seq, data }) { return update(this.#number(channel), channel, SYMBOLS[channel], prev, seq, data); }

  #snapshot(channel) {
    const last = (count, newest) => Array.from({ length: Math.min(count, newest) }, (_, index) => newest - Math.min(count, newest) + 1 + index);
    const data = {
      book: () => ({ state: "live", bids: [...this.levels].map(([price, size]) => [String(price), String(size)]), asks: [] }),
      trades: () => trades(last(5, this.lastTrade)), topic: () => documents(last(3, this.lastDocument)),
    }[channel]();
    return snapshot(this.#number(channel), channel, SYMBOLS[channel], this.#seq[channel], data);
  }

  /** What goes to the connection. */
  #publish(channel, data) {
    const prev = this.#seq[channel], message = { channel, prev, seq: prev + 1 + (this.lastTrade % 2), data };
    this.#seq[channel] = message.seq;
    this.#kept[channel] = [...this.#kept[channel], message].slice(-20);
    if (this.#subscribed?.[channel] === undefined) return [];
    this.#sent += 1;
    return [this.#update(message)];
  }

  change(price, size) {
    if (size === 0) this.levels.delete(price);
    else this.levels.set(price, size);
    this.states.add(this.text);
    return this.#publish("book", { bids: [[String(price), String(size)]], asks: [] });
  }
  trade() { return this.#publish("trades", trades([(this.lastTrade += 1)])); }
  write() { return this.#publish("topic", documents([(this.lastDocument += 1)])); }

  /** Trades that a slow client is not sent, and the notice in their place. */
  lose(count) {
    const stream = this.#subscribed?.trades;
    if (stream === undefined) return [];
    const from_seq = this.#seq.trades + 1;
    for (let lost = 0; lost < count; lost += 1) if (this.trade().length > 0) this.#sent -= 1;
    return [{ type: "notice", code: "lost", stream, from_seq, to_seq: this.#seq.trades, count, events: count }];
  }

  /** The book of a slow client goes on at another rate, and so under another number, with a snapshot. */
  slow() {
    const from = this.#subscribed?.book;
    if (from === undefined) return [];
    this.#moves += 1;
    this.#kept.book = [];
    this.#sent += 1;
    const stream = (this.#subscribed.book = this.#number("book"));
    const item = { stream, from, channel: "book", symbol: SYMBOLS.book, epoch: `e${this.epoch}`, seq: this.#seq.book };
    return [{ type: "notice", code: "slow", action: "degraded", interval_ms: 1_000, streams: [item] }, this.#snapshot("book")];
  }

  heartbeat() { return { type: "heartbeat", time: 1, sent: this.#sent, feeds: {} }; }

  answer({ op, id, streams = [], resume }) {
    switch (op) {
      case "hello": return this.#hello(id, resume);
      case "subscribe": {
        const after = [];
        const ok = streams.map(({ channel }) => {
          if (this.#subscribed[channel] === undefined) after.push(this.#snapshot(channel));
          this.#subscribed[channel] = this.#number(channel);
          return this.#item(channel);
        });
        this.#sent += after.length;
        return [{ type: "subscribed", id, ok, failed: [] }, ...after];
      }
      case "unsubscribe":
        for (const [channel, number] of Object.entries(this.#subscribed)) if (streams.includes(number)) delete this.#subscribed[channel];
        return [{ type: "unsubscribed", id, streams, total: 0 }];
      case "ping": return [{ type: "pong", id }];
      default: return [];
    }
  }

  #item(channel, recovered) {
    return { stream: this.#number(channel), channel, symbol: SYMBOLS[channel], epoch: `e${this.epoch}`, seq: this.#seq[channel], state: "live", recovered };
  }

  #hello(id, resume) {
    const resumed = this.#hasSession && resume?.session === `s${this.#session}`;
    this.#session += 1;
    this.#hasSession = true;
    const after = [];
    const ok = (resume?.streams ?? []).map(({ channel, epoch, seq }) => {
      const missed = this.#kept[channel].filter((each) => each.seq > seq);
      const isKnown = resumed && epoch === `e${this.epoch}` && (missed[0]?.prev === seq || seq === this.#seq[channel]);
      this.#subscribed[channel] = this.#number(channel);
      after.push(...(isKnown ? missed.map((each) => this.#update(each)) : [this.#snapshot(channel)]));
      return this.#item(channel, isKnown);
    });
    this.#sent += after.length;
    return [{ type: "welcome", id, session: `s${this.#session}`, heartbeat_s: 1, resumed, limits: { requests_per_s: 1_000 }, ok, failed: [] }, ...after];
  }
}

function trades(ids) { return { trades: ids.map((id) => ({ id: String(id), price: "1", size: "1" })) }; }
function documents(numbers) { return { number: numbers.at(-1), documents: numbers.map((number) => ({ number, time: 1, document: { number } })) }; }

/** What an app was told, and what cannot have been. */
export class Judge {
  problems = [];
  gaps = 0;
  last = { trades: undefined, topic: undefined };
  seen = { trades: 0, topic: 0 };
  book = undefined;
  #isGap = { trades: false, topic: false };

  /** Events in order. A snapshot says by itself that what came before it may be missing. */
  take(channel, numbers, isSnapshot) {
    for (const [place, number] of numbers.entries()) {
      const last = this.last[channel], isNext = last === undefined || number === last + 1 || (this.#isGap[channel] && number > last);
      if (!isNext && !(isSnapshot && place === 0)) this.problems.push(`${channel} ${number} after ${last}`);
      this.last[channel] = number;
      this.#isGap[channel] = false;
      this.seen[channel] += 1;
    }
  }
  gap(channel) { this.gaps += 1; this.#isGap[channel] = true; }
  show(book, states) {
    if (!states.has(book)) this.problems.push(`a book that never was: ${book}`);
    this.book = book;
  }
}
