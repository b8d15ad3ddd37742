import { segments } from "../components/Segments.js";
import { field, marketField } from "../components/Sheet.js";
import { toast } from "../components/Toast.js";
import { button, el, setText, stored } from "../dom.js";

/** The pictures: three sizes of a price card, and two of a line, in points. */
const PICTURES = [
  ["small card", 155, 155, "cards/price", "size=small"], ["medium card", 329, 155, "cards/price", "size=medium"], ["large card", 329, 345, "cards/price", "size=large"],
  ["line", 297, 40, "sparklines", "width=297&height=40"], ["tall line", 297, 60, "sparklines", "width=297&height=60"],
];
const RANGES = ["1h", "24h", "7d", "30d", "90d", "1y", "all"];
/** How often the pictures are requested, ms; without a change that costs a 304. */
const REFRESH = 5_000;

/** Price cards and lines drawn by the gateway, with addresses to copy. */
export default class Widgets {
  #session;
  #timer;
  #range = "24h";
  #turn = 0;

  constructor(session) {
    this.#session = session;
    const watched = stored.read("watchlist", null);
    const [market, markets] = marketField(session, "widget-market", Array.isArray(watched) && typeof watched[0] === "string" ? watched[0] : "");
    this.market = market;
    market.addEventListener("change", () => this.#show());
    this.note = el("p.notice", { role: "status" });
    this.pictures = PICTURES.map(([name, width, height, kind, size]) => {
      const image = el("img", { width, height, alt: name }), address = el("code.address");
      const copy = button("Copy the address", () => this.#copy(address.textContent), "plain", { "aria-label": `Copy the address of the ${name}` });
      const element = el("figure.card.widget", image, el("figcaption",
        el("strong", `${name[0].toUpperCase()}${name.slice(1)} `, el("span.caption", `${width} × ${height}`)), address, copy));
      return { name, kind, size, image, address, element };
    });
    this.element = el(
      "section", el("div.page-head", el("h1", "Widgets")),
      el("div.card", field("Market", market), markets, segments("Range", RANGES, this.#range, (range) => { this.#range = range; this.#show(); }), this.note),
      el("div.widgets", ...this.pictures.map(({ element }) => element)));
  }

  async enter() {
    if (this.market.value === "") {
      const found = await this.#session.instruments("").catch(() => []);
      this.market.value = found.find(({ symbol }) => /:ZEC-USD$/.test(symbol))?.symbol ?? found[0]?.symbol ?? "";
    }
    if (this.#turn < 0) return;
    this.#show();
  }

  leave() {
    this.#turn = -1;
    clearTimeout(this.#timer);
    for (const { image } of this.pictures) URL.revokeObjectURL(image.src);
  }

  async #show() {
    const symbol = this.market.value.trim(), turn = (this.#turn += 1);
    clearTimeout(this.#timer);
    if (symbol === "") return;
    let problem = "";
    for (const { name, kind, size, image, address } of this.pictures) {
      const path = `/v1/${kind}/${encodeURIComponent(symbol)}.svg?${size}&range=${this.#range}`;
      setText(address, location.origin + path);
      const picture = problem ? undefined : await this.#session.picture(path).catch(({ message }) => { problem = message; });
      // Another market, range or page has been chosen meanwhile.
      if (turn !== this.#turn) return;
      URL.revokeObjectURL(image.src);
      // Another market's picture must not remain.
      if (picture === undefined) image.removeAttribute("src");
      else image.src = URL.createObjectURL(picture.blob);
      image.alt = picture?.words || `${name} of ${symbol}`;
    }
    setText(this.note, problem);
    this.#timer = setTimeout(() => this.#show(), REFRESH);
  }

  async #copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      toast("The address is copied.", "success");
    } catch {
      toast("This browser does not let the page copy. Select the address and copy it.", "error");
    }
  }
}
