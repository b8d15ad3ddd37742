/** Figures as texts, short enough for a phone. */

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** `12,345`; below ten with one digit. */
export function count(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  return value !== 0 && Math.abs(value) < 10 && !Number.isInteger(value) ? value.toFixed(1) : grouped.format(value);
}

/** `0.4 ms`, `12 ms`, `3.2 s`, `5 min`, `4 h 5 min`, `3 d 4 h`. */
export function duration(milliseconds) {
  if (typeof milliseconds !== "number" || !Number.isFinite(milliseconds)) return "–";
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `812 B`, `1.2 kB`, `34 MB`. */
export function bytes(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let place = 0;
  while (value >= 1_000 && place < units.length - 1) {
    value /= 1_000;
    place += 1;
  }
  return `${place > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[place]}`;
}

export function percent(part) {
  return typeof part === "number" && Number.isFinite(part) ? `${Math.round(part * 100)} %` : "–";
}

/** The time of day of microseconds since 1970, UTC. */
export function clock(microseconds) {
  const date = new Date(microseconds / 1_000);
  return Number.isNaN(date.getTime()) ? "–" : date.toISOString().slice(11, 19);
}
