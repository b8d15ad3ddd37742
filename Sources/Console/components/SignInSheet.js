import { el } from "../dom.js";
import { field, openForm, tick } from "./Sheet.js";

/** Asks for a token, kept in memory, or in this tab's session storage if its owner chooses that. */
export function askForToken(session, reason) {
  if (document.querySelector("dialog[open]")) return;
  const input = el("input", { type: "password", id: "token", autocomplete: "off", required: true });
  openForm(
    "This gateway requires a key", ["Sign in"], ({ keep }) => session.signIn(input.value.trim(), keep.checked),
    el("p.muted", reason ? `Its answer: ${reason}. ` : "", "To see prices, enter an API key or a token."),
    field("Key or token", input), tick("keep", "Keep it until this tab is closed"));
}
