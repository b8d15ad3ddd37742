/** The page's connection to its gateway: one client, the token, and the HTTP beside the stream. */
import { Alerts } from "./alerts.js";
import { said } from "./format.js";
import { Tidegate } from "/tidegate.js";

const TOKEN = "tidegate.token";

export class Session {
  #token;
  #client;
  #listeners = new Set();

  constructor() {
    try { this.#token = sessionStorage.getItem(TOKEN) ?? undefined; } catch { /* kept in memory then */ }
    this.#connect();
    this.alerts = new Alerts(this);
  }

  get client() { return this.#client; }
  get hasToken() { return this.#token !== undefined; }
  /** Whether the prices are simulated or replayed. */
  get isSimulated() { return this.#client.welcome?.simulated === true || this.#client.welcome?.replayed === true; }

  /** Calls `listener` now, and whenever there is another client. */
  onClient(listener) {
    this.#listeners.add(listener);
    listener(this.#client);
    return () => this.#listeners.delete(listener);
  }

  /** Begins anew with a token, or without one. */
  signIn(token, isKept) {
    this.#token = token;
    try {
      if (isKept) sessionStorage.setItem(TOKEN, token);
      else sessionStorage.removeItem(TOKEN);
    } catch { /* kept in memory then */ }
    this.#client.close();
    this.#connect();
  }

  #connect() {
    this.#client = new Tidegate({ token: this.#token, client: "console" });
    for (const listener of this.#listeners) listener(this.#client);
  }

  /** GET with the token; throws the gateway's message. */
  async #get(path) {
    const response = await fetch(path, { headers: this.#token ? { Authorization: `Bearer ${this.#token}` } : {} }).catch(() => {
      throw new Error("The gateway does not answer. Prices do not change until it does; the page tries again by itself.");
    });
    if (response.ok) return response;
    const { code, message = `status ${response.status}`, hint } = await response.json().catch(() => ({}));
    throw Object.assign(new Error(said({ message, hint })), { code });
  }

  async get(path) { return (await this.#get(path)).json(); }

  /** A picture and its text alternative. */
  async picture(path) {
    const text = await (await this.#get(path)).text();
    const words = new DOMParser().parseFromString(text, "image/svg+xml").documentElement.getAttribute("aria-label") ?? "";
    return { blob: new Blob([text], { type: "image/svg+xml" }), words };
  }

  async instruments(text) {
    const body = await this.get(`/v1/instruments${text ? `?q=${encodeURIComponent(text)}` : ""}`);
    return body.instruments ?? [];
  }
}
