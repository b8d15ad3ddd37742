import { DeckCard } from "../components/DeckCard.js";
import { emptyState } from "../components/EmptyState.js";
import { PostList } from "../components/PostList.js";
import { RiskBadge } from "../components/RiskBadge.js";
import { ShieldedPool } from "../components/ShieldedPool.js";
import { el, setText } from "../dom.js";
import { moment } from "../format.js";
import { followTopic, textOf } from "../topics.js";

/** The topics that this page shows, and how many documents of each. */
const TOPICS = [["risk-state", 1], ["shielded-pool", 1], ["deck", 1], ["posts", 30]];

/** What the operator publishes: the state of the risk desk, the shielded pool, the card of the day, posts. */
export class Board {
  #session;
  #undo = [];
  #ends = [];
  #heard = new Set();

  constructor(session) {
    this.#session = session;
    this.risk = new RiskBadge();
    this.pool = new ShieldedPool();
    this.deck = new DeckCard();
    this.posts = new PostList();
    this.when = { risk: el("p", { class: "caption" }), pool: el("p", { class: "caption" }) };
    this.cards = {
      "risk-state": el("div", { class: "card", hidden: true }, el("h2", {}, "Risk"), this.risk.element, this.when.risk),
      "shielded-pool": el("div", { class: "card", hidden: true }, el("h2", {}, "Shielded pool"), this.pool.element, this.when.pool),
      deck: el("div", { class: "deck-place", hidden: true }, this.deck.element),
      posts: el("div", { class: "stack", hidden: true }, el("h2", {}, "Posts"), this.posts.element),
    };
    this.skeleton = el("div", { class: "skeleton", "aria-hidden": "true" });
    this.empty = emptyState({
      title: "Nothing has been published yet",
      why: "Operators publish with POST /v1/topics/{name} on the internal port. This page shows the topics risk-state, shielded-pool, deck and posts.",
    });
    this.empty.hidden = true;
    this.element = el(
      "section", {}, el("div", { class: "page-head" }, el("h1", {}, "Board")), this.skeleton, this.empty,
      el("div", { class: "board" }, el("div", { class: "stack" }, this.cards["risk-state"], this.cards["shielded-pool"], this.cards.deck), this.cards.posts));
  }

  enter() {
    this.#undo.push(this.#session.onClient((client) => {
      this.#end();
      this.#ends = TOPICS.map(([name, last]) => followTopic(client, name, last, (documents) => this.#show(name, documents)));
    }));
  }

  leave() {
    for (const undo of this.#undo) undo();
    this.#end();
  }

  #end() { for (const end of this.#ends) end(); }

  #show(name, documents) {
    this.#heard.add(name);
    this.cards[name].hidden = documents.length === 0;
    const isAll = this.#heard.size === TOPICS.length;
    this.skeleton.hidden = isAll || TOPICS.some(([each]) => !this.cards[each].hidden);
    this.empty.hidden = !isAll || TOPICS.some(([each]) => !this.cards[each].hidden);
    const newest = documents.at(-1);
    if (newest === undefined) return;
    const { document, time, number } = newest, since = time ? `Since ${moment(time, 60e6, true)}` : "";
    switch (name) {
      case "risk-state":
        this.risk.show(textOf(document, "state", 40) ?? "unknown", textOf(document, "reason", 300));
        setText(this.when.risk, since);
        break;
      case "shielded-pool":
        this.pool.show({
          percent: textOf(document, "percent"), amount: textOf(document, "amount"), asset: textOf(document, "asset", 20), change: textOf(document, "change_pct_24h"),
        });
        setText(this.when.pool, since);
        break;
      case "deck":
        this.deck.show({
          quote: textOf(document, "quote", 400), action: textOf(document, "action", 300), minutes: textOf(document, "minutes", 10),
          domain: textOf(document, "domain", 40), source: textOf(document, "source", 100),
        }, `${number}-${time}`);
        break;
      default: this.posts.show(documents);
    }
  }
}
