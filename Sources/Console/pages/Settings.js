import { askForToken } from "../components/SignInSheet.js";
import { toast } from "../components/Toast.js";
import { button, el, stored } from "../dom.js";
import { applyTheme } from "../theme.js";

/** The theme, the token, and what is kept in this browser. */
export class Settings {
  constructor(session) {
    const theme = el("select", { id: "theme", onchange: () => { stored.write("theme", theme.value); applyTheme(); } },
      ...[["system", "As the system"], ["dark", "Dark"], ["light", "Light"]].map(([value, name]) => el("option", { value }, name)));
    theme.value = stored.read("theme", "system");
    const signIn = button("Sign in", () => askForToken((token, keep) => session.signIn(token, keep)));
    const signOut = button("Forget the token", () => { session.signOut(); toast("The token is forgotten.", "success"); });
    const reset = el("button", {
      class: "button", type: "button", onclick: () => { stored.write("watchlist", null); toast("The watchlist begins anew.", "success"); },
    }, "Begin the watchlist anew");
    this.element = el(
      "section", { class: "stack" }, el("div", { class: "page-head" }, el("h1", {}, "Settings")),
      el("div", { class: "card" }, el("div", { class: "field" }, el("label", { for: "theme" }, "Theme"), theme)),
      el("div", { class: "card" }, el("h2", {}, "More"), el("div", { class: "links" },
        el("a", { class: "button", href: "#/status" }, "State of the feeds"), el("a", { class: "button", href: "#/widgets" }, "Widgets"))),
      el("div", { class: "card" }, el("h2", {}, "Access"), el("p", { class: "muted" }, session.hasToken ? "A token is given with every request." : "No token is given."),
        el("div", { class: "dialog-foot" }, signOut, signIn)),
      el("div", { class: "card" }, el("h2", {}, "This browser"), el("p", { class: "muted" }, "Your watchlist, portfolio and theme are kept here alone."), el("div", { class: "dialog-foot" }, reset)));
  }

  enter() {}
  leave() {}
}
