import { ChangeChip } from "../components/ChangeChip.js";
import { emptyState } from "../components/EmptyState.js";
import { PriceTicker } from "../components/PriceTicker.js";
import { SearchSheet } from "../components/SearchSheet.js";
import { Sparkline } from "../components/Sparkline.js";
import { CROSS, button, el, iconButton, onSecond, setText, stored } from "../dom.js";
import { marketPage, price as priceText, said, spokenPrice, symbolParts } from "../format.js";
import { showDead, whyDead, whyPlace } from "../health.js";
import { Page } from "./Page.js";

/** Markets shown until some are chosen. */
const FIRST_CHOICE = ["BTC", "ETH", "SOL", "ZEC"];
const LIMIT = 200;
const UP = "M12 19V5M6 11l6-6 6 6", DOWN = "M12 5v14M6 13l6 6 6-6", GRIP = "M5 8h14M5 12h14M5 16h14";
const SPEAKER = "M4 9v6h4l5 4V5L8 9zM16 9a4 4 0 0 1 0 6M18.5 6.5a8 8 0 0 1 0 11";

/** The chosen markets, a row each, and their totals. */
export default class Watchlist extends Page {
  #rows = new Map();
  #isLeft = false;

  constructor(session) {
    super(session);
    this.list = el("ul.rows", { "aria-label": "Watched markets" });
    this.summary = el("div.card.summary", { hidden: true });
    this.figures = ["Rising", "Falling", "Moved most"].map((name) => {
      const figure = el("strong");
      this.summary.append(el("div", el("span.caption", name), figure));
      return figure;
    });
    const edit = button("Edit", () => setText(edit, this.element.classList.toggle("is-editing") ? "Done" : "Edit"), "edit");
    const add = button("Add", () => this.#add(), "primary", { "aria-label": "Add a market" });
    this.element = el("section", el("div.page-head", el("h1", "Watchlist"), edit, add), this.summary, this.list);
  }

  async enter() {
    let symbols = stored.read("watchlist", null);
    if (symbols === null) {
      this.list.replaceChildren(...Array.from({ length: 4 }, () => el("li.skeleton", { "aria-hidden": "true" })));
      symbols = await this.#firstSymbols();
      if (this.#isLeft) return;
    }
    this.symbols = symbols.filter((symbol) => typeof symbol === "string").slice(0, LIMIT);
    super.enter();
  }

  leave() {
    this.#isLeft = true;
    super.leave();
    this.#clear();
  }

  /** A new gateway has no lists yet: asks again for a while. */
  async #firstSymbols() {
    let found = [];
    for (let attempt = 0; attempt < 30 && found.length === 0 && !this.#isLeft; attempt += 1) {
      if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, 1_000));
      found = await this.session.instruments("").catch(() => []);
    }
    const wanted = found.filter(({ symbol }) => {
      const { base, quote, kind } = symbolParts(symbol);
      return FIRST_CHOICE.includes(base) && quote.startsWith("USD") && kind === undefined;
    });
    return (wanted.length ? wanted : found).slice(0, 8).map(({ symbol }) => symbol);
  }

  #add() {
    new SearchSheet(this.session, (symbol) => {
      if (this.symbols.includes(symbol) || this.symbols.length >= LIMIT) return;
      this.#order([...this.symbols, symbol]);
    }).open();
  }

  follow() {
    this.#clear();
    this.list.replaceChildren();
    this.#show();
  }

  #clear() {
    for (const row of this.#rows.values()) row.end();
    this.#rows.clear();
  }

  /** Puts the rows in the order of the symbols. Rows that stay keep their streams. */
  #show() {
    const { symbols, list } = this;
    for (const [symbol, row] of this.#rows) {
      if (symbols.includes(symbol)) continue;
      row.end();
      this.#rows.delete(symbol);
    }
    this.summary.hidden = symbols.length === 0;
    const elements = symbols.map((symbol, place) => {
      if (!this.#rows.has(symbol)) this.#rows.set(symbol, this.#row(symbol));
      const row = this.#rows.get(symbol);
      row.up.disabled = place === 0;
      row.down.disabled = place === symbols.length - 1;
      return row.element;
    });
    if (elements.length === 0) {
      elements.push(el("li", emptyState({
        title: "No market is watched", why: "Rows show the price, the change of 24 hours and the line of the day.",
        action: "Add a market", onAction: () => this.#add(),
      })));
    }
    elements.forEach((element, place) => { if (list.children[place] !== element) list.insertBefore(element, list.children[place] ?? null); });
    while (list.children.length > elements.length) list.lastChild.remove();
    this.mark();
    onSecond(this.#summarise);
  }

  #row(symbol) {
    return new Row(this.client, symbol, {
      removed: () => this.#order(this.symbols.filter((each) => each !== symbol)), moved: (by) => this.#move(symbol, by),
      dragged: (event) => this.#drag(symbol, event), changed: () => onSecond(this.#summarise),
    });
  }

  #order(symbols) {
    this.symbols = symbols;
    stored.write("watchlist", symbols);
    this.#show();
  }

  #move(symbol, by) {
    const symbols = [...this.symbols], place = symbols.indexOf(symbol), target = place + by;
    if (target < 0 || target >= symbols.length) return;
    symbols.splice(target, 0, ...symbols.splice(place, 1));
    const focused = document.activeElement;
    this.#order(symbols);
    // A moved row loses the focus, and so does a disabled button.
    (focused.disabled ? this.#rows.get(symbol).grip : focused).focus();
    this.#say(symbol);
  }

  #say(symbol) {
    setText(document.getElementById("speech"), `${symbolParts(symbol).market} is ${this.symbols.indexOf(symbol) + 1} of ${this.symbols.length}`);
  }

  /** The dragged row keeps its place in the document, and so its pointer: the others move around it. */
  #drag(symbol, { currentTarget: grip, pointerId }) {
    const { element } = this.#rows.get(symbol), end = new AbortController(), { signal } = end;
    const middle = (each) => { const { top, height } = each.getBoundingClientRect(); return top + height / 2; };
    grip.setPointerCapture(pointerId);
    element.classList.add("is-dragged");
    grip.addEventListener("pointermove", ({ clientY }) => {
      for (let each; (each = element.previousElementSibling) && clientY < middle(each);) element.after(each);
      for (let each; (each = element.nextElementSibling) && clientY > middle(each);) element.before(each);
    }, { signal });
    grip.addEventListener("lostpointercapture", () => {
      end.abort();
      element.classList.remove("is-dragged");
      if (!element.isConnected) return;
      const places = new Map([...this.list.children].map((each, place) => [each, place]));
      const place = (each) => places.get(this.#rows.get(each)?.element) ?? places.size;
      this.#order([...this.symbols].sort((a, b) => place(a) - place(b)));
      this.#say(symbol);
    }, { signal });
  }

  mark() { for (const row of this.#rows.values()) row.mark(); }

  #summarise = () => {
    const rows = [...this.#rows.values()].filter(({ change }) => change !== undefined).sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
    const [up, down] = [1, -1].map((sign) => rows.filter(({ change }) => Math.sign(change) === sign).length);
    [up, down, rows.length > 0 ? symbolParts(rows[0].symbol).market : "–"].forEach((text, place) => setText(this.figures[place], String(text)));
  };
}

class Row {
  change = undefined;
  #subscriptions = [];
  #price;

  constructor(client, symbol, { removed, moved, dragged, changed }) {
    this.client = client;
    this.symbol = symbol;
    const { venue, market, base, quote } = symbolParts(symbol);
    this.venue = venue;
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
      el("a.row-name", { href: marketPage(symbol) }, el("strong", market), el("span.caption", venue), whyPlace()),
      line.element, el("div.row-price", ticker.element, chip.element),
      el("div.row-tools",
        this.grip, this.up, this.down,
        iconButton(SPEAKER, `Say the price of ${base}`, () => this.#say(base, quote)), iconButton(CROSS, `Remove ${market}`, removed)));
    const changeShown = (percent) => {
      if (percent === undefined) return;
      this.change = percent;
      chip.show(percent);
      changed();
    };
    this.#subscriptions = [
      client.subscribe({ channel: "pulse", symbol }, (pulse, info) => {
        if (info.type === "failed") this.failure = said(info.error);
        if (pulse === undefined) return this.mark();
        if (this.failure) this.mark(this.failure = undefined);
        this.#price = pulse.price;
        ticker.show(pulse.price, info.type === "update");
        changeShown(pulse.change_pct_24h);
      }),
      client.subscribe({ channel: "ticker", symbol, intervalMilliseconds: 1_000 }, (figures) => {
        if (figures === undefined) return;
        if (this.#price === undefined && figures.last !== undefined) ticker.show(figures.last);
        changeShown(figures.change_pct_24h);
      }),
      client.subscribe({ channel: "sparkline", symbol, points: 96 }, (value) => { if (value) line.show(value); }),
    ];
  }

  mark() { showDead(this.element, this.failure ?? whyDead(this.client, this.venue)); }

  end() { for (const subscription of this.#subscriptions) subscription.cancel(); }

  #say(base, quote) {
    const text = this.#price === undefined ? `${base} has no price yet` : `${base} price: ${spokenPrice(this.#price, quote)}`;
    document.getElementById("speech").textContent = text;
    if ("speechSynthesis" in window) speechSynthesis.speak(new SpeechSynthesisUtterance(text));
    this.element.title = `${text} (${priceText(this.#price, quote)})`;
  }
}
