import { DeckCard } from "../components/DeckCard.js";
import { emptyState } from "../components/EmptyState.js";
import { PostList } from "../components/PostList.js";
import { RiskBadge } from "../components/RiskBadge.js";
import { ShieldedPool } from "../components/ShieldedPool.js";
import { el, setText } from "../dom.js";
import { moment, textOf } from "../format.js";
import { Page } from "./Page.js";

/** The topics that this page shows, and how many documents of each. */
const TOPICS = [["risk-state", 1], ["shielded-pool", 1], ["deck", 1], ["posts", 30]];

/** What the operator publishes: the state of the risk desk, the shielded pool, the card of the day, posts. */
export default class Board extends Page {
  #heard = new Set();

  constructor(session) {
    super(session);
    this.risk = new RiskBadge();
    this.pool = new ShieldedPool();
    this.deck = new DeckCard();
    this.posts = new PostList();
    this.cards = {
      "risk-state": el("div.card", el("h2", "Risk"), this.risk.element, el("p.caption")),
      "shielded-pool": el("div.card", el("h2", "Shielded pool"), this.pool.element, el("p.caption")),
      deck: el("div.deck-place", this.deck.element),
      posts: el("div.stack", el("h2", "Posts"), this.posts.element),
    };
    for (const card of Object.values(this.cards)) card.hidden = true;
    this.skeleton = el("div.skeleton", { "aria-hidden": "true" });
    this.empty = emptyState({
      title: "Nothing has been published yet",
      why: "Operators publish with POST /v1/topics/{name} on the internal port. This page shows the topics risk-state, shielded-pool, deck and posts.",
    });
    this.empty.hidden = true;
    this.element = el(
      "section", el("div.page-head", el("h1", "Board")), this.skeleton, this.empty,
      el("div.board", el("div.stack", this.cards["risk-state"], this.cards["shielded-pool"], this.cards.deck), this.cards.posts));
  }

  follow() {
    for (const [name, last] of TOPICS) {
      this.subscribe({ channel: "topic", symbol: name, last }, (documents) => this.#show(name, documents.slice(-last)), ({ type }) => {
        // It is subscribed to, and nothing has been published yet.
        if (type !== "gap" && !this.#heard.has(name)) this.#show(name, []);
      });
    }
  }

  #show(name, documents) {
    this.#heard.add(name);
    this.cards[name].hidden = documents.length === 0;
    const isAll = this.#heard.size === TOPICS.length, isAny = Object.values(this.cards).some(({ hidden }) => !hidden);
    this.skeleton.hidden = isAll || isAny;
    this.empty.hidden = !isAll || isAny;
    const newest = documents.at(-1);
    if (newest === undefined) return;
    const { document, time, number } = newest, since = this.cards[name].querySelector(":scope > .caption");
    if (since !== null) setText(since, time ? `Since ${moment(time, 60e6, true)}` : "");
    switch (name) {
      case "risk-state":
        this.risk.show(textOf(document, "state", 40) ?? "unknown", textOf(document, "reason", 300));
        break;
      case "shielded-pool":
        this.pool.show({
          percent: textOf(document, "percent"), amount: textOf(document, "amount"), asset: textOf(document, "asset", 20), change: textOf(document, "change_pct_24h"),
        });
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
