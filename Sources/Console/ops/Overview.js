import { el, setText } from "../dom.js";
import { bytes, clock, count, duration, percent } from "./format.js";
import { RateLine } from "./RateLine.js";

/** The share from which a limit is near. */
const NEAR = 0.75;
/** The symbols of a group that are always shown. */
const SYMBOLS = 8;

/** A list whose rows keep their places while their items exist. */
class Rows {
  element = el("ul.rows");
  #rows = new Map();
  #make;

  /** @param make makes a row: its `element`, and `show`, which takes an item. */
  constructor(make) { this.#make = make; }

  show(items, key) {
    const present = new Set();
    items.forEach((item, place) => {
      const name = key(item);
      present.add(name);
      let row = this.#rows.get(name);
      if (row === undefined) this.#rows.set(name, row = this.#make());
      row.show(item);
      if (this.element.children[place] !== row.element) this.element.insertBefore(row.element, this.element.children[place] ?? null);
    });
    for (const [name, row] of this.#rows) {
      if (present.has(name)) continue;
      row.element.remove();
      this.#rows.delete(name);
    }
  }
}

/** Names with their values. */
class Facts {
  #values;

  constructor(names, className = "facts") {
    this.#values = names.map(() => el("dd", "–"));
    this.element = el("dl", { class: className }, ...names.map((name, place) => el("div", el("dt", name), this.#values[place])));
  }

  show(texts) { texts.forEach((text, place) => setText(this.#values[place], text)); }
}

class FeedRow {
  #dot = el("span.dot", { "aria-hidden": "true" });
  #name = el("strong");
  #state = el("span");
  #why = el("span.why-dead");
  #rate = el("span.price");
  #line = new RateLine();
  #facts = new Facts(["age", "lag", "lag p99", "gaps", "resyncs", "books live"]);
  element = el(
    "li.row.feed",
    el("div.feed-name", this.#name, el("span.indicator", this.#dot, this.#state), this.#why),
    el("div.feed-rate", this.#line.element, this.#rate), this.#facts.element);

  show(feed) {
    this.#dot.dataset.state = feed.indicator;
    setText(this.#name, feed.connection);
    setText(this.#state, feed.simulated ? `${feed.state}, simulated` : feed.state);
    setText(this.#why, feed.reason ?? "");
    setText(this.#rate, `${count(feed.rate)}/s`);
    this.#line.show(feed.rates);
    const all = Object.values(feed.books).reduce((sum, each) => sum + each, 0);
    this.#facts.show([
      duration(feed.age_ms), duration(feed.lag_ms), duration(feed.lag_p99_ms), count(feed.gaps), count(feed.resyncs),
      `${count(feed.books.live)} of ${count(all)}`,
    ]);
    this.element.classList.toggle("is-dead", feed.indicator !== "connected");
  }
}

/** Books of one connection that have one reason not to be live. */
class BookGroup {
  #name = el("strong");
  #reason = el("span.why-dead");
  #symbols = el("span.muted");
  #rest = el("p.muted");
  #more = el("summary");
  #details = el("details", this.#more, this.#rest);
  element = el("li.row.book-row", el("div.feed-name", this.#name, this.#reason), el("div.feed-name", this.#symbols, this.#details));
  show({ connection, reason, symbols }) {
    setText(this.#name, `${connection}: ${symbols.length === 1 ? "1 book" : `${count(symbols.length)} books`}`);
    setText(this.#reason, reason);
    setText(this.#symbols, symbols.slice(0, SYMBOLS).join(", "));
    this.#details.hidden = symbols.length <= SYMBOLS;
    setText(this.#more, `and ${symbols.length - SYMBOLS} more`);
    setText(this.#rest, symbols.slice(SYMBOLS).join(", "));
  }
}

/** The books of each connection and reason together, the most first. */
function grouped(books) {
  const groups = new Map();
  for (const { connection, symbol, reason } of books) {
    const key = `${connection} ${reason}`;
    if (!groups.has(key)) groups.set(key, { key, connection, reason, symbols: [] });
    groups.get(key).symbols.push(symbol);
  }
  return [...groups.values()].sort((a, b) => b.symbols.length - a.symbols.length);
}

class ClientRow {
  #name = el("strong");
  #where = el("span.muted");
  #facts = new Facts(["queued", "slow for", "rate", "class", "merged", "lost"]);
  element = el("li.row.client-row", el("div.feed-name", this.#name, this.#where), this.#facts.element);
  show(client) {
    setText(this.#name, client.key ?? client.peer);
    setText(this.#where, `${client.id}, ${client.peer}, ${client.transport}`);
    this.#facts.show([
      bytes(client.queued_bytes), client.slow_ms === undefined ? "–" : duration(client.slow_ms),
      client.messages_per_second === undefined ? "–" : `${count(client.messages_per_second)}/s`,
      client.held_ms > 0 ? `held at ${client.held_ms} ms` : client.degraded_ms > 0 ? `${client.degraded_ms} ms` : "as requested",
      count(client.merged), count(client.lost),
    ]);
  }
}

class LoopRow {
  #name = el("strong");
  #facts = new Facts(["busy", "lag p99", "turn p99", "clients", "feeds"]);
  element = el("li.row.loop-row", this.#name, this.#facts.element);
  show(loop) {
    setText(this.#name, `Loop ${loop.loop}`);
    this.#facts.show([percent(loop.busy), duration(loop.lag_p99_ms), duration(loop.turn_p99_ms), count(loop.clients), count(loop.feeds)]);
  }
}

class LimitRow {
  #name = el("span");
  #meter = el("meter", { min: 0, max: 1, high: NEAR, optimum: 0 });
  #words = el("span.muted");
  element = el("li.row.limit-row", this.#name, this.#meter, this.#words);
  show({ name, used, limit }) {
    const part = limit > 0 ? used / limit : 0, shown = /bytes/.test(name) ? bytes : count;
    setText(this.#name, name);
    this.#meter.value = Math.min(1, part);
    this.#meter.setAttribute("aria-label", name);
    setText(this.#words, `${shown(used)} of ${shown(limit)}${part >= NEAR ? ": near" : ""}`);
    this.#words.className = part >= NEAR ? "notice" : "muted";
  }
}

class EventRow {
  #time = el("time.price");
  #level = el("span.badge");
  #text = el("span");
  #fields = el("span.muted.fields");
  element = el("li.event", this.#time, this.#level, this.#text, this.#fields);
  show({ time, level, msg, fields }) {
    setText(this.#time, clock(time));
    setText(this.#level, level);
    this.#level.className = level === "warning" ? "badge badge-warning" : level === "error" || level === "critical" ? "badge badge-error" : "badge muted";
    setText(this.#text, msg);
    setText(this.#fields, Object.entries(fields).map(([key, value]) => `${key}=${value}`).join("  "));
  }
}

function section(title, ...content) {
  const heading = el("h2", title);
  return el("section.card", { "aria-label": title }, heading, ...content);
}

const BADGES = { ok: "badge badge-good", degraded: "badge badge-warning", failing: "badge badge-error" };

/** All that operators see. */
export class Overview {
  #title = el("h1");
  #status = el("span.badge");
  #reasons = el("ul.reasons", { "aria-live": "polite" });
  #about = el("p.caption");
  #in = new RateLine();
  #out = new RateLine();
  #figures = new Facts(["clients", "slow", "messages in", "frames out", "delivery p99", "cores", "memory", "up"], "facts figures");
  #feeds = new Rows(() => new FeedRow());
  #books = new Rows(() => new BookGroup());
  #booksNone = el("p.muted", "Every book is live.");
  #booksMore = el("p.caption");
  #clients = new Facts(["subscriptions", "ever", "resumed", "parked", "merged", "lost"], "facts figures");
  #ended = el("p.caption");
  #slow = new Rows(() => new ClientRow());
  #slowNone = el("p.muted", "No client is slow.");
  #loops = new Rows(() => new LoopRow());
  #limits = new Rows(() => new LimitRow());
  #events = new Rows(() => new EventRow());
  #eventsNone = el("p.muted", "No events yet.");
  #newest = "";
  #reasonsText = "";

  constructor() {
    this.element = el(
      "div.stack",
      el("div.page-head", this.#title, this.#status),
      this.#reasons,
      section("Throughput", this.#figures.element,
        el("div.pair",
          el("figure", el("figcaption.caption", "Messages from venues, last minute"), this.#in.element),
          el("figure", el("figcaption.caption", "Frames to clients, last minute"), this.#out.element))),
      section("Feeds", this.#feeds.element),
      section("Books that are not live", this.#booksNone, this.#books.element, this.#booksMore),
      section("Clients", this.#clients.element, this.#ended, this.#slowNone, this.#slow.element),
      el("div.pair", section("Loops", this.#loops.element), section("Limits", this.#limits.element)),
      section("Events", this.#eventsNone, this.#events.element),
      this.#about);
  }

  show(state) {
    document.title = `${state.status === "ok" ? "" : `${state.status}: `}${state.node} operations`;
    setText(this.#title, state.node);
    setText(this.#status, state.draining ? "draining" : state.status);
    this.#status.className = BADGES[state.status] ?? "badge";
    const all = [...state.reasons, ...state.warnings], reasons = JSON.stringify(all);
    if (reasons !== this.#reasonsText) {
      this.#reasonsText = reasons;
      this.#reasons.replaceChildren(...all.slice(0, 20).map((reason) => el("li", reason)));
    }
    const { throughput, clients, process } = state;
    this.#figures.show([
      count(clients.now), count(clients.slow), `${count(throughput.messages)}/s`, `${count(throughput.frames)}/s`, duration(throughput.delivery_p99_ms),
      process.cores === undefined ? "–" : process.cores.toFixed(2), bytes(process.resident_bytes), duration(state.uptime_s * 1_000),
    ]);
    this.#in.show(throughput.messages_line);
    this.#out.show(throughput.frames_line);
    this.#feeds.show(state.feeds, (feed) => feed.connection);
    this.#booksNone.hidden = state.books_not_live > 0;
    this.#books.show(grouped(state.books), ({ key }) => key);
    const more = state.books_not_live - state.books.length;
    setText(this.#booksMore, more > 0 ? `and ${count(more)} more` : "");
    this.#clients.show([count(clients.subscriptions), count(clients.total), count(clients.resumed), count(clients.parked), count(clients.merged), count(clients.lost)]);
    const told = (word, counts) => Object.keys(counts).length === 0 ? "" : `${word}: ${Object.entries(counts).map(([name, value]) => `${name.replaceAll("_", " ")} ${count(value)}`).join(", ")}. `;
    setText(this.#ended, told("Closed", clients.closed) + told("Refused", clients.refused));
    this.#slowNone.hidden = state.slow.length > 0;
    this.#slow.show(state.slow, (client) => client.id);
    this.#loops.show(state.loops, (loop) => loop.loop);
    this.#limits.show(state.limits, (limit) => limit.name);
    this.#eventsNone.hidden = state.events.length > 0;
    const newest = state.events.length === 0 ? "" : `${state.events[0].time} ${state.events[0].event}`;
    if (newest !== this.#newest) {
      this.#newest = newest;
      const seen = new Map();
      this.#events.show(state.events, ({ time, event }) => {
        const name = `${time} ${event}`, again = (seen.get(name) ?? 0) + 1;
        seen.set(name, again);
        return `${name} ${again}`;
      });
    }
    setText(this.#about, `Version ${state.version}${state.commit ? `, commit ${state.commit}` : ""}, epoch ${state.epoch}. All times are UTC; a figure is at most a second old.`);
  }
}
