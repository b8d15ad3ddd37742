/** The page's connection to its gateway: one client, the token, and the HTTP beside the stream. */
import { Alerts } from "./alerts.js";
import { said } from "./format.js";
import { Tidegate } from "/tidegate.js";

const TOKEN = "tidegate.token";
/** The most pages of names, 1,000 each. */
const NAME_PAGES = 5;

export class Session {
  #token;
  #client;
  #listeners = new Set();
  #names;

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
    this.#names = undefined;
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

  /** A request with the token; throws the gateway's message. */
  async #get(path, { headers, ...options } = {}) {
    const response = await fetch(path, { ...options, headers: { ...headers, ...(this.#token && { Authorization: `Bearer ${this.#token}` }) } }).catch(() => {
      throw new Error("The gateway does not answer. Prices do not change until it does; the page tries again by itself.");
    });
    if (response.ok) return response;
    const { code, message = `status ${response.status}`, hint } = await response.json().catch(() => ({}));
    throw Object.assign(new Error(said({ message, hint })), { code });
  }

  async get(path) { return (await this.#get(path)).json(); }

  /** Sends a document. @param key makes a repeated request safe. */
  async send(method, path, body, key) {
    const headers = { "Content-Type": "application/json", ...(key && { "Idempotency-Key": key }) };
    const response = await this.#get(path, { method, headers, body: body && JSON.stringify(body) });
    return response.status === 204 ? undefined : response.json();
  }

  /** A picture and its text alternative. */
  async picture(path) {
    const text = await (await this.#get(path)).text();
    const words = new DOMParser().parseFromString(text, "image/svg+xml").documentElement.getAttribute("aria-label") ?? "";
    return { blob: new Blob([text], { type: "image/svg+xml" }), words };
  }

  /** The names of assets by their codes; without them, pages show codes. Read once, when the gateway has them. */
  names() {
    this.#names ??= (async () => {
      const names = new Map();
      for (let page = 0, after = ""; page < NAME_PAGES && after !== undefined; page += 1) {
        const { assets = [], next } = await this.get(`/v1/assets?limit=1000${after && `&after=${encodeURIComponent(after)}`}`).catch(() => ({}));
        for (const { code, name } of assets) names.set(code, name);
        after = next;
      }
      if (names.size === 0) this.#names = undefined;
      return names;
    })();
    return this.#names;
  }

  async instruments(text) {
    const body = await this.get(`/v1/instruments${text ? `?q=${encodeURIComponent(text)}` : ""}`);
    return body.instruments ?? [];
  }
}
