import { emptyState } from "../components/EmptyState.js";
import { COLUMNS, MarketRow } from "../components/MarketRow.js";
import { SearchSheet } from "../components/SearchSheet.js";
import { button, el, onSecond, setText, stored } from "../dom.js";
import { percent, symbolParts } from "../format.js";
import { Page } from "./Page.js";

/** Markets shown until some are chosen. */
const FIRST_CHOICE = ["BTC", "ETH", "SOL", "ZEC"];
const LIMIT = 200;

/** The chosen markets, a row each, and their totals. */
export default class Watchlist extends Page {
  #rows = new Map();
  #names = new Map();
  #clock;
  #isLeft = false;

  constructor(session) {
    super(session);
    this.list = el("ul.rows", { "aria-label": "Watched markets" });
    this.summary = el("div.card.summary", { hidden: true });
    this.figures = ["Rising", "Falling", "Biggest move"].map((name) => {
      const figure = el("strong");
      this.summary.append(el("div", el("span.caption", name), figure));
      return figure;
    });
    const head = el("div.row.row-head", { "aria-hidden": "true" }, ...["Market", "24 h", "Price", ...COLUMNS].map((name, place) => el(
      `span.caption.${place > 2 ? "column" : ""}`, name)));
    const edit = button("Edit", () => setText(edit, this.element.classList.toggle("is-editing") ? "Done" : "Edit"), "edit");
    const add = button("Add", () => this.#add(), "primary", { "aria-label": "Add a market" });
    this.element = el("section.watchlist", el("div.page-head", el("h1", "Watchlist"), edit, add), this.summary, head, this.list);
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
    this.#clock = setInterval(() => { for (const row of this.#rows.values()) row.tick(Date.now()); }, 1_000);
    // A new gateway asks its venues for names first.
    for (let attempt = 0; attempt < 30 && this.#names.size === 0 && !this.#isLeft; attempt += 1) {
      if (attempt > 0) await new Promise((resolve) => setTimeout(resolve, 1_000));
      this.#names = await this.session.names();
    }
    for (const row of this.#rows.values()) row.name(this.#names.get(row.base));
  }

  leave() {
    this.#isLeft = true;
    clearInterval(this.#clock);
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
    const row = new MarketRow(this.client, symbol, {
      removed: () => this.#order(this.symbols.filter((each) => each !== symbol)), moved: (by) => this.#move(symbol, by),
      dragged: (event) => this.#drag(symbol, event), changed: () => onSecond(this.#summarise),
    });
    row.name(this.#names.get(row.base));
    return row;
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
    [up, down, rows.length > 0 ? `${symbolParts(rows[0].symbol).market} ${percent(rows[0].change)}` : "–"].forEach((text, place) => setText(this.figures[place], String(text)));
  };
}
