/** Published topics. */

/**
 * Calls `listener(documents)` with a topic's last documents, oldest first, `[]` while there are none, and again whenever there is a new one.
 * Returns a function that ends it.
 */
export function followTopic(client, name, last, listener) {
  let hasDocuments = false;
  const subscription = client.subscribe({ channel: "topic", symbol: name, last }, (documents, info) => {
    if (documents !== undefined) {
      hasDocuments = true;
      listener(documents.slice(-last));
    } else if (!hasDocuments && (info.type === "state" || info.type === "failed")) {
      // It is subscribed to, and nothing has been published yet: the first document comes as a snapshot.
      listener([]);
    }
  });
  return () => subscription.cancel();
}

/** A text of a document, cut to what a card can show; undefined where there is none. */
export function textOf(document, name, limit = 500) {
  const value = document?.[name];
  return typeof value === "string" && value !== "" ? value.slice(0, limit) : typeof value === "number" ? String(value) : undefined;
}
