import { button, el, setText } from "../dom.js";
import { said } from "../format.js";

/** A dialog over the page; closing removes it from the document. */
export function openSheet(label, ...content) {
  const sheet = el("dialog", { "aria-label": label }, ...content);
  document.body.append(sheet);
  sheet.addEventListener("close", () => sheet.remove(), { once: true });
  sheet.showModal();
  return sheet;
}

/** A dialog with a form. `submit` does its work, or throws a text. */
export function openForm(title, [main, kind], submit, ...content) {
  const problem = el("p.notice", { role: "alert" });
  const onsubmit = async (event) => {
    event.preventDefault();
    try {
      await submit(event.target);
      sheet.close();
    } catch (error) {
      setText(problem, said(error));
    }
  };
  const sheet = openSheet(title, el("form", { onsubmit }, el("h2", title), ...content, problem, foot("Not now", main, kind)));
}

/** The buttons of a sheet: one closes it, one does its work. @param main a button, or the text of one that submits. */
export function foot(close, main, kind = "primary") {
  return el(
    "div.dialog-foot", button(close, (event) => event.currentTarget.closest("dialog").close()),
    typeof main === "string" ? button(main, undefined, kind, { type: "submit" }) : main);
}

/** A control with an id, below its label. */
export function field(label, control) { return el("div.field", el("label", { for: control.id }, label), control); }

/** A choice of one of `[value, name]`. */
export function choice(id, options, onchange) {
  return el("select", { id, onchange }, ...options.map(([value, name]) => el("option", { value }, name)));
}

/** A field for a decimal. */
export function numberInput(id, value = "") {
  return el("input", { id, value, inputMode: "decimal", autocomplete: "off", pattern: "-?[0-9]{1,18}([.][0-9]{1,12})?" });
}

/** A box to tick. */
export function tick(id, label, properties) { return el("label.choice", el("input", { type: "checkbox", id, ...properties }), label); }

/** A text field that suggests the gateway's markets: the input and its list. */
export function marketField(session, id, value = "") {
  const markets = el("datalist", { id: `${id}-markets` });
  const input = el("input", { id, value, required: true, autocomplete: "off", spellcheck: false, placeholder: "kraken:BTC-USD", pattern: "[a-z0-9_]+:[A-Za-z0-9._\\-]+" });
  input.setAttribute("list", markets.id);
  session.instruments("").then((found) => markets.replaceChildren(...found.slice(0, 2_000).map(({ symbol }) => el("option", { value: symbol }))), () => {});
  return [input, markets];
}
