import { el } from "../dom.js";
import { marketPage, moment, textOf } from "../format.js";

/** Posts of a topic, newest first, each with the market that it names. */
export class PostList {
  element = el("ul.posts", { "aria-label": "Posts", "aria-live": "polite" });
  #first;

  show(documents) {
    const newest = documents.at(-1)?.number;
    if (newest === this.#first && this.element.childElementCount > 0) return;
    this.#first = newest;
    this.element.replaceChildren(...[...documents].reverse().map(({ document, time }) => {
      const author = textOf(document, "author", 60) ?? "anonymous", symbol = textOf(document, "symbol", 80);
      return el(
        "li.card.post", el("span.avatar", { "aria-hidden": "true" }, author.slice(0, 1).toUpperCase()),
        el("div.post-words",
          el("div.post-head", el("strong", author), el("time.caption", time ? moment(time, 60e6, true) : "")),
          el("p", textOf(document, "text", 2_000) ?? ""),
          symbol && /^[a-z0-9_]+:[^\s/]+$/.test(symbol) ? el("a", { href: marketPage(symbol) }, symbol) : null));
    }));
  }
}
