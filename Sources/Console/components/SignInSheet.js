import { el } from "../dom.js";

/** Asks for a token. It is kept in memory, or in this tab's session storage where its owner chooses so; never elsewhere. */
export class SignInSheet {
  constructor(signedIn, reason) {
    const input = el("input", { type: "password", id: "token", autocomplete: "off", required: true });
    const keep = el("input", { type: "checkbox", id: "keep" });
    this.element = el(
      "dialog", { "aria-label": "Sign in" },
      el("form", {
        method: "dialog", onsubmit: () => signedIn(input.value.trim(), keep.checked),
      },
      el("h2", {}, "This gateway asks who you are"),
      el("p", { class: "muted" }, reason ? `It said: ${reason}. ` : "", "Prices are shown once you give an API key or a token."),
      el("div", { class: "field" }, el("label", { for: "token" }, "Key or token"), input),
      el("label", { class: "choice" }, keep, "Keep it until this tab is closed"),
      el("div", { class: "dialog-foot" },
        el("button", { class: "button", type: "button", onclick: () => this.element.close() }, "Not now"),
        el("button", { class: "button button-primary", type: "submit" }, "Sign in"))));
  }

  open() {
    if (document.querySelector("dialog[open]")) return;
    document.body.append(this.element);
    this.element.addEventListener("close", () => this.element.remove(), { once: true });
    this.element.showModal();
  }
}
