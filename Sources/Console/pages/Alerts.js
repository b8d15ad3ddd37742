import { AlarmCell } from "../components/AlarmCell.js";
import { emptyState } from "../components/EmptyState.js";
import { choice, field, foot, marketField, numberInput, openForm, openSheet, tick } from "../components/Sheet.js";
import { button, el, setText, stored } from "../dom.js";
import { DAYS, WAYS, described, ruleOf } from "../rules.js";
import { isAmount } from "../valuation.js";

const KINDS = [["price", "Price"], ["change", "Change in percent"], ["alarm", "Alarm at a time"], ["countdown", "Countdown"]];
const FREQUENCIES = [["once", "Once"], ["daily", "Once a day"], ["300", "At most every 5 minutes"], ["3600", "At most every hour"]];
const ORDER = ["alerting", "running", "scheduled", "paused", "disabled"];

/** Price alerts and alarms: a cell each, in one of five states, and a sheet to add one. */
export default class AlertsPage {
  #alerts;
  #undo;
  #cells = new Map();

  constructor(session, symbol) {
    this.session = session;
    this.#alerts = session.alerts;
    this.symbol = symbol;
    this.list = el("ul.rows", { "aria-label": "Alerts" });
    this.note = el("p.caption", { role: "status" });
    this.add = button("Add an alert", () => this.#create(), "primary");
    this.empty = emptyState({
      title: "No active alerts", why: "The gateway also watches while no page is open, and rings here.", action: "Add an alert", onAction: () => this.#create(),
    });
    this.absent = emptyState({ title: "This gateway has no alerts for you", why: "" });
    this.skeleton = el("ul.rows", { "aria-hidden": "true" }, el("li.skeleton"), el("li.skeleton"));
    this.element = el(
      "section.stack", el("div.page-head", el("h1", "Alerts"), this.add),
      this.#preferences(), this.skeleton, this.absent, this.empty, this.list, this.note);
  }

  enter() {
    this.#undo = this.#alerts.on((list) => this.#show(list));
    if (this.symbol && this.#alerts.state !== "absent") this.#create();
  }
  leave() { this.#undo?.(); }

  #show(list) {
    const { state, why, isKept } = this.#alerts;
    this.skeleton.hidden = state !== "pending";
    this.absent.hidden = state !== "absent";
    this.add.hidden = state === "absent";
    this.empty.hidden = state !== "served" || list.length > 0;
    setText(this.absent.querySelector("p") ?? this.absent.appendChild(el("p.muted")), `It says: ${why}. Run a gateway that serves alerts, or sign in as an owner of alerts.`);
    setText(this.note, state === "served" && !isKept ? "This gateway has no store: alerts end with its process." : "");
    const place = ({ state }) => (ORDER.includes(state) ? ORDER.indexOf(state) : ORDER.length);
    const shown = [...list].sort((a, b) => place(a) - place(b) || Number(b.id) - Number(a.id)).slice(0, 500);
    const cells = new Map();
    for (const alert of shown) {
      const cell = this.#cells.get(alert.id) ?? new AlarmCell(alert, (which, action) => this.#act(which, action));
      cell.show(alert);
      cells.set(alert.id, cell);
    }
    this.#cells = cells;
    const elements = [...cells.values()].map(({ element }) => element);
    if (elements.length !== this.list.children.length || elements.some((each, index) => this.list.children[index] !== each)) this.list.replaceChildren(...elements);
  }

  #act(alert, action) {
    if (action !== "delete") return this.#alerts.act(alert, action);
    const sheet = openSheet("Delete the alert", el("h2", `Delete ${alert.name || "this alert"}?`), el("p.muted", "It does not ring again."),
      foot("Keep it", button("Delete", () => { sheet.close(); this.#alerts.act(alert, action); }, "critical")));
  }

  /** Sound and notifications: both only at the user's request. */
  #preferences() {
    const canNotify = typeof Notification === "function" && window.isSecureContext;
    return el("div.card.choices",
      tick("rings", "Ring with a sound", { checked: stored.read("rings", true), onchange: ({ target }) => stored.write("rings", target.checked) }),
      tick("notifies", canNotify ? "Show notifications" : "Notifications need HTTPS or localhost", {
        disabled: !canNotify, checked: canNotify && stored.read("notifies", false) && Notification.permission === "granted",
        onchange: async ({ target }) => {
          if (target.checked && Notification.permission !== "granted") target.checked = (await Notification.requestPermission()) === "granted";
          stored.write("notifies", target.checked);
        },
      }));
  }

  #create() {
    const kind = choice("kind", KINDS, () => shown());
    const [market, markets] = marketField(this.session, "market", this.symbol ?? "");
    const is = choice("is", Object.entries(WAYS)), frequency = choice("frequency", FREQUENCIES);
    const value = numberInput("value"), window = numberInput("window", "60"), minutes = numberInput("minutes", "5");
    const at = el("input", { id: "at", type: "time", value: "06:30" }), name = el("input", { id: "name", maxLength: 100, autocomplete: "off" });
    const days = DAYS.map((day) => tick(day, day, { value: day, checked: true }));
    const valueField = field("Threshold", value), windowField = field("Window in minutes, 1 to 1440", window);
    const parts = {
      price: [field("Market", market), field("When the price is", is), valueField, field("How often", frequency)], change: [windowField],
      alarm: [field("Time", at), el("fieldset.days", el("legend", "Days"), ...days)],
      countdown: [field("Minutes", minutes)],
    };
    const shown = () => {
      const isMarket = kind.value === "price" || kind.value === "change";
      for (const each of parts.price) each.hidden = !isMarket;
      for (const name of ["change", "alarm", "countdown"]) for (const each of parts[name]) each.hidden = kind.value !== name;
      market.required = isMarket;
      valueField.querySelector("label").textContent = kind.value === "change" ? "Percent, such as -5" : "Threshold";
    };
    shown();
    const key = `console-${Date.now()}-${Math.floor(Math.random() * 1e9)}`;
    openForm("Add an alert", ["Set the alert", "critical"], () => {
      const fields = {
        kind: kind.value, symbol: market.value.trim(), is: is.value, value: value.value.trim(), frequency: frequency.value, window: window.value, at: at.value,
        minutes: minutes.value, days: DAYS.filter((_, place) => days[place].firstChild.checked),
      };
      const wrong = problemOf(fields);
      if (wrong) throw new Error(wrong);
      const rule = ruleOf(fields), { hero, text } = described(rule);
      return this.#alerts.create(name.value.trim() || `${text} ${hero}`.slice(0, 100), rule, key);
    }, field("Kind", kind), ...parts.price.slice(0, 3), markets, ...parts.change, parts.price[3], ...parts.alarm, ...parts.countdown,
    field("Name (optional)", name));
  }
}

/** A form's mistake and its remedy, or null. */
function problemOf({ kind, value, window, minutes, days }) {
  if (kind === "price" && !isAmount(value)) return "Enter a price above zero, such as 70000.";
  if (kind === "change" && !isAmount(value.replace(/^-/, ""))) return "Enter a percentage other than zero, such as 5 or -5.";
  if (kind === "change" && !(Number(window) >= 1 && Number(window) <= 1_440 && Number.isInteger(Number(window)))) return "Enter a window of 1 to 1440 minutes.";
  if (kind === "countdown" && !(Number(minutes) > 0 && Number(minutes) <= 1_440)) return "Enter a time above 0, up to 1440 minutes.";
  if (kind === "alarm" && days.length === 0) return "Choose at least one day.";
  return null;
}
