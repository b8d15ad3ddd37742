import { forgetTokens, stored } from "./dom.js";

/** Puts the chosen theme in force. */
export function applyTheme() {
  const theme = stored.read("theme", "system");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  forgetTokens();
}
