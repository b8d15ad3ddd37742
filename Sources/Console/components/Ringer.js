import { button, el, setText, stored } from "../dom.js";
import { symbolParts } from "../format.js";
import { described, fired } from "../rules.js";

/** A beep, Hz, and the time between two, ms. */
const HERTZ = 880;
const BEAT = 1_000;

/** Rings for unacknowledged alerts: a bar on every page and, if allowed, a sound and a notification. */
export class Ringer {
  #alerts;
  #ringing = new Map();
  #audio;
  #timer;

  constructor(alerts) {
    this.#alerts = alerts;
    this.text = el("strong");
    this.rule = el("span.caption");
    this.element = el(
      "section.ringer", { "aria-label": "Ringing alerts", hidden: true }, el("span.ringer-mark", { "aria-hidden": "true" }, "!"),
      el("div.ringer-words", { role: "alert" }, this.text, this.rule),
      el("div.ringer-buttons", button("Snooze", () => this.#each("snooze")), button("Dismiss", () => this.#each("ack"), "critical")));
    alerts.on((list) => this.#show(list));
  }

  #show(list) {
    const ringing = new Map(list.filter(({ state }) => state === "alerting").map((alert) => [alert.id, alert]));
    for (const [id, alert] of ringing) {
      const before = this.#ringing.get(id);
      if (before === undefined || before.firing?.number !== alert.firing?.number) this.#notify(alert);
    }
    this.#ringing = ringing;
    this.element.hidden = ringing.size === 0;
    if (ringing.size === 0) return this.#quiet();
    const [first] = ringing.values();
    const { hero, text } = described(first.rule);
    const figure = fired(first), rule = `${text} ${hero}`, name = first.name || rule;
    // The price that fired, not the threshold, which the rule below names.
    setText(this.text, `${name === rule && figure ? symbolParts(first.firing.symbol).market : name}: ${figure ?? hero}${ringing.size > 1 ? ` and ${ringing.size - 1} more` : ""}`);
    setText(this.rule, figure === undefined ? "" : rule);
    this.#sound();
  }

  #each(action) { for (const alert of this.#ringing.values()) this.#alerts.act(alert, action); }

  #notify(alert) {
    if (!stored.read("notifies", false) || typeof Notification !== "function" || Notification.permission !== "granted") return;
    const { hero, text } = described(alert.rule), figure = fired(alert);
    // One tag for each firing: the system shows it once for all open pages.
    try { new Notification(alert.name || text, { body: `${figure ? `${figure}: ` : ""}${text} ${hero}`, tag: `tidegate-${alert.id}-${alert.firing?.number ?? 0}` }); } catch { /* a phone's page may not */ }
  }

  #sound() {
    if (!stored.read("rings", true) || this.#timer !== undefined) return;
    const beep = () => {
      try {
        this.#audio ??= new AudioContext();
        // A browser mutes pages until they have been touched.
        if (this.#audio.state === "suspended") this.#audio.resume().catch(() => {});
        const start = this.#audio.currentTime, tone = this.#audio.createOscillator(), volume = this.#audio.createGain();
        tone.frequency.value = HERTZ;
        volume.gain.setValueAtTime(0.2, start);
        volume.gain.exponentialRampToValueAtTime(0.001, start + 0.4);
        tone.connect(volume).connect(this.#audio.destination);
        tone.start(start);
        tone.stop(start + 0.4);
      } catch { /* no sound on this machine: the bar and the words stay */ }
    };
    beep();
    this.#timer = setInterval(beep, BEAT);
  }

  #quiet() {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
