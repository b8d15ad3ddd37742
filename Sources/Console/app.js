/** The console: pages by the address after `#`, and the frame around them. */
import { emptyState } from "./components/EmptyState.js";
import { Ringer } from "./components/Ringer.js";
import { askForToken } from "./components/SignInSheet.js";
import { StatusIndicator } from "./components/StatusIndicator.js";
import { toast } from "./components/Toast.js";
import { el, icon } from "./dom.js";
import { said } from "./format.js";
import { Session } from "./session.js";
import { applyTheme } from "./theme.js";

const TABS = [
  ["watchlist", "Watchlist", "M4 18l5-6 4 3 7-9"],
  ["portfolio", "Portfolio", "M4 8h16v11H4zM9 8V5h6v3M4 13h16"],
  ["alerts", "Alerts", "M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 20a2 2 0 0 0 4 0"],
  ["board", "Board", "M4 5h16v11H9l-5 4z"],
  ["time", "Time", "M12 4a8 8 0 1 0 8 8M12 8v4l3 2M20 4v5h-5", "wide-only"],
  ["widgets", "Widgets", "M4 4h7v7H4zM13 4h7v7h-7zM4 13h16v7H4z", "wide-only"],
  ["status", "Status", "M3 12h4l3-7 4 14 3-7h4", "wide-only"],
  ["settings", "Settings", "M4 7h10M18 7h2M4 17h2M10 17h10M14 5v4M8 15v4"],
];

applyTheme();
const session = new Session();
document.querySelector(".header").after(new Ringer(session.alerts).element);
const main = document.getElementById("main");
const tabs = document.querySelector(".tabs");
const indicator = new StatusIndicator(document.getElementById("indicator"));
const simulated = document.getElementById("simulated");
let page = null;

for (const [name, title, path, className = ""] of TABS) tabs.append(el(`a.tab.${className}`, { href: `#/${name}` }, icon(path), title));

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
      toast("The connection is lost. Prices do not change until this page has reconnected.", "error");
    }
    if (state === "connected" && wasLost) {
      wasLost = false;
      toast("Connected again.", "success");
    }
    if (state === "disconnected" && /\(400[13]\)|with 400[13]/.test(detail.reason ?? "")) askForToken(session, detail.reason);
  });
  client.on("error", (error) => {
    if (error.code === "unauthorized") askForToken(session, error.message);
    else toast(said(error), "error");
  });
});

let turn = 0;

async function open() {
  const mine = (turn += 1);
  const [, asked = "", parameter = ""] = location.hash.split("/");
  const name = asked === "market" || TABS.some(([each]) => each === asked) ? asked : "watchlist";
  page?.leave();
  page = null;
  const here = `#/${name === "market" ? "watchlist" : name}`;
  for (const tab of tabs.children) tab.ariaCurrent = tab.getAttribute("href") === here ? "page" : null;
  try {
    // Each page is loaded when it is first opened, so none waits for others.
    const { default: Made } = await import(`./pages/${name[0].toUpperCase()}${name.slice(1)}.js`);
    if (mine !== turn) return;
    page = new Made(session, decodeURIComponent(parameter));
    main.replaceChildren(page.element);
    await page.enter();
  } catch (error) {
    if (mine !== turn) return;
    main.replaceChildren(emptyState({
      title: "This page does not open", why: `The reason: ${error.message}. Try again, or open another page.`, action: "Try again", onAction: open,
    }));
  }
}

window.addEventListener("hashchange", () => { open(); main.focus({ preventScroll: true }); window.scrollTo(0, 0); });
open();
