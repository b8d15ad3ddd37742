import { button, el, icon, setText } from "../dom.js";
import { moment } from "../format.js";
import { described, fired, frequencyText } from "../rules.js";
import { StatusBadge } from "./StatusBadge.js";
import { TimeDisplay } from "./TimeDisplay.js";

const BELL = "M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 20a2 2 0 0 0 4 0", CLOCK = "M12 8v4l3 2M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16";
const ACTIONS = {
  scheduled: [["Pause", "pause"], ["Disable", "disable"]], running: [["Pause", "pause"], ["Disable", "disable"]],
  paused: [["Resume", "resume"], ["Disable", "disable"]], alerting: [["Dismiss", "ack"], ["Snooze", "snooze"]], disabled: [["Enable", "enable"]],
};

/** An alert or alarm: what it watches, its state, its actions. */
export class AlarmCell {
  #actions = el("div.cell-actions");
  #state;
  #act;

  /** @param act is called with the alert and an action's name. */
  constructor(alert, act) {
    this.#act = act;
    this.name = el("strong.cell-name");
    this.text = el("span.muted");
    this.detail = el("span.caption");
    this.hero = new TimeDisplay();
    this.badge = new StatusBadge();
    const isClock = ["alarm", "countdown"].includes(alert.rule?.condition?.type);
    this.element = el(
      "li.alarm-cell",
      el("span.cell-icon", { "aria-hidden": "true" }, icon(isClock ? CLOCK : BELL)),
      el("div.cell-words", this.name, this.text, this.detail),
      el("div.cell-figure", this.hero.element, this.badge.element), this.#actions);
    this.show(alert);
  }

  show(alert) {
    this.alert = alert;
    const { hero, text } = described(alert.rule);
    // While it rings, the price that fired is large, and the threshold stands in the rule.
    const figure = fired(alert), isRinging = alert.state === "alerting" && figure !== undefined;
    setText(this.name, alert.name || text);
    setText(this.text, [isRinging ? `${text} ${hero}` : text, frequencyText(alert.rule)].filter(Boolean).join(" · "));
    setText(this.detail, [
      alert.firing?.time ? `Fired ${moment(alert.firing.time, 60e6, true)}${figure ? ` at ${figure}` : ""}` : "",
      alert.firing?.late_by_ms ? `up to ${Math.ceil(alert.firing.late_by_ms / 1_000)} s late` : "",
      alert.watching_from ? `watches from ${moment(alert.watching_from, 60e6, true)} on, when earlier prices to compare with are known` : "",
      alert.next ? `next ${moment(alert.next, 60e6, true)}` : "",
    ].filter(Boolean).join(" · "));
    this.hero.show(isRinging ? figure : hero);
    this.badge.show(alert.state);
    this.element.dataset.state = alert.state;
    if (alert.state === this.#state) return;
    this.#state = alert.state;
    this.#actions.replaceChildren(...[...(ACTIONS[alert.state] ?? []), ["Delete", "delete"]].map(([name, action]) => button(
      name, () => this.#act(this.alert, action), action === "ack" ? "critical" : "plain", { "aria-label": `${name} ${alert.name || text}` })));
  }
}
