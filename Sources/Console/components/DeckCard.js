import { el, setText, stored } from "../dom.js";

const DOMAINS = new Set(["consciousness", "health", "wealth", "relationships"]);

/** The card of the day: quote, action with its box to tick, domain and source. What is ticked is kept in this browser. */
export class DeckCard {
  #key;
  constructor() {
    this.quote = el("blockquote", { class: "deck-quote" });
    this.box = el("input", { type: "checkbox", id: "deck-done", onchange: () => this.#tick() });
    this.action = el("span", {});
    this.minutes = el("span", { class: "deck-source" });
    this.domain = el("span", { class: "deck-domain" });
    this.source = el("span", { class: "deck-source" });
    this.element = el(
      "article", { class: "deck-card", "aria-label": "Card of the day" }, this.quote,
      el("label", { class: "deck-action" }, this.box, el("span", {}, this.action, " ", this.minutes)),
      el("div", { class: "deck-foot" }, this.domain, el("span", { class: "deck-source", "aria-hidden": "true" }, "•"), this.source));
  }

  /** @param key names this card among others, so that another day's is not ticked. */
  show({ quote, action, minutes, domain, source }, key) {
    this.#key = key;
    setText(this.quote, quote ?? "");
    setText(this.action, action ?? "");
    setText(this.minutes, minutes ? `(${minutes} min)` : "");
    setText(this.domain, domain ?? "");
    this.domain.hidden = !domain;
    this.domain.dataset.domain = DOMAINS.has(domain?.toLowerCase()) ? domain.toLowerCase() : "other";
    setText(this.source, source ?? "");
    this.box.checked = stored.read("deck", null) === key;
    this.element.classList.toggle("is-done", this.box.checked);
  }

  #tick() {
    stored.write("deck", this.box.checked ? this.#key : null);
    this.element.classList.toggle("is-done", this.box.checked);
  }
}
