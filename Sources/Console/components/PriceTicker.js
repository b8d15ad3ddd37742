import { el, onBeat, onSecond, token } from "../dom.js";
import { decimals, price as priceText } from "../format.js";
import { Decimal } from "/tidegate.js";

const RING = [{ opacity: 1, transform: "none" }, { opacity: 0, transform: "scale(1.1)" }];
const FROM = { up: "translateY(100%)", down: "translateY(-100%)" };
/** Digits roll only after this rest, ms: a price that moves more often could never be read. */
const REST = 1_000;

/** Tickers out of sight change once a second, for screen readers, without motion. */
const sight = new IntersectionObserver((entries) => { for (const { target, isIntersecting } of entries) shown.get(target)?.isSeen(isIntersecting); });
const shown = new WeakMap();

/** A price: its ring pulses when it moves, and its changed digits roll if it moves rarely. */
export class PriceTicker {
  #quote;
  #text = "";
  #next;
  #drawn;
  #isMove = false;
  #way;
  #still = document.createTextNode("");
  #changed = document.createTextNode("");
  #spoken = document.createTextNode("");
  #ring = el("span.ring");
  #gone = document.createTextNode("");
  /** The new digits, and the old ones that they replace. */
  #rolling = el("span", this.#changed, el("span.gone", this.#gone));
  /** Made once and played again: making an animation is the costly part. */
  #pulse;
  #rolls = {};
  #isInSight = true;
  #changedAt = 0;
  /** Never fewer than before: a digit does not come and go. */
  #decimals = 0;

  constructor(quote) {
    this.#quote = quote;
    this.element = el(
      "span.ticker.price",
      el("span.digits", { "aria-hidden": "true" }, el("span", this.#still), this.#rolling),
      el("span.visually-hidden", this.#spoken), this.#ring);
    shown.set(this.element, this);
    sight.observe(this.element);
  }

  isSeen(isInSight) {
    this.#isInSight = isInSight;
    if (isInSight && this.#next !== undefined) onBeat(this.#draw);
  }

  /** @param isMove whether it pulses. */
  show(decimal, isMove) {
    this.#next = decimal;
    this.#isMove = isMove;
    (this.#isInSight ? onBeat : onSecond)(this.#draw);
  }

  #draw = () => {
    this.#decimals = Math.max(this.#decimals, decimals(this.#next));
    const text = priceText(this.#next, this.#quote, this.#decimals);
    if (text === this.#text) return;
    let same = 0;
    while (same < text.length && text[same] === this.#text[same]) same += 1;
    this.#spoken.data = text;
    if (this.#still.length !== same) this.#still.data = text.slice(0, same);
    this.#changed.data = text.slice(same);
    const now = performance.now(), isRare = now - this.#changedAt >= REST;
    this.#changedAt = now;
    this.#gone.data = isRare ? this.#text.slice(same) : "";
    if (!isRare) this.#rolls[this.#way]?.cancel();
    if (this.#isMove && this.#isInSight && this.#text !== "") this.#move(Decimal.compare(this.#next, this.#drawn) < 0 ? "down" : "up", isRare);
    this.#text = text;
    this.#drawn = this.#next;
  };

  #move(way, isRare) {
    const pulse = parseFloat(token("duration-pulse")), roll = parseFloat(token("duration-odometer"));
    // The user asks for less motion.
    if (!(pulse > 0 && roll > 0)) return;
    const isTurn = way !== this.#way;
    if (isTurn) {
      this.#rolls[this.#way]?.cancel();
      this.#way = this.element.dataset.way = way;
    }
    this.#pulse ??= idle(this.#ring, RING, pulse);
    if (isRare) play(this.#rolls[way] ??= idle(this.#rolling, [{ transform: FROM[way] }, { transform: "none" }], roll));
    // A running pulse is not restarted, unless the price turns.
    if (this.#pulse.playState !== "running" || isTurn) play(this.#pulse);
  }
}

function idle(element, frames, duration) {
  const animation = element.animate(frames, { duration, easing: "ease-out" });
  animation.cancel();
  return animation;
}

function play(animation) {
  animation.currentTime = 0;
  animation.play();
}
