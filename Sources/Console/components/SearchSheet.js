import { field, foot, openSheet } from "./Sheet.js";
import { toast } from "./Toast.js";
import { el } from "../dom.js";

/** Finds markets by symbol, base or name. */
export class SearchSheet {
  #session;
  #chosen;
  #turn = 0;

  constructor(session, chosen) {
    this.#session = session;
    this.#chosen = chosen;
    this.input = el("input", { type: "search", id: "search", autocomplete: "off", spellcheck: false, placeholder: "BTC, kraken:ZEC-USD …" });
    this.results = el("ul.results", { "aria-label": "Markets found" });
    this.input.addEventListener("input", () => this.#search());
  }

  open() {
    openSheet("Add a market", field("Find a market", this.input), this.results, foot("Done"));
    this.#search();
  }

  async #search() {
    const turn = (this.#turn += 1);
    const text = this.input.value.trim();
    await new Promise((resolve) => setTimeout(resolve, 120));
    if (turn !== this.#turn) return;
    try {
      const found = await this.#session.instruments(text);
      if (turn !== this.#turn) return;
      this.results.replaceChildren(...found.slice(0, 60).map((instrument) => el(
        "li", el("button", {
          type: "button", onclick: () => { this.#chosen(instrument.symbol); toast(`${instrument.symbol} added`, "success"); },
        }, el("strong", instrument.symbol), el("span.caption", instrument.name ?? instrument.venue_symbol ?? "")))));
      if (found.length === 0) this.results.replaceChildren(el("li.muted", `No market matches "${text}". Try the base asset alone, such as BTC.`));
    } catch (error) {
      if (turn === this.#turn) this.results.replaceChildren(el("li.notice", error.message));
    }
  }
}
