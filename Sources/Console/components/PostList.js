import { el } from "../dom.js";
import { moment } from "../format.js";
import { textOf } from "../topics.js";

/** Posts of a topic, newest first. A post may name a market, which its reader can open. */
export class PostList {
  element = el("ul", { class: "posts", "aria-label": "Posts", "aria-live": "polite" });
  #first;

  show(documents) {
    const newest = documents.at(-1)?.number;
    if (newest === this.#first && this.element.childElementCount > 0) return;
    this.#first = newest;
    this.element.replaceChildren(...[...documents].reverse().map(({ document, time }) => {
      const author = textOf(document, "author", 60) ?? "anonymous", symbol = textOf(document, "symbol", 80);
      return el(
        "li", { class: "card post" }, el("span", { class: "avatar", "aria-hidden": "true" }, author.slice(0, 1).toUpperCase()),
        el("div", { class: "post-words" },
          el("div", { class: "post-head" }, el("strong", {}, author), el("time", { class: "caption" }, time ? moment(time, 60e6, true) : "")),
          el("p", {}, textOf(document, "text", 2_000) ?? ""),
          symbol && /^[a-z0-9_]+:[^\s/]+$/.test(symbol) ? el("a", { href: `#/market/${encodeURIComponent(symbol)}` }, symbol) : null));
    }));
  }
}
