import { el } from "../dom.js";

/** How long one is shown, ms: errors longer, so that they can be read. */
const SHOWN = { info: 3_000, success: 3_000, error: 5_000 };

/** A short message that goes by itself. At most three stand at a time. */
export function toast(message, kind = "info") {
  const place = document.getElementById("toasts");
  const shown = el("p", { class: "toast" }, message);
  shown.dataset.kind = kind;
  place.append(shown);
  while (place.childElementCount > 3) place.firstElementChild.remove();
  setTimeout(() => shown.remove(), SHOWN[kind]);
}
