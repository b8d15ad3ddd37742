import { button, el } from "../dom.js";

/** An empty page's text: what is missing, why, and what to do. */
export function emptyState({ title, why, action, onAction }) {
  return el(
    "div.empty.card", el("h2", title), why ? el("p.muted", why) : null,
    action ? button(action, onAction, "primary") : null);
}
