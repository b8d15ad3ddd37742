/** Reads the gateway's state, a document a second, over one request with the operators' token. */

/** The connection is dead after this silence, ms. */
const SILENCE = 5_000;
/** A page that has been hidden for this long disconnects, ms. */
const HIDDEN = 30_000;
/** The longest line of a gateway, bytes. */
const LINE_LIMIT = 4 << 20;

export class StateStream {
  #token;
  #show;
  #tell;
  #abort;
  #timers = new Set();
  #attempts = 0;
  #isEnded = false;
  #hidden;

  /**
   * @param show takes each document. @param tell takes the state of the connection (`connected`, `reconnecting`, or
   * `refused` for good) and a reason.
   */
  constructor(token, show, tell) {
    this.#token = token;
    this.#show = show;
    this.#tell = tell;
    document.addEventListener("visibilitychange", this.#visibility);
    this.#run();
  }

  end() {
    this.#isEnded = true;
    document.removeEventListener("visibilitychange", this.#visibility);
    for (const timer of this.#timers) clearTimeout(timer);
    clearTimeout(this.#hidden);
    this.#abort?.abort();
  }

  #visibility = () => {
    clearTimeout(this.#hidden);
    if (document.hidden) this.#hidden = setTimeout(() => this.#abort?.abort(), HIDDEN);
    else if (this.#abort === undefined && !this.#isEnded) this.#run();
  };

  #after(milliseconds, work) {
    const timer = setTimeout(() => { this.#timers.delete(timer); work(); }, milliseconds);
    this.#timers.add(timer);
    return () => { clearTimeout(timer); this.#timers.delete(timer); };
  }

  async #run() {
    if (this.#abort !== undefined) return;
    const abort = (this.#abort = new AbortController());
    let reason = "the connection was lost";
    try {
      const response = await fetch("/admin/state/live", { headers: { Authorization: `Bearer ${this.#token}` }, cache: "no-store", signal: abort.signal });
      if (!response.ok) {
        const error = await response.json().catch(() => ({}));
        reason = [error.message ?? `status ${response.status}`, error.hint].filter(Boolean).join(": ");
        if (response.status === 401 || response.status === 403) {
          this.#isEnded = true;
          this.#tell("refused", reason, response.status);
          return;
        }
      } else {
        await this.#read(response.body.getReader(), abort);
      }
    } catch (error) {
      if (error.name !== "AbortError") reason = "the gateway cannot be reached";
    } finally {
      this.#abort = undefined;
    }
    if (this.#isEnded || document.hidden) return;
    this.#tell("reconnecting", reason);
    this.#attempts += 1;
    this.#after(Math.min(8_000, 250 * 2 ** this.#attempts) * (0.5 + Math.random() / 2), () => this.#run());
  }

  async #read(reader, abort) {
    const decoder = new TextDecoder();
    let text = "";
    let forget = this.#after(SILENCE, () => abort.abort());
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        forget();
        forget = this.#after(SILENCE, () => abort.abort());
        text += decoder.decode(value, { stream: true });
        const lines = text.split("\n");
        text = lines.pop();
        if (text.length > LINE_LIMIT) return abort.abort();
        // Only the newest is useful.
        const line = lines.findLast((each) => each !== "");
        if (line === undefined) continue;
        const state = JSON.parse(line);
        this.#attempts = 0;
        this.#tell("connected");
        this.#show(state);
      }
    } finally {
      forget();
      reader.cancel().catch(() => {});
    }
  }
}
