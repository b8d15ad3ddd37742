/** A page that follows the session's client while it is open. */
export class Page {
  #undo;
  #listeners = [];
  #subscriptions = [];

  constructor(session) { this.session = session; }

  enter() {
    this.#undo = this.session.onClient((client) => {
      this.#end();
      this.client = client;
      this.#listeners = ["feeds", "state"].map((name) => client.on(name, () => this.mark()));
      this.follow();
    });
  }

  leave() {
    this.#undo?.();
    this.#end();
    this.client = undefined;
  }

  /** Subscribes to what the page shows. */
  follow() { this.mark(); }
  /** The state of the connection or of a feed has changed. */
  mark() {}

  /** Subscribes until `unsubscribe`, another client, or the page's end. `otherwise` gets events without a value. */
  subscribe(request, listener, otherwise = () => {}) {
    const subscription = this.client.subscribe(request, (value, info) => (value === undefined ? otherwise(info) : listener(value, info)));
    this.#subscriptions.push(subscription);
    return subscription;
  }

  unsubscribe() {
    for (const subscription of this.#subscriptions) subscription.cancel();
    this.#subscriptions = [];
  }

  #end() {
    this.unsubscribe();
    for (const undo of this.#listeners) undo();
  }
}
