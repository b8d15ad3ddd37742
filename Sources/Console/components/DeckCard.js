import { el, setText, stored } from "../dom.js";

const DOMAINS = ["consciousness", "health", "wealth", "relationships"];

/** The card of a deck's day, with a check box, which this browser stores. */
export class DeckCard {
  quote = el("blockquote.deck-quote");
  action = el("span");
  minutes = el("span.deck-source");
  domain = el("span.deck-domain");
  source = el("span.deck-source");

  constructor(name) {
    this.box = el("input", { type: "checkbox", onchange: () => this.#ticked(this.box.checked ? this.date : null) });
    this.name = `deck.${name}`;
    this.element = el(
      "article.deck-card", { "aria-label": "Card of the day", hidden: true }, this.quote,
      el("label.deck-action", this.box, el("span", this.action, " ", this.minutes)),
      el("div.deck-foot", this.domain, el("span.deck-source", { "aria-hidden": "true" }, "•"), this.source));
  }

  show({ card, date }) {
    this.element.hidden = card === undefined;
    if (card === undefined) return;
    this.date = date;
    const domain = String(card.domain ?? "–");
    setText(this.quote, String(card.quote ?? ""));
    setText(this.action, String(card.action ?? ""));
    setText(this.minutes, card.minutes ? `(${card.minutes} min)` : "");
    setText(this.domain, domain[0].toUpperCase() + domain.slice(1));
    this.domain.style.color = DOMAINS.includes(domain) ? `var(--domain-${domain})` : "";
    setText(this.source, String(card.source ?? ""));
    // A new day's card is not ticked.
    this.box.checked = stored.read(this.name, null) === date;
    this.#ticked();
  }

  #ticked(date) {
    if (date !== undefined) stored.write(this.name, date);
    this.element.classList.toggle("is-done", this.box.checked);
  }
}
