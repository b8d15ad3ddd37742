import { DeckCard } from "../components/DeckCard.js";
import { emptyState } from "../components/EmptyState.js";
import { PostList } from "../components/PostList.js";
import { RiskBadge } from "../components/RiskBadge.js";
import { ShieldedPool } from "../components/ShieldedPool.js";
import { el, setText } from "../dom.js";
import { moment, textOf } from "../format.js";
import { Page } from "./Page.js";

/** The topics of this page, and how many documents of each. */
const TOPICS = [["risk-state", 1], ["shielded-pool", 1], ["posts", 30]];

/** The cards of the day, and the operator's documents: the state of the risk desk, the shielded pool, posts. */
export default class Board extends Page {
  #heard = new Set();

  constructor(session) {
    super(session);
    this.risk = new RiskBadge();
    this.pool = new ShieldedPool();
    this.decks = el("div.deck-place");
    this.posts = new PostList();
    this.cards = {
      "risk-state": el("div.card", el("h2", "Risk"), this.risk.element, el("p.caption")),
      "shielded-pool": el("div.card", el("h2", "Shielded pool"), this.pool.element, el("p.caption")),
      posts: el("div.stack", el("h2", "Posts"), this.posts.element),
    };
    for (const card of Object.values(this.cards)) card.hidden = true;
    this.skeleton = el("div.skeleton", { "aria-hidden": "true" });
    this.empty = emptyState({
      title: "Nothing has been published yet",
      why: "Publish with `tidegate publish`. This page shows the topics risk-state, shielded-pool and posts.",
    });
    this.empty.hidden = true;
    this.element = el(
      "section", el("div.page-head", el("h1", "Board")), this.skeleton, this.empty,
      el("div.board", el("div.stack", this.cards["risk-state"], this.cards["shielded-pool"], this.decks), this.cards.posts));
  }

  follow() {
    for (const [name, last] of TOPICS) {
      this.subscribe({ channel: "topic", symbol: name, last }, (documents) => this.#show(name, documents.slice(-last)), ({ type }) => {
        // Subscribed, and nothing has been published yet.
        if (type !== "gap" && !this.#heard.has(name)) this.#show(name, []);
      });
    }
    this.#followDecks(this.client);
  }

  /** Every deck, on the local day. */
  async #followDecks(client) {
    const { decks } = await this.session.get("/v1/decks").catch(() => ({ decks: [] }));
    if (client !== this.client) return;
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    this.decks.replaceChildren(...decks.map(({ name }) => {
      const card = new DeckCard(name);
      this.subscribe({ channel: "deck", symbol: name, zone }, (day) => card.show(day));
      return card.element;
    }));
  }

  #show(name, documents) {
    this.#heard.add(name);
    this.cards[name].hidden = documents.length === 0;
    const isAll = this.#heard.size === TOPICS.length, isAny = Object.values(this.cards).some(({ hidden }) => !hidden);
    this.skeleton.hidden = isAll || isAny;
    this.empty.hidden = !isAll || isAny;
    const newest = documents.at(-1);
    if (newest === undefined) return;
    const { document, time } = newest, since = this.cards[name].querySelector(":scope > .caption");
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
      default: this.posts.show(documents);
    }
  }
}
