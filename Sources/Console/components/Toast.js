import { el } from "../dom.js";

/** Of each kind: its time, ms, its mark and its colour. */
const KINDS = { info: [3_000, "i", "state-scheduled"], success: [3_000, "✓", "risk-normal"], error: [5_000, "!", "critical"] };
/** Waiting messages; beyond it the oldest is dropped. */
const LIMIT = 5;
const waiting = [];
let shown = null;

/** A short message that disappears by itself or when clicked; one at a time. */
export function toast(message, kind = "info") {
  if (shown?.message === message || waiting.some((each) => each.message === message)) return;
  waiting.push({ message, kind });
  if (waiting.length > LIMIT) waiting.shift();
  if (shown === null) next();
}

function next() {
  shown = waiting.shift() ?? null;
  if (shown === null) return;
  const { message, kind } = shown, [time, mark, colour] = KINDS[kind];
  const element = el("p.toast", el("span.toast-mark", { "aria-hidden": "true" }, mark), message);
  element.style.setProperty("--kind", `var(--${colour})`);
  document.getElementById("toasts").replaceChildren(element);
  const end = () => {
    clearTimeout(timer);
    element.remove();
    next();
  };
  const timer = setTimeout(end, time);
  element.addEventListener("click", end, { once: true });
}
