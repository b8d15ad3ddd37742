/** Whether data is alive, and why not. */
import { el, setText } from "./dom.js";

/** Why a venue's prices are not live, in words; null where they are. */
export function whyDead(client, venue) {
  if (client.state !== "connected") return client.state === "disconnected" ? "not connected to the gateway" : "connecting to the gateway";
  const feed = client.feeds.get(venue);
  if (feed === undefined || feed.state === "live" || feed.state === "syncing") return null;
  return feed.reason || `the exchange's feed is ${feed.state}`;
}

/** Where a row says why it is grey. */
export function whyPlace() { return el("span.why-dead", { hidden: true }); }

/** Greys a row and says why, or, with null, neither. */
export function showDead(row, why) {
  const place = row.querySelector(".why-dead");
  row.classList.toggle("is-dead", why !== null);
  place.hidden = why === null;
  setText(place, why ?? "");
}
