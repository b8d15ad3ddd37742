import { el } from "../dom.js";

/** A row of buttons of which one is pressed. */
export function segments(label, names, chosen, onChosen) {
  const group = el("div.segments", { role: "group", "aria-label": label }, ...names.map((name) => el(
    "button", {
      type: "button", "aria-pressed": String(name === chosen), onclick: (event) => {
        for (const each of group.children) each.ariaPressed = String(each === event.currentTarget);
        onChosen(name);
      },
    }, name)));
  return group;
}
