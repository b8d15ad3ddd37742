/** The owner's alerts, for every page. */
import { toast } from "./components/Toast.js";
import { said } from "./format.js";

const SNOOZE_SECONDS = 300;

export class Alerts {
  /** `pending`, `served`, or `absent` (no alerts here, or not for this user; `why` is the reason). */
  state = "pending";
  why = "";
  list = [];
  isKept = true;
  #client;
  #listeners = new Set();

  constructor(session) {
    session.onClient((client) => {
      this.#client = client;
      this.state = "pending";
      client.subscribe({ channel: "alerts" }, (value, info) => {
        if (info.type === "failed" && info.isFinal) {
          this.state = "absent";
          this.why = said(info.error);
          this.list = [];
        } else if (value !== undefined) {
          this.state = "served";
          this.list = value.alerts;
          this.isKept = value.isKept;
        } else {
          return;
        }
        for (const listener of this.#listeners) listener(this.list);
      });
    });
  }

  /** Calls `listener` now and after each change. Returns a function that removes it. */
  on(listener) {
    this.#listeners.add(listener);
    listener(this.list);
    return () => this.#listeners.delete(listener);
  }

  /** One key for each form: sent twice, it makes one rule. */
  create(name, rule, key) { return this.#client.ask({ op: "alert", action: "create", key, body: { name, rule } }); }

  async act(alert, action) {
    const request = { op: "alert", action, alert: alert.id };
    if (action === "snooze") request.body = { for_s: SNOOZE_SECONDS };
    if (action === "ack") request.body = { through: alert.firing?.number ?? alert.firings ?? 0 };
    try {
      await this.#client.ask(request);
      if (action === "snooze") toast(`Snoozed for ${SNOOZE_SECONDS / 60} minutes.`, "success");
    } catch (error) {
      toast(`The alert was not changed: ${said(error)}.`, "error");
    }
  }
}
