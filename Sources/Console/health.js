/** Whether data is live, and why not. */
import { el, setText } from "./dom.js";

/** The reason why a venue's prices are not live, or null. */
export function whyDead(client, venue) {
  if (client.state !== "connected") return client.state === "disconnected" ? "not connected to the gateway" : "connecting to the gateway";
  const feed = client.feeds.get(venue);
  if (feed === undefined || feed.state === "live" || feed.state === "syncing") return null;
  return feed.reason || `the exchange's feed is ${feed.state}`;
}

/** A row's place for the reason why it is grey. */
export function whyPlace() { return el("span.why-dead", { hidden: true }); }

/** Greys a row and shows the reason; null: neither. */
export function showDead(row, why) {
  const place = row.querySelector(".why-dead");
  row.classList.toggle("is-dead", why !== null);
  place.hidden = why === null;
  setText(place, why ?? "");
}
