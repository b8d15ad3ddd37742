import { el } from "../dom.js";

/** How long one is shown, ms: errors longer, so that they can be read. */
const SHOWN = { info: 3_000, success: 3_000, error: 5_000 };
/** Messages that wait for their turn; beyond it the oldest waiting goes. */
const LIMIT = 5;
const MARKS = { info: "i", success: "✓", error: "!" };
const COLOURS = { info: "state-scheduled", success: "risk-normal", error: "critical" };
const waiting = [];
let shown = null;

/** A short message that goes by itself, or when it is clicked. One stands at a time; equal ones are one. */
export function toast(message, kind = "info") {
  if (shown?.message === message || waiting.some((each) => each.message === message)) return;
  waiting.push({ message, kind });
  if (waiting.length > LIMIT) waiting.shift();
  if (shown === null) next();
}

function next() {
  shown = waiting.shift() ?? null;
  if (shown === null) return;
  const { message, kind } = shown;
  const element = el("p.toast", el("span.toast-mark", { "aria-hidden": "true" }, MARKS[kind]), message);
  element.style.setProperty("--kind", `var(--${COLOURS[kind]})`);
  document.getElementById("toasts").replaceChildren(element);
  const end = () => {
    clearTimeout(timer);
    element.remove();
    next();
  };
  const timer = setTimeout(end, SHOWN[kind]);
  element.addEventListener("click", end, { once: true });
}
