import { emptyState } from "../components/EmptyState.js";
import { el, setText } from "../dom.js";
import { age } from "../format.js";
import { Page } from "./Page.js";

/** Every feed: whether its data is live, its age, and why not. */
export default class Status extends Page {
  #rows = new Map();

  constructor(session) {
    super(session);
    this.body = el("tbody");
    this.gateway = el("p.muted");
    this.table = el(
      "table.table", { hidden: true }, el("caption.visually-hidden", "Feeds"),
      el("thead", el("tr", ...["Feed", "State", "Last heard", "Reason", "Not in sync"].map((name) => el("th", { scope: "col" }, name)))), this.body);
    this.empty = emptyState({ title: "No feed has reported yet", why: "The first heartbeat, within five seconds, has the state of each." });
    this.element = el("section", el("div.page-head", el("h1", "Status")), el("div.card", this.gateway, this.empty, this.table));
  }

  follow() {
    this.subscribe({ channel: "status" }, () => this.mark());
    this.mark();
  }

  mark() {
    const { welcome, state, feeds } = this.client;
    setText(this.gateway, welcome ? `Gateway ${welcome.node ?? ""}, version ${welcome.version ?? "unknown"}: ${state}.` : `The gateway is ${state}.`);
    this.empty.hidden = feeds.size > 0;
    this.table.hidden = feeds.size === 0;
    for (const [venue, feed] of feeds) {
      let row = this.#rows.get(venue);
      if (row === undefined) {
        row = { dot: el("span.dot", { "aria-hidden": "true" }), state: el("span"), age: el("td"), reason: el("td"), syncing: el("td") };
        this.body.append(el("tr", el("th", { scope: "row" }, venue), el("td", el("span.indicator", row.dot, row.state)), row.age, row.reason, row.syncing));
        this.#rows.set(venue, row);
      }
      row.dot.dataset.state = feed.indicator;
      setText(row.state, String(feed.state ?? "unknown"));
      setText(row.age, age(feed.age_ms));
      setText(row.reason, String(feed.reason ?? ""));
      const silent = Object.entries(feed.silent ?? {}).map(([symbol, channels]) => `${symbol} (${[channels].flat().join(", ")})`);
      setText(row.syncing, [...Object.keys(feed.syncing ?? {}), ...silent].slice(0, 20).join(", "));
    }
  }
}
