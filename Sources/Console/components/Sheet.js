import { button, el } from "../dom.js";

/** A dialog over the page that goes from the document when it is closed. */
export function openSheet(label, ...content) {
  const sheet = el("dialog", { "aria-label": label }, ...content);
  document.body.append(sheet);
  sheet.addEventListener("close", () => sheet.remove(), { once: true });
  sheet.showModal();
  return sheet;
}

/** The buttons of a sheet: one that closes it, and what it is for. @param main words of a button that submits, or a button. */
export function foot(close, main, kind = "primary") {
  return el(
    "div", { class: "dialog-foot" }, button(close, (event) => event.currentTarget.closest("dialog").close()),
    typeof main === "string" ? el("button", { class: `button button-${kind}`, type: "submit" }, main) : main);
}

/** A field with its label above and its error below. `control` has an id. */
export function field(label, control, hint) {
  return el("div", { class: "field" }, el("label", { for: control.id }, label), control, hint ? el("span", { class: "caption" }, hint) : null);
}

/** A choice of one of `[value, name]`. */
export function choice(id, options, onChange) {
  const select = el("select", { id, onchange: onChange }, ...options.map(([value, name]) => el("option", { value }, name)));
  return select;
}

/** A text field that suggests the gateway's markets. Returns the input and its list, which belong together. */
export function marketField(session, id, value = "") {
  const markets = el("datalist", { id: `${id}-markets` });
  const input = el("input", { id, value, required: true, autocomplete: "off", spellcheck: false, placeholder: "kraken:BTC-USD", pattern: "[a-z0-9_]+:[A-Za-z0-9._\\-]+" });
  input.setAttribute("list", markets.id);
  session.instruments("").then((found) => markets.replaceChildren(...found.slice(0, 2_000).map(({ symbol }) => el("option", { value: symbol }))), () => {});
  return [input, markets];
}
