import { el, setText } from "../dom.js";

const WORDS = { connected: "Connected", reconnecting: "Reconnecting", disconnected: "Offline", connecting: "Connecting" };

/** The dot of the header and its word: connected, reconnecting, disconnected. */
export class StatusIndicator {
  #dot = el("span.dot", { "aria-hidden": "true" });
  #text = el("span", "Connecting");

  constructor(element) {
    this.element = element;
    element.role = "status";
    element.replaceChildren(this.#dot, this.#text);
    this.show("connecting");
  }

  show(state, detail = {}) {
    this.#dot.dataset.state = state === "connecting" ? "reconnecting" : state;
    setText(this.#text, WORDS[state] ?? state);
    this.element.title = detail.reason ?? "";
  }
}
