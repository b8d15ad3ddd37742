import { el } from "../dom.js";
import { field, foot, openSheet, tick } from "./Sheet.js";

/** Asks for a token. It is kept in memory, or in this tab's session storage where its owner chooses so; never elsewhere. */
export function askForToken(session, reason) {
  if (document.querySelector("dialog[open]")) return;
  const input = el("input", { type: "password", id: "token", autocomplete: "off", required: true });
  openSheet("Sign in", el(
    "form", { method: "dialog", onsubmit: ({ target }) => session.signIn(input.value.trim(), target.keep.checked) },
    el("h2", "This gateway asks who you are"),
    el("p.muted", reason ? `It said: ${reason}. ` : "", "Prices are shown once you give an API key or a token."),
    field("Key or token", input), tick("keep", "Keep it until this tab is closed"), foot("Not now", "Sign in")));
}
