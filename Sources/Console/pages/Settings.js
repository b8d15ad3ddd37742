import { askForToken } from "../components/SignInSheet.js";
import { choice, field } from "../components/Sheet.js";
import { toast } from "../components/Toast.js";
import { button, el, stored } from "../dom.js";
import { applyTheme } from "../theme.js";

/** The theme, the token, and the browser storage. */
export default class Settings {
  constructor(session) {
    const theme = choice("theme", [["system", "As the system"], ["dark", "Dark"], ["light", "Light"]], () => {
      stored.write("theme", theme.value);
      applyTheme();
    });
    theme.value = stored.read("theme", "system");
    const signIn = button("Sign in", () => askForToken(session));
    const signOut = button("Forget the token", () => { session.signIn(); signOut.hidden = true; toast("The token is forgotten.", "success"); });
    signOut.hidden = !session.hasToken;
    const reset = button("Begin the watchlist anew", () => { stored.write("watchlist", null); toast("The watchlist begins anew.", "success"); });
    this.element = el(
      "section.stack", el("div.page-head", el("h1", "Settings")),
      el("div.card", field("Theme", theme)),
      el("div.card", el("h2", "More"), el("div.links",
        el("a.button", { href: "#/status" }, "State of the feeds"), el("a.button", { href: "#/widgets" }, "Widgets"))),
      el("div.card", el("h2", "Access"), el("p.muted", session.hasToken ? "The page sends its token with every request." : "The page sends no token."),
        el("div.dialog-foot", signOut, signIn)),
      el("div.card", el("h2", "This browser"), el("p.muted", "Only this browser stores your watchlist, your theme, and holdings that the gateway does not keep."), el("div.dialog-foot", reset)));
  }

  enter() {}
  leave() {}
}
