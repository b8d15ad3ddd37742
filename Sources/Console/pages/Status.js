import { emptyState } from "../components/EmptyState.js";
import { el, setText } from "../dom.js";
import { age } from "../format.js";

const INDICATORS = { connected: "connected", reconnecting: "reconnecting", disconnected: "disconnected" };

/** Every feed: whether its data is alive, how old it is, and why not. */
export class Status {
  #session;
  #undo = [];
  #subscription;
  #rows = new Map();

  constructor(session) {
    this.#session = session;
    this.body = el("tbody");
    this.gateway = el("p", { class: "muted" });
    this.table = el(
      "table", { class: "table", hidden: true }, el("caption", { class: "visually-hidden" }, "Feeds"),
      el("thead", {}, el("tr", {}, ...["Feed", "State", "Last heard", "Reason", "Not in sync"].map((name) => el("th", { scope: "col" }, name)))), this.body);
    this.empty = emptyState({ title: "No feed has told its state yet", why: "It comes with the first heartbeat, within five seconds." });
    this.element = el("section", {}, el("div", { class: "page-head" }, el("h1", {}, "Status")), el("div", { class: "card" }, this.gateway, this.empty, this.table));
  }

  enter() {
    this.#undo.push(this.#session.onClient((client) => {
      this.client = client;
      client.on("feeds", () => this.#show());
      client.on("state", () => this.#show());
      this.#subscription?.cancel();
      this.#subscription = client.subscribe({ channel: "status" }, () => this.#show());
      this.#show();
    }));
  }

  leave() {
    for (const undo of this.#undo) undo();
    this.#subscription?.cancel();
  }

  #show() {
    const { welcome, state, feeds } = this.client;
    setText(this.gateway, welcome ? `Gateway ${welcome.node ?? ""}, version ${welcome.version ?? "unknown"}: ${state}.` : `The gateway is ${state}.`);
    this.empty.hidden = feeds.size > 0;
    this.table.hidden = feeds.size === 0;
    for (const [venue, feed] of feeds) {
      let row = this.#rows.get(venue);
      if (row === undefined) {
        row = { dot: el("span", { class: "dot", "aria-hidden": "true" }), state: el("span"), age: el("td"), reason: el("td"), syncing: el("td") };
        this.body.append(el("tr", {}, el("th", { scope: "row" }, venue), el("td", {}, el("span", { class: "indicator" }, row.dot, row.state)), row.age, row.reason, row.syncing));
        this.#rows.set(venue, row);
      }
      row.dot.dataset.state = INDICATORS[feed.indicator] ?? "disconnected";
      setText(row.state, String(feed.state ?? "unknown"));
      setText(row.age, age(feed.age_ms));
      setText(row.reason, String(feed.reason ?? ""));
      setText(row.syncing, typeof feed.syncing === "object" && feed.syncing !== null ? Object.keys(feed.syncing).slice(0, 20).join(", ") : "");
    }
  }
}
