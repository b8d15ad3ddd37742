/** Published topics: from the stream where the gateway has them there, else asked for over HTTP. */

/** How often a topic is asked for where there is no stream of it, ms. */
const POLL = 5_000;

/**
 * Calls `listener(documents)` with a topic's last documents, oldest first, `[]` while there are none, and again whenever there is a new one.
 * Returns a function that ends it.
 */
export function followTopic(session, client, name, last, listener) {
  let isOver = false, timer;
  const poll = async () => {
    try {
      const { documents } = await session.get(`/v1/topics/${encodeURIComponent(name)}?limit=${last}`);
      if (!isOver) listener(Array.isArray(documents) ? documents : []);
    } catch {
      // Nothing has been published yet, or the gateway is away: the frame of the page says which.
      if (!isOver) listener([]);
    }
    if (!isOver) timer = setTimeout(poll, POLL);
  };
  const subscription = client.subscribe({ channel: "topic", symbol: name, last }, (documents, info) => {
    if (documents !== undefined) listener(documents.slice(-last));
    else if (info.type === "failed" && info.isFinal && timer === undefined) { timer = null; poll(); }
  });
  return () => { isOver = true; clearTimeout(timer); subscription.cancel(); };
}

/** A text of a document, cut to what a card can show; undefined where there is none. */
export function textOf(document, name, limit = 500) {
  const value = document?.[name];
  return typeof value === "string" && value !== "" ? value.slice(0, limit) : typeof value === "number" ? String(value) : undefined;
}
