import { el } from "../dom.js";

/** Asks for the operators' token. It is kept in memory, or in this tab's session storage if its owner chooses that. */
export function signIn(reason, signedIn) {
  const input = el("input", { type: "password", id: "token", autocomplete: "off", required: true });
  const keep = el("input", { type: "checkbox", id: "keep" });
  return el(
    "form.card.sign-in", { onsubmit: (event) => { event.preventDefault(); signedIn(input.value.trim(), keep.checked); } },
    el("h1", "Operators only"),
    reason ? el("p.notice", { role: "alert" }, `The gateway said: ${reason}.`) : null,
    el("p.muted", "This page shows who is connected and what the log says. It asks for the token in the file of admin.token-file."),
    el("div.field", el("label", { for: "token" }, "Token"), input),
    el("label.choice", keep, "Keep it until this tab is closed"),
    el("button.button.button-primary", { type: "submit" }, "Show the state"));
}
