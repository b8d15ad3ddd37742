import { el } from "../dom.js";

/** An asset's letter on a colour of its own, as no gateway serves logos. */
export function coinIcon(code) {
  const icon = el("span.coin", { "aria-hidden": "true" }, code.slice(0, 1).toUpperCase());
  let hue = 0;
  for (const letter of code) hue = (hue * 31 + letter.charCodeAt(0)) % 360;
  // Codes that differ little get hues that differ much.
  icon.style.setProperty("--hue", (hue * 137) % 360);
  return icon;
}
