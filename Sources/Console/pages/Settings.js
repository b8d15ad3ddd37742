import { askForToken } from "../components/SignInSheet.js";
import { choice, field } from "../components/Sheet.js";
import { toast } from "../components/Toast.js";
import { button, el, setText, stored } from "../dom.js";
import { trafficText } from "../format.js";
import { applyTheme } from "../theme.js";

/** How often the cost of the connection is shown anew, ms. */
const TRAFFIC_INTERVAL = 2_000;

/** The theme, the token, the browser storage, and what the connection costs. */
export default class Settings {
  constructor(session) {
    this.session = session;
    const theme = choice("theme", [["system", "As the system"], ["dark", "Dark"], ["light", "Light"]], () => {
      stored.write("theme", theme.value);
      applyTheme();
    });
    theme.value = stored.read("theme", "system");
    this.access = el("p.muted");
    this.traffic = el("p.muted");
    this.signIn = button("Sign in", () => askForToken(session));
    this.signOut = button("Forget the token", () => { session.signIn(); toast("The token is forgotten.", "success"); });
    const reset = button("Reset the watchlist", () => { stored.write("watchlist", null); toast("The watchlist is as at first.", "success"); });
    this.element = el(
      "section.stack", el("div.page-head", el("h1", "Settings")),
      el("div.card", field("Theme", theme)),
      el("div.card", el("h2", "More"), el("div.links",
        el("a.button", { href: "#/status" }, "State of the feeds"), el("a.button", { href: "#/widgets" }, "Widgets"))),
      el("div.card", el("h2", "Access"), this.access, el("div.dialog-foot", this.signOut, this.signIn)),
      el("div.card", el("h2", "Data"), this.traffic),
      el("div.card", el("h2", "This browser"), el("p.muted", "Only this browser stores your watchlist, your theme, and holdings that the gateway does not keep."), el("div.dialog-foot", reset)));
  }

  enter() {
    this.stop = this.session.onClient(() => this.mark());
    this.timer = setInterval(() => this.markTraffic(), TRAFFIC_INTERVAL);
  }
  leave() {
    this.stop();
    clearInterval(this.timer);
  }

  markTraffic() { setText(this.traffic, trafficText(this.session.client?.traffic)); }

  mark() {
    this.markTraffic();
    const { hasToken } = this.session;
    setText(this.access, hasToken ? "The page sends its token with every request." : "The page has no token, and sends none.");
    setText(this.signIn, hasToken ? "Use another token" : "Sign in");
    this.signOut.hidden = !hasToken;
  }
}
