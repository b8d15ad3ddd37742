/** The operators' page: draws the changes of one document a second. */
import { el, setText } from "../dom.js";
import { applyTheme } from "../theme.js";
import { Overview } from "./Overview.js";
import { signIn } from "./SignIn.js";
import { StateStream } from "./StateStream.js";

const TOKEN = "tidegate.operator";
const WORDS = { connected: "Live", reconnecting: "No connection, trying again", refused: "Not signed in", connecting: "Connecting" };

applyTheme();
const main = document.getElementById("main");
const leave = document.getElementById("leave");
const dot = el("span.dot", { "aria-hidden": "true" });
const words = el("span");
document.getElementById("indicator").append(dot, words);
let stream, overview;

function indicate(state, reason = "") {
  dot.dataset.state = state === "connected" ? "connected" : state === "refused" ? "disconnected" : "reconnecting";
  setText(words, WORDS[state]);
  words.title = reason;
  main.classList.toggle("is-dead", state !== "connected" && overview !== undefined);
}

function ask(reason) {
  stream?.end();
  [stream, overview] = [undefined, undefined];
  leave.hidden = true;
  indicate("refused", reason);
  main.replaceChildren(signIn(reason, (token, isKept) => {
    try {
      if (isKept) sessionStorage.setItem(TOKEN, token);
      else sessionStorage.removeItem(TOKEN);
    } catch { /* kept in memory then */ }
    look(token);
  }));
}

function look(token) {
  stream?.end();
  indicate("connecting");
  stream = new StateStream(token, (state) => {
    if (overview === undefined) {
      overview = new Overview();
      main.replaceChildren(overview.element);
      leave.hidden = false;
    }
    overview.show(state);
  }, (state, reason, status) => {
    if (state !== "refused") return indicate(state, reason);
    forget();
    ask(status === 401 && reason === undefined ? "" : reason);
  });
}

function forget() {
  try { sessionStorage.removeItem(TOKEN); } catch { /* was in memory */ }
}

leave.addEventListener("click", () => { forget(); ask(""); });
let kept;
// A demo's link brings its token behind the #, which no request contains. It leaves the address line at once.
const brought = new URLSearchParams(location.hash.slice(1)).get("token");
if (brought) {
  history.replaceState(null, "", location.pathname + location.search);
  try { sessionStorage.setItem(TOKEN, brought); } catch { kept = brought; }
}
try { kept = sessionStorage.getItem(TOKEN) ?? kept; } catch { /* private windows */ }
if (kept === undefined) ask(""); else look(kept);
