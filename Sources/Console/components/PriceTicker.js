import { el, onFrame } from "../dom.js";
import { price as priceText } from "../format.js";

/** A price whose digits roll and whose ring pulses when it moves: 300 ms, from the gateway's 100 ms pulse. */
export class PriceTicker {
  #quote;
  #text = "";
  #next = null;

  constructor(quote, className = "") {
    this.#quote = quote;
    this.element = el("span", { class: `ticker price ${className}`, role: "text" });
    this.element.addEventListener("animationend", (event) => {
      if (event.target === this.element) this.element.classList.remove("pulses");
    });
  }

  /** @param move `up`, `down` or undefined: no pulse, as for a first price. */
  show(decimal, move) {
    this.#next = { text: priceText(decimal, this.#quote), move };
    onFrame(this.#draw);
  }

  #draw = () => {
    if (this.#next === null) return;
    const { text, move } = this.#next;
    this.#next = null;
    if (text === this.#text) return;
    const old = this.#text;
    this.#text = text;
    this.element.setAttribute("aria-label", text);
    const cells = this.element.children;
    if (cells.length !== text.length) {
      this.element.replaceChildren(...[...text].map((each) => el("span", { class: "digit", "aria-hidden": "true" }, el("span", {}, each))));
    } else {
      for (let place = 0; place < text.length; place += 1) {
        if (text[place] === old[place]) continue;
        const cell = cells[place];
        const fresh = el("span", {}, text[place]);
        cell.classList.toggle("rolls", move !== undefined);
        cell.dataset.direction = move ?? "";
        cell.replaceChildren(fresh);
      }
    }
    if (move !== "up" && move !== "down") return;
    this.element.dataset.direction = move;
    this.element.classList.remove("pulses");
    // The animation begins anew only after the browser has seen the class go.
    void this.element.offsetWidth;
    this.element.classList.add("pulses");
  };
}
