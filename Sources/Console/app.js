/** The console: pages by the address after `#`, and the frame around them. */
import { SignInSheet } from "./components/SignInSheet.js";
import { StatusIndicator } from "./components/StatusIndicator.js";
import { toast } from "./components/Toast.js";
import { el, icon } from "./dom.js";
import { Market } from "./pages/Market.js";
import { applyTheme, Settings } from "./pages/Settings.js";
import { Status } from "./pages/Status.js";
import { Watchlist } from "./pages/Watchlist.js";
import { Session } from "./session.js";

const TABS = [
  ["watchlist", "Watchlist", "M4 18l5-6 4 3 7-9"],
  ["status", "Status", "M3 12h4l3-7 4 14 3-7h4"],
  ["settings", "Settings", "M4 7h10M18 7h2M4 17h2M10 17h10M14 5v4M8 15v4"],
];

applyTheme();
const session = new Session();
const main = document.getElementById("main");
const tabs = document.querySelector(".tabs");
const indicator = new StatusIndicator(document.getElementById("indicator"));
const simulated = document.getElementById("simulated");
let page = null;

for (const [name, title, path] of TABS) tabs.append(el("a", { class: "tab", href: `#/${name}` }, icon(path), title));

session.onClient((client) => {
  indicator.show(client.state);
  let wasLost = false;
  client.on("welcome", () => {
    simulated.hidden = !session.isSimulated;
    document.title = session.isSimulated ? "Tidegate (simulated)" : "Tidegate";
  });
  client.on("state", (state, detail) => {
    indicator.show(state, detail);
    if (state === "reconnecting" && !wasLost) {
      wasLost = true;
      toast("The connection is lost. Prices stand still until it is back; it is being tried again.", "error");
    }
    if (state === "connected" && wasLost) {
      wasLost = false;
      toast("Connected again.", "success");
    }
    if (state === "disconnected" && /\(400[13]\)|with 400[13]/.test(detail.reason ?? "")) askWho(detail.reason);
  });
  client.on("error", (error) => {
    if (error.code === "unauthorized") askWho(error.message);
    else toast([error.message, error.hint].filter(Boolean).join(": "), "error");
  });
});

function askWho(reason) {
  new SignInSheet((token, isKept) => session.signIn(token, isKept), reason).open();
}

function open() {
  const [, name = "watchlist", parameter] = location.hash.split("/");
  page?.leave();
  switch (name) {
    case "market": page = new Market(session, safely(() => decodeURIComponent(parameter ?? ""))); break;
    case "status": page = new Status(session); break;
    case "settings": page = new Settings(session); break;
    default: page = new Watchlist(session);
  }
  for (const tab of tabs.children) {
    const isHere = tab.getAttribute("href") === `#/${name || "watchlist"}` || (name === "market" && tab.getAttribute("href") === "#/watchlist");
    if (isHere) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  main.replaceChildren(page.element);
  try {
    Promise.resolve(page.enter()).catch((error) => toast(error.message, "error"));
  } catch (error) {
    toast(error.message, "error");
    location.hash = "#/watchlist";
  }
}

function safely(work) {
  try { return work(); } catch { return ""; }
}

window.addEventListener("hashchange", () => { open(); main.focus({ preventScroll: true }); window.scrollTo(0, 0); });
open();
