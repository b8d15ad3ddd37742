import { forgetTokens, stored } from "./dom.js";

/** Applies the chosen theme. */
export function applyTheme() {
  const theme = stored.read("theme", "system");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  forgetTokens();
}
