import { el, onFrame, setText } from "../dom.js";
import { price as priceText } from "../format.js";

/** How long a ring and a roll take, ms: as in the style sheet. What still runs is not begun anew: an animation costs more than a text. */
const PULSE = 300;
const ROLL = 200;

/** A price whose changed digits roll and whose ring pulses when it moves, from the gateway's 100 ms pulse. */
export class PriceTicker {
  #quote;
  #text = "";
  #next = null;
  #pulsedAt = -PULSE;
  #rolledAt = -ROLL;
  #way = "";
  /** Of two equal animations the other one is named, so that each begins anew without a layout in between. */
  #beat = 0;
  #still = document.createTextNode("");
  #changed = document.createTextNode("");

  constructor(quote, className = "") {
    this.#quote = quote;
    this.rolling = el("span", {}, this.#changed);
    this.digits = el("span", { class: "digits", "aria-hidden": "true" }, el("span", {}, this.#still), this.rolling);
    this.spoken = el("span", { class: "visually-hidden" });
    this.element = el("span", { class: `ticker price ${className}` }, this.digits, this.spoken);
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
    let same = 0;
    while (same < text.length && text[same] === this.#text[same]) same += 1;
    this.#text = text;
    setText(this.spoken, text);
    this.#still.data = text.slice(0, same);
    this.#changed.data = text.slice(same);
    if (move !== "up" && move !== "down") return;
    const now = performance.now(), isTurn = move !== this.#way;
    this.#way = move;
    this.#beat = 1 - this.#beat;
    if (isTurn || now - this.#rolledAt >= ROLL) {
      this.#rolledAt = now;
      this.rolling.className = `rolls-${move}-${this.#beat}`;
    }
    if (isTurn || now - this.#pulsedAt >= PULSE) {
      this.#pulsedAt = now;
      this.element.dataset.pulse = `${move}-${this.#beat}`;
    }
  };
}
