import { ChangeChip } from "./ChangeChip.js";
import { coinIcon } from "./CoinIcon.js";
import { PriceTicker } from "./PriceTicker.js";
import { Sparkline } from "./Sparkline.js";
import { CROSS, el, iconButton, setText } from "../dom.js";
import { age, marketPage, price as priceText, said, short, symbolParts } from "../format.js";
import { showDead, whyDead, whyPlace } from "../health.js";
import { Decimal } from "/tidegate.js";

const UP = "M12 19V5M6 11l6-6 6 6", DOWN = "M12 5v14M6 13l6 6 6-6", GRIP = "M5 8h14M5 12h14M5 16h14";
/** The figures of a wide screen. */
export const COLUMNS = ["High", "Low", "Volume", "Spread", "Age"];

/** A market of the watchlist: its line, price, change and figures, and the buttons of the edit mode. */
export class MarketRow {
  change = undefined;
  #subscriptions = [];
  #price;
  #time;
  #title = el("strong");
  #cells = COLUMNS.map((name) => ({ name, value: el("span") }));

  constructor(client, symbol, { removed, moved, dragged, changed }) {
    this.client = client;
    this.symbol = symbol;
    const { venue, market, base, quote } = symbolParts(symbol);
    this.venue = venue;
    this.base = base;
    const ticker = new PriceTicker(quote), chip = new ChangeChip(), line = new Sparkline();
    this.up = iconButton(UP, `Move ${market} up`, () => moved(-1), { class: "move-up" });
    this.down = iconButton(DOWN, `Move ${market} down`, () => moved(1), { class: "move-down" });
    this.grip = iconButton(GRIP, `Move ${market}: drag it, or press the arrow keys`, undefined, {
      class: "grip", onpointerdown: dragged,
      onkeydown: (event) => {
        if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
        event.preventDefault();
        moved(event.key === "ArrowUp" ? -1 : 1);
      },
    });
    this.element = el(
      "li.row",
      el("a.row-name.has-coin", { href: marketPage(symbol) }, coinIcon(base), this.#title, el("span.caption", `${market} · ${venue}`), whyPlace()),
      line.element, el("div.row-price", ticker.element, chip.element),
      ...this.#cells.map(({ name, value }) => el("span.column", el("span.visually-hidden", `${name} `), value)),
      el("div.row-tools", this.grip, this.up, this.down, iconButton(CROSS, `Remove ${market}`, removed)));
    this.name();
    const changeShown = (percent) => {
      if (percent === undefined) return;
      this.change = percent;
      chip.show(percent);
      line.direction = chip.direction;
      changed();
    };
    this.#subscriptions = [
      client.subscribe({ channel: "pulse", symbol }, (pulse, info) => {
        if (info.type === "failed") this.failure = said(info.error);
        if (pulse === undefined) return this.mark();
        if (this.failure) this.mark(this.failure = undefined);
        this.#price = pulse.price;
        this.#time = pulse.time ?? info.time;
        ticker.show(pulse.price, info.type === "update");
        changeShown(pulse.change_pct_24h);
      }),
      client.subscribe({ channel: "ticker", symbol, intervalMilliseconds: 1_000 }, (figures) => {
        if (figures === undefined) return;
        if (this.#price === undefined && figures.last !== undefined) ticker.show(figures.last);
        changeShown(figures.change_pct_24h);
        const { high_24h: high, low_24h: low, volume_24h: volume, bid, ask } = figures;
        const spread = bid && ask ? priceText(Decimal.subtract(ask, bid), quote) : "–";
        [priceText(high, quote), priceText(low, quote), short(volume), spread].forEach((text, place) => setText(this.#cells[place].value, text));
      }),
      client.subscribe({ channel: "sparkline", symbol, points: 96 }, (value) => { if (value) line.show(value); }),
    ];
  }

  /** Shows the name of the asset, by default its code. */
  name(name = this.base) { setText(this.#title, name); }

  /** Shows the age of the price. */
  tick(now) {
    const passed = this.#time === undefined ? undefined : Math.max(0, now - this.#time / 1_000);
    setText(this.#cells[4].value, passed === undefined ? "–" : passed < 2_000 ? "now" : age(passed));
  }

  mark() { showDead(this.element, this.failure ?? whyDead(this.client, this.venue)); }

  end() { for (const subscription of this.#subscriptions) subscription.cancel(); }
}
