import { emptyState } from "../components/EmptyState.js";
import { segments } from "../components/Segments.js";
import { field, marketField } from "../components/Sheet.js";
import { toast } from "../components/Toast.js";
import { el, setText, stored } from "../dom.js";

/** The three sizes of a price card, in points. */
const SIZES = [["small", 155, 155], ["medium", 329, 155], ["large", 329, 345]];
const RANGES = ["1h", "24h", "7d", "30d", "1y"];
/** How often the pictures are asked for, ms: that costs a 304 while nothing has changed. */
const REFRESH = 5_000;

/** Price cards as the gateway draws them, and their addresses to copy. */
export class Widgets {
  #session;
  #timer;
  #range = "24h";
  #isOver = false;

  constructor(session) {
    this.#session = session;
    const watched = stored.read("watchlist", null);
    const [market, markets] = marketField(session, "widget-market", Array.isArray(watched) && typeof watched[0] === "string" ? watched[0] : "");
    this.market = market;
    market.addEventListener("change", () => this.#show());
    this.note = el("p", { class: "notice", role: "status" });
    this.cards = SIZES.map(([size, width, height]) => {
      const image = el("img", { width, height, alt: `${size} card` }), address = el("code", { class: "address" });
      const copy = el("button", { class: "button", type: "button", "aria-label": `Copy the address of the ${size} card`, onclick: () => this.#copy(address.textContent) }, "Copy the address");
      return { size, image, address, element: el("figure", { class: "card widget" }, image, el("figcaption", {}, el("strong", {}, size), address, copy)) };
    });
    this.gallery = el("div", { class: "widgets" }, ...this.cards.map(({ element }) => element));
    this.absent = emptyState({ title: "This gateway draws no cards", why: "Cards are pictures of a price that a page or a widget can show. Run a gateway that serves /v1/cards." });
    this.absent.hidden = true;
    this.element = el(
      "section", {}, el("div", { class: "page-head" }, el("h1", {}, "Widgets")),
      el("div", { class: "card" }, field("Market", market), markets, segments("Range", RANGES, this.#range, (range) => { this.#range = range; this.#show(); }), this.note),
      this.absent, this.gallery);
  }

  async enter() {
    if (this.market.value === "") {
      const found = await this.#session.instruments("").catch(() => []);
      this.market.value = found.find(({ symbol }) => /:ZEC-USD/.test(symbol))?.symbol ?? found[0]?.symbol ?? "";
    }
    if (this.#isOver) return;
    this.#show();
    this.#timer = setInterval(() => this.#show(), REFRESH);
  }

  leave() {
    this.#isOver = true;
    clearInterval(this.#timer);
    for (const { image } of this.cards) if (image.src) URL.revokeObjectURL(image.src);
  }

  async #show() {
    const symbol = this.market.value.trim();
    if (symbol === "") return;
    for (const { size, image, address } of this.cards) {
      const path = `/v1/cards/price/${encodeURIComponent(symbol)}.svg?size=${size}&range=${this.#range}`;
      setText(address, location.origin + path);
      try {
        const picture = await this.#session.picture(path);
        if (this.#isOver) return;
        const old = image.src;
        image.src = URL.createObjectURL(picture.blob);
        image.alt = picture.words || `${size} card of ${symbol}`;
        if (old) URL.revokeObjectURL(old);
        this.gallery.hidden = false;
        this.absent.hidden = true;
        setText(this.note, "");
      } catch (error) {
        if (this.#isOver) return;
        this.absent.hidden = error.code !== "not_found";
        this.gallery.hidden = error.code === "not_found";
        return setText(this.note, error.code === "not_found" ? "" : error.message);
      }
    }
  }

  async #copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      toast("The address is copied.", "success");
    } catch {
      toast("The browser does not let this page copy. Select the address and copy it yourself.", "error");
    }
  }
}
