import { el, setText, stored } from "../dom.js";

const DOMAINS = ["consciousness", "health", "wealth", "relationships"];

/** The card of the day: quote, action with its box to tick, domain and source. What is ticked is kept in this browser. */
export class DeckCard {
  #key;
  constructor() {
    this.quote = el("blockquote.deck-quote");
    this.box = el("input", { type: "checkbox", id: "deck-done", onchange: () => this.#tick() });
    this.action = el("span");
    this.minutes = el("span.deck-source");
    this.domain = el("span.deck-domain");
    this.source = el("span.deck-source");
    this.element = el(
      "article.deck-card", { "aria-label": "Card of the day" }, this.quote,
      el("label.deck-action", this.box, el("span", this.action, " ", this.minutes)),
      el("div.deck-foot", this.domain, el("span.deck-source", { "aria-hidden": "true" }, "•"), this.source));
  }

  /** @param key names this card among others, so that another day's is not ticked. */
  show({ quote, action, minutes, domain, source }, key) {
    this.#key = key;
    setText(this.quote, quote ?? "");
    setText(this.action, action ?? "");
    setText(this.minutes, minutes ? `(${minutes} min)` : "");
    setText(this.domain, domain ?? "");
    this.domain.hidden = !domain;
    this.domain.style.color = DOMAINS.includes(domain?.toLowerCase()) ? `var(--domain-${domain.toLowerCase()})` : "";
    setText(this.source, source ?? "");
    this.box.checked = stored.read("deck", null) === key;
    this.element.classList.toggle("is-done", this.box.checked);
  }

  #tick() {
    stored.write("deck", this.box.checked ? this.#key : null);
    this.element.classList.toggle("is-done", this.box.checked);
  }
}
