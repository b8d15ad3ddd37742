/**
 * tidegate.js: the client side of `tidegate.v1`, the protocol of a Tidegate gateway, in one ES module for browsers,
 * workers, Node and Deno. `tidegate.d.ts` documents its exports.
 *
 * It checks all that a server sends. A message that violates the protocol ends the connection, never the page. Each
 * table and queue has a bound.
 */

// Characters of: a message (the largest is a whole book), a decimal, the shortest token that is removed from server
// texts.
const MESSAGE_LIMIT = 8 << 20, DECIMAL_LIMIT = 64, SECRET_LENGTH = 8;
// Streams and feeds of a connection.
const STREAM_LIMIT = 20_000, FEED_LIMIT = 1_000;
// Items in one `subscribe` or `resume`, well below the gateway's limit of 64 KiB; streams in one `unsubscribe`; requests
// that wait for a connection.
const ITEMS_PER_REQUEST = 200, NUMBERS_PER_REQUEST = 1_000, UNSENT_LIMIT = 1_000;
// In a stream: levels a side, points and gaps of a line, candles, trades, documents, rules, holdings or positions.
const LEVEL_LIMIT = 20_000, POINT_LIMIT = 1_440, GAP_LIMIT = 10_000, CANDLE_LIMIT = 5_000, TRADES_KEPT = 50, DOCUMENT_LIMIT = 100;
const ALERT_LIMIT = 100_000, LINE_LIMIT = 1_000;
// Events that wait for a slow `for await`; beyond it, the oldest are dropped and counted.
const ITERATOR_LIMIT = 1_000;
// The longest time, ms: to open, for a reply (and for the connection to ask on), for the snapshot after a gap (then it subscribes again), until a hidden
// page pauses.
const OPEN_TIMEOUT = 10_000, REPLY_TIMEOUT = 10_000, SNAPSHOT_TIMEOUT = 5_000, HIDDEN_GRACE = 5_000;
// Messages this close after another one cost no wake-up of their own, ms.
const SAME_WAKE_UP = 5;
// A connection is dead after this many heartbeat intervals.
const HEARTBEATS_MISSED = 2.5;
// Back-off, ms: full jitter, doubling from the first to the last.
const FIRST_BACKOFF = 250, LAST_BACKOFF = 30_000;
// The preferred one first. An older gateway speaks the second alone.
const SUBPROTOCOLS = ["tidegate.v1.bin", "tidegate.v1.json"];

// MARK: Decimals

/** Exact arithmetic on decimal strings. */
export const Decimal = {
  isValid(text) {
    return typeof text === "string" && text.length <= DECIMAL_LIMIT && /^-?\d+(\.\d+)?$/.test(text);
  },
  compare(a, b) {
    const [x, y] = aligned(a, b);
    return x < y ? -1 : x > y ? 1 : 0;
  },
  add(a, b) {
    const [x, y, scale] = aligned(a, b);
    return text(x + y, scale);
  },
  subtract(a, b) {
    const [x, y, scale] = aligned(a, b);
    return text(x - y, scale);
  },
  multiply(a, b) {
    const x = parsed(a), y = parsed(b);
    return text(x.value * y.value, x.scale + y.scale);
  },
  percent(part, whole, digits = 2) {
    const [x, y] = aligned(part, whole);
    if (y <= 0n) return null;
    return text(divided(x * 100n * 10n ** BigInt(digits), y), digits);
  },
  rounded(a, digits) {
    const { value, scale } = parsed(a);
    if (scale <= digits) return text(value * 10n ** BigInt(digits - scale), digits);
    return text(divided(value, 10n ** BigInt(scale - digits)), digits);
  },
  trimmed(a, digits = 0) {
    const { scale } = parsed(a);
    if (scale <= digits) return a;
    let end = a.length;
    const least = a.indexOf(".") + 1 + digits;
    while (end > least && a[end - 1] === "0") end -= 1;
    return a.slice(0, a[end - 1] === "." ? end - 1 : end);
  },
  toNumber(a) {
    parsed(a);
    return Number(a);
  },
};

function parsed(decimal) {
  if (!Decimal.isValid(decimal)) throw new RangeError("not a decimal");
  const point = decimal.indexOf(".");
  if (point < 0) return { value: BigInt(decimal), scale: 0 };
  return { value: BigInt(decimal.slice(0, point) + decimal.slice(point + 1)), scale: decimal.length - point - 1 };
}

function aligned(a, b) {
  const x = parsed(a), y = parsed(b);
  const scale = Math.max(x.scale, y.scale);
  return [x.value * 10n ** BigInt(scale - x.scale), y.value * 10n ** BigInt(scale - y.scale), scale];
}

/** The quotient, rounded half to even; `b` is positive. */
function divided(a, b) {
  const quotient = a / b;
  const rest = a % b < 0n ? -(a % b) : a % b;
  const up = 2n * rest > b || (2n * rest === b && quotient % 2n !== 0n);
  return up ? quotient + (a < 0n ? -1n : 1n) : quotient;
}

function text(value, scale) {
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  return (value < 0n ? "-" : "") + whole + (scale > 0 ? "." + digits.slice(digits.length - scale) : "");
}

// MARK: Checks of what a server sends

/** A server's violation. */
class ProtocolViolation extends Error {}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function need(condition, what) {
  if (!condition) throw new ProtocolViolation(what);
}
function count(value, what, limit = Number.MAX_SAFE_INTEGER) {
  need(Number.isSafeInteger(value) && value >= 0 && value <= limit, what);
  return value;
}
function list(value, limit, what) {
  if (value === undefined) return [];
  need(Array.isArray(value) && value.length <= limit, what);
  return value;
}
/** The wait that a server asks for, ms, in bounds. */
function wait(value, fallback, most) {
  return typeof value === "number" && value >= 0 ? Math.min(value, most) : fallback;
}
function short(value) {
  return typeof value === "string" ? value.slice(0, 500) : "";
}

// MARK: What streams become

export class Book {
  bids = [];
  asks = [];
  time = undefined;
  state = "live";
  reason = undefined;

  static from(data) { return new Book().apply(data); }

  /** Applies an update: size zero removes a level. */
  apply(data) {
    this.state = data.state === "syncing" ? "syncing" : "live";
    this.reason = this.state === "live" ? undefined : short(data.reason);
    if (this.state === "syncing") { this.bids = []; this.asks = []; }
    for (const level of list(data.bids, LEVEL_LIMIT, "bids")) this.#set(this.bids, level, -1);
    for (const level of list(data.asks, LEVEL_LIMIT, "asks")) this.#set(this.asks, level, 1);
    if (Number.isSafeInteger(data.time)) this.time = data.time;
    return this;
  }

  get bestBid() { return this.bids[0]; }
  get bestAsk() { return this.asks[0]; }
  get spread() {
    return this.bids.length && this.asks.length ? Decimal.subtract(this.asks[0][0], this.bids[0][0]) : null;
  }
  get mid() {
    if (!this.bids.length || !this.asks.length) return null;
    return middle(this.bids[0][0], this.asks[0][0]);
  }
  get spreadPercent() {
    const spread = this.spread;
    return spread === null ? null : Decimal.percent(spread, this.mid, 4);
  }

  depth(count) {
    const sum = (levels) => {
      let total = "0";
      return levels.slice(0, count).map(([price, size]) => ({ price, size, total: (total = Decimal.add(total, size)) }));
    };
    const bids = sum(this.bids), asks = sum(this.asks);
    const most = Math.max(Number(bids.at(-1)?.total ?? 0), Number(asks.at(-1)?.total ?? 0));
    for (const row of [...bids, ...asks]) row.share = most > 0 ? Number(row.total) / most : 0;
    return { bids, asks };
  }

  /** `direction` is 1 for asks, −1 for bids. O(log n), and O(n) to insert. */
  #set(side, level, direction) {
    need(Array.isArray(level) && level.length >= 2, "a book level");
    const price = level[0], size = level[1];
    need(Decimal.isValid(price) && Decimal.isValid(size) && size[0] !== "-", "a book level");
    let low = 0, high = side.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (order(side[middle][0], price) * direction < 0) low = middle + 1;
      else high = middle;
    }
    const isThere = low < side.length && order(side[low][0], price) === 0;
    if (!/[1-9]/.test(size)) {
      if (isThere) side.splice(low, 1);
    } else if (isThere) {
      side[low] = [price, size];
    } else {
      need(side.length < LEVEL_LIMIT, "a book of too many levels");
      side.splice(low, 0, [price, size]);
    }
  }
}

/** The best bid and ask, as the gateway names them, and what follows from them. */
class Quote {
  constructor(data) {
    checkedRecord(data);
    for (const field of QUOTE_FIELDS) if (data[field] !== undefined) this[field] = data[field];
  }

  get spread() { return this.#isWhole ? Decimal.subtract(this.ask, this.bid) : null; }
  get mid() { return this.#isWhole ? middle(this.bid, this.ask) : null; }
  get spreadPercent() { return this.#isWhole ? Decimal.percent(this.spread, this.mid, 4) : null; }
  get #isWhole() { return this.bid !== undefined && this.ask !== undefined; }
}
const QUOTE_FIELDS = [
  "bid", "bid_size", "bid_venue", "ask", "ask_size", "ask_venue", "time", "state", "reason", "venues", "absent", "simulated", "replayed",
];

function middle(a, b) { return Decimal.multiply(Decimal.add(a, b), "0.5"); }

/** Compares as numbers; if these are equal, exactly. */
function order(a, b) {
  if (a === b) return 0;
  const x = Number(a), y = Number(b);
  return x < y ? -1 : x > y ? 1 : Decimal.compare(a, b);
}

export class Sparkline {
  range = "";
  from = 0;
  step = 0;
  points = [];
  coveredFrom = undefined;
  gaps = [];
  open = undefined;
  change = null;
  changePercent = null;
  trend = "flat";

  static from(data) {
    const line = new Sparkline();
    line.range = short(data.range);
    line.from = count(data.from, "from of a sparkline");
    line.step = count(data.step_s, "step_s of a sparkline", 1e9) * 1e6;
    line.points = list(data.points, POINT_LIMIT, "points of a sparkline").slice();
    need(line.points.every(Decimal.isValid), "a point of a sparkline");
    if (data.covered_from !== undefined) line.coveredFrom = count(data.covered_from, "covered_from of a sparkline");
    line.gaps = list(data.gaps, GAP_LIMIT, "gaps of a sparkline").map((gap) => {
      need(isObject(gap), "a gap of a sparkline");
      return { from: count(gap.from, "from of a gap"), to: count(gap.to, "to of a gap") };
    });
    return line.#take(data);
  }

  apply(data) {
    const index = count(data.index, "index of a sparkline", POINT_LIMIT - 1);
    need(Decimal.isValid(data.price), "price of a sparkline");
    let points = this.points;
    if (data.from !== undefined && data.from !== this.from) {
      need(this.step > 0 && count(data.from, "from of a sparkline") > this.from, "from of a sparkline");
      const moved = Math.round((data.from - this.from) / this.step);
      const last = points.at(-1);
      points = points.slice(Math.min(moved, points.length));
      if (points.length === 0 && last !== undefined) points = [last];
      this.from = data.from;
    }
    while (points.length < index) points.push(points.at(-1) ?? data.price);
    points.length = Math.min(points.length, index + 1);
    points[index] = data.price;
    this.points = points;
    return this.#take(data);
  }

  /** A message without the change is of an older gateway: then it is from the first point. */
  #take({ open, change, change_pct: percent, trend }) {
    for (const [name, value] of Object.entries({ open, change, change_pct: percent })) {
      need(value === undefined || Decimal.isValid(value), `${name} of a sparkline`);
    }
    const isKnown = open !== undefined || change !== undefined || percent !== undefined;
    this.open = isKnown ? open : this.first;
    this.change = isKnown ? change ?? null : this.points.length ? Decimal.subtract(this.last, this.first) : null;
    this.changePercent = isKnown ? percent ?? null : this.change === null ? null : Decimal.percent(this.change, this.first);
    const sign = this.change === null ? 0 : Decimal.compare(this.change, "0");
    this.trend = isKnown && ["up", "down", "flat"].includes(trend) ? trend : sign > 0 ? "up" : sign < 0 ? "down" : "flat";
    return this;
  }

  get first() { return this.points[0]; }
  get last() { return this.points.at(-1); }
}

export class CandleSeries {
  interval = "";
  candles = [];

  static from(data) {
    const series = new CandleSeries();
    series.interval = short(data.interval);
    return series.apply(data);
  }

  apply(data) { return this.merge(data.candles); }
  get last() { return this.candles.at(-1); }

  /** O(log n) a candle, O(n) for one between others. */
  merge(candles) {
    for (const candle of list(candles, CANDLE_LIMIT, "candles")) {
      need(isObject(candle), "a candle");
      const time = count(candle.time, "time of a candle");
      for (const field of ["open", "high", "low", "close"]) need(Decimal.isValid(candle[field]), `${field} of a candle`);
      for (const field of ["volume", "quote_volume"]) {
        need(candle[field] === undefined || Decimal.isValid(candle[field]), `${field} of a candle`);
      }
      const rev = candle.rev === undefined ? 0 : count(candle.rev, "rev of a candle");
      let low = 0, high = this.candles.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.candles[middle].time < time) low = middle + 1;
        else high = middle;
      }
      const there = this.candles[low];
      if (there === undefined || there.time !== time) this.candles.splice(low, 0, candle);
      else if ((there.rev ?? 0) <= rev) this.candles[low] = candle;
    }
    if (this.candles.length > CANDLE_LIMIT) this.candles.splice(0, this.candles.length - CANDLE_LIMIT);
    return this;
  }
}

export class AlertList {
  alerts = [];
  isKept = true;

  static from(data) {
    const value = new AlertList();
    value.isKept = data.kept !== false;
    return value.apply(data);
  }

  apply(data) {
    const byID = new Map(this.alerts.map((alert) => [alert.id, alert]));
    for (const alert of list(data.alerts, ALERT_LIMIT, "alerts")) {
      need(isObject(alert) && typeof alert.id === "string" && typeof alert.state === "string", "an alert");
      byID.set(alert.id, alert);
    }
    for (const id of list(data.removed, ALERT_LIMIT, "removed")) byID.delete(id);
    for (const firing of list(data.firings, ALERT_LIMIT, "firings")) need(isObject(firing), "a firing");
    need(byID.size <= ALERT_LIMIT, "too many alerts");
    this.alerts = [...byID.values()];
    return this;
  }
}

function checkedDocuments(data) {
  const documents = list(data.documents, 10_000, "documents");
  for (const each of documents) need(isObject(each) && Number.isSafeInteger(each.number), "a document");
  return documents;
}

function checkedTrades(data) {
  const trades = list(data.trades, 10_000, "trades");
  for (const trade of trades) {
    need(isObject(trade) && Decimal.isValid(trade.price) && Decimal.isValid(trade.size), "a trade");
  }
  need(data.lost === undefined || isObject(data.lost), "lost trades");
  return trades;
}

/** The last trades by time: those that came late go to their places. */
function mergedTrades(value, data) {
  const news = checkedTrades(data);
  const trades = [...(value ?? []), ...news];
  if (news.some((trade) => trade.late === true)) trades.sort((a, b) => a.time - b.time);
  return trades.slice(-TRADES_KEPT);
}

const DECIMAL_FIELDS = new Set([
  "bid", "ask", "bid_size", "ask_size", "price", "previous", "change_pct", "change_pct_24h", "last", "open_24h", "high_24h",
  "low_24h", "volume_24h", "quote_volume_24h", "vwap_24h", "change_24h", "rate", "value", "day_profit", "day_percent", "cost",
  "unrealised", "unrealised_percent", "realised", "profit", "quantity", "share_percent", "size", "leverage", "entry", "mark",
  "index", "funding_rate", "predicted_rate", "open_interest", "open_interest_quote", "maintenance", "liquidation_price",
  "margin_percent", "basis_percent",
]);
const LIST_FIELDS = new Set([
  "polled", "computed", "own", "venues", "absent", "path", "holdings", "positions", "feeds",
]);

function checkedRecord(data) {
  for (const field in data) {
    if (DECIMAL_FIELDS.has(field)) need(Decimal.isValid(data[field]), field);
    if (LIST_FIELDS.has(field)) list(data[field], LINE_LIMIT, field);
  }
  return data;
}

function checkedLiquidations(data) {
  const liquidations = list(data.liquidations, 10_000, "liquidations");
  for (const each of liquidations) {
    need(isObject(each) && Decimal.isValid(each.price) && Decimal.isValid(each.size), "a liquidation");
  }
  return liquidations;
}

function checkedPortfolio(data) {
  checkedRecord(data);
  for (const line of [...(data.holdings ?? []), ...(data.positions ?? [])]) {
    need(isObject(line), "a line of a portfolio");
    checkedRecord(line);
  }
  return data;
}

// MARK: The binary encoding

const UTF8 = new TextDecoder();
const REASONS = ["subscribe", "resume", "resync", "slow", "epoch"];
const FIGURES = [
  "open_24h", "high_24h", "low_24h", "volume_24h", "quote_volume_24h", "vwap_24h", "change_24h", "trades_24h",
];
const PRICES = ["last", "bid", "ask", "open_24h", "high_24h", "low_24h"], SOURCES = ["venue", "gateway", "mixed"];
const INTERVALS = [["1m", 1], ["5m", 5], ["15m", 15], ["1h", 60], ["4h", 240], ["1d", 1_440]];
const RANGES = ["1h", "24h", "7d", "30d", "90d", "1y", "all"];

/** A number if it is exact, otherwise a BigInt of 64 bits. */
function narrow(value) {
  const wrapped = BigInt.asIntN(64, value);
  return wrapped >= -9007199254740991n && wrapped <= 9007199254740991n ? Number(wrapped) : wrapped;
}
function sum(a, b) {
  if (typeof a === "number" && typeof b === "number") {
    const result = a + b;
    if (Number.isSafeInteger(result)) return result;
  }
  return narrow(BigInt(a) + BigInt(b));
}
function difference(a, b) {
  if (typeof a === "number" && typeof b === "number") {
    const result = a - b;
    if (Number.isSafeInteger(result)) return result;
  }
  return narrow(BigInt(a) - BigInt(b));
}
/** An integer as `JSON.parse` reads it. */
function integer(value) {
  return typeof value === "number" ? value : Number(value);
}
function decimalText(value, digits) {
  if (typeof value === "bigint") return text(value, digits);
  if (digits === 0) return String(value);
  const plain = String(value < 0 ? -value : value), point = plain.length - digits;
  const sign = value < 0 ? "-" : "";
  if (point > 0) return sign + plain.slice(0, point) + "." + plain.slice(point);
  return sign + "0." + "0".repeat(-point) + plain;
}

const RECORDS = [undefined, "trades", "quote", "book", "pulse", "ticker", "candles", "sparkline"], GROUP = 15;

// The record that is being read; one at a time.
let bytes, index = 0, end = 0, time = 0, digits = { base: 0, price: 0, size: 0 }, decimal = decimalText;

// Bytes past the end are undefined: no varint ends with one, and `decode` checks how far the others went.
function readByte() { return bytes[index++]; }
/** Up to 28 bits here, up to 49 as a number; longer ones are read again as a BigInt. */
function readVarint() {
  const first = bytes[index++];
  if (first < 128) return first;
  const second = bytes[index++];
  if (second < 128) return shortest(second, first & 127 | second << 7);
  const third = bytes[index++];
  if (third < 128) return shortest(third, first & 127 | (second & 127) << 7 | third << 14);
  const fourth = bytes[index++];
  const low = first & 127 | (second & 127) << 7 | (third & 127) << 14;
  if (fourth < 128) return shortest(fourth, low | fourth << 21);
  return readLong(low | (fourth & 127) << 21);
}
function shortest(last, value) {
  if (last === 0) need(false, "a number that is longer than necessary");
  return value;
}
function readLong(low) {
  const start = index - 4;
  let value = low, factor = 268_435_456;
  for (let count = 4; count < 7; count += 1) {
    if (index >= end) need(false, "a record that is too short");
    const byte = bytes[index++];
    if (byte < 128) return shortest(byte, value + byte * factor);
    value += (byte & 127) * factor;
    factor *= 128;
  }
  index = start;
  return readWide();
}
function readWide() {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    if (index >= end) need(false, "a record that is too short");
    const byte = readByte();
    if (shift === 63n) need(byte <= 1, "a number of more than 64 bits");
    value |= BigInt(byte & 127) << shift;
    if (byte >= 128) continue;
    need(byte !== 0, "a number that is longer than necessary");
    return value;
  }
  return need(false, "a number of more than 64 bits");
}
function readUnsigned() {
  const value = readVarint();
  return typeof value === "number" || value > 9007199254740991n ? value : Number(value);
}
function readSigned() {
  const value = readVarint();
  if (typeof value === "number") {
    if (value < 2_147_483_648) return value >>> 1 ^ -(value & 1);
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
  return narrow(value & 1n ? -(value >> 1n) - 1n : value >> 1n);
}
/** The 64 bits of a number that is hardly ever negative. */
function readBits() {
  const value = readVarint();
  return typeof value === "number" ? value : narrow(value);
}
/** A number of items of so many bytes or more. */
function readCount(size) {
  const value = readVarint();
  if (typeof value !== "number" || value > (end - index) / size) need(false, "more items than bytes are left");
  return value;
}
function readDigits() {
  const value = readByte();
  if (!(value <= 18)) need(false, "a decimal of more than 18 digits");
  return value;
}
function readText() {
  const length = readCount(1), start = index;
  index += length;
  return UTF8.decode(bytes.subarray(start, index));
}
function readFixed(places) { return decimal(readSigned(), places); }
function readDecimal() {
  const places = readDigits();
  return decimal(readSigned(), places);
}
function readBefore() { return integer(difference(time, readSigned())); }
function readMark(data) {
  const state = readByte();
  if (state === 1) data.state = "live";
  if (state === 2) {
    data.state = "syncing";
    data.reason = readText();
  }
}
function priceText(value) { return decimal(value, digits.price); }
function sizeText(value) { return decimal(value, digits.size); }

function readRecord(find) {
  const first = readByte(), kind = first & 31, number = readVarint();
  if (index > end) need(false, "a record that is too short");
  const stream = typeof number === "number" ? find(number) : undefined;
  if (stream?.scale === undefined || kind < 1 || (kind > 7 && kind !== GROUP)) return null;
  const { channel, symbol } = stream;
  let { scale } = stream;
  const isGroup = scale.members !== undefined;
  const isOfStream = isGroup === (kind === GROUP) && (isGroup || RECORDS[kind] === channel);
  need(isOfStream, "a record of another channel than its stream's");
  const exact = readUnsigned(), seq = integer(exact);
  const message = first & 32
    ? { type: "snapshot", channel, symbol, stream: number, seq, reason: undefined, time: 0, data: undefined }
    : { type: "update", channel, symbol, stream: number, prev: 0, seq, time: 0, data: undefined };
  if (isGroup) {
    message.symbol = undefined;
    message.group = true;
  }
  if (first & 32) {
    message.reason = REASONS[readByte()] ?? "unknown";
    scale = { base: readSigned(), price: 0, size: 0, members: scale.members };
    if (!isGroup) scale = { base: scale.base, price: readDigits(), size: readDigits() };
    stream.scale = scale;
  } else {
    const step = first & 64 ? 1 : readUnsigned();
    need(step <= exact, "an update that follows a number below 0");
    message.prev = integer(difference(exact, step));
    if (first & 128) scale = { base: scale.base, price: readDigits(), size: readDigits(), members: scale.members };
  }
  digits = scale;
  time = sum(scale.base, readBits());
  message.time = integer(time);
  const isSnapshot = (first & 32) !== 0;
  message.data = isGroup ? readGroup(channel, scale, isSnapshot) : readData(kind, isSnapshot);
  return message;
}

function readData(kind, isSnapshot) {
  switch (kind) {
    case 1: return readTrades();
    case 2: return readQuote();
    case 3: return readBook(isSnapshot);
    case 4: return readPulse();
    case 5: return readTicker();
    case 6: return readCandles();
    default: return isSnapshot ? readLine() : readTip();
  }
}

/** Of a snapshot the members; then the elements, each with what one member has. */
function readGroup(channel, scale, isSnapshot) {
  const kind = readByte();
  need(RECORDS[kind] === channel, "a record of another channel than its stream's");
  if (isSnapshot) {
    const members = [];
    for (let left = readCount(3); left > 0; left -= 1) {
      members.push({ symbol: readText(), price: readDigits(), size: readDigits() });
    }
    need(members.length > 0, "a group without members");
    scale.members = members;
  }
  const { members } = scale, start = difference(time, readSigned()), updates = [];
  for (let left = readCount(2); left > 0; left -= 1) updates.push(readElement(kind, members, start, isSnapshot));
  return isSnapshot ? { members: members.map(({ symbol }) => symbol), updates } : { updates };
}

function readElement(kind, members, start, isSnapshot) {
  const head = readVarint(), flags = typeof head === "number" ? head % 4 : 0;
  const i = typeof head === "number" ? (head - flags) / 4 : Infinity, member = members[i];
  if (member === undefined) need(false, "an element of no member");
  digits = member;
  time = start;
  if (flags & 2) {
    digits = { price: readDigits(), size: readDigits() };
    time = sum(start, readSigned());
  }
  const isWhole = (flags & 1) !== 0, length = readCount(1), outer = end;
  end = index + length;
  const data = readData(kind, isSnapshot || isWhole);
  if (index > end) need(false, "an element that is too short");
  index = end;
  end = outer;
  return isWhole && !isSnapshot ? { i, snapshot: true, data } : { i, data };
}

function readPulse() {
  const flags = readByte(), price = readSigned();
  // What most have: one shape.
  if (flags === 7) {
    const previous = sum(price, readSigned());
    return {
      direction: price >= previous ? "up" : "down", price: priceText(price), previous: priceText(previous),
      change_pct: readFixed(4), change_pct_24h: readFixed(2), merged: integer(readUnsigned()), time: readBefore(),
    };
  }
  const data = {};
  if (flags & 1) {
    const previous = sum(price, readSigned());
    data.direction = price >= previous ? "up" : "down";
    data.price = priceText(price);
    data.previous = priceText(previous);
  } else {
    data.price = priceText(price);
  }
  if (flags & 2) data.change_pct = readFixed(4);
  if (flags & 4) data.change_pct_24h = readFixed(2);
  data.merged = integer(readUnsigned());
  data.time = readBefore();
  if (flags & 8) readMark(data);
  return data;
}

function readQuote() {
  const bidSize = readBits(), bid = bidSize === 0 ? 0 : readSigned();
  const askSize = readBits(), ask = askSize === 0 ? 0 : sum(bid, readSigned());
  const at = readBefore();
  let data;
  if (bidSize !== 0 && askSize !== 0) {
    data = {
      bid: priceText(bid), bid_size: sizeText(bidSize), ask: priceText(ask), ask_size: sizeText(askSize), time: at,
    };
  } else {
    data = { time: at };
    if (bidSize !== 0) Object.assign(data, { bid: priceText(bid), bid_size: sizeText(bidSize) });
    if (askSize !== 0) Object.assign(data, { ask: priceText(ask), ask_size: sizeText(askSize) });
  }
  if (index < end) readMark(data);
  return data;
}

function readTrades() {
  const trades = [], data = { trades };
  let id = 0, price = 0, at = time;
  while (index < end) {
    // A run of trades with the same flags; one without trades is the last.
    const run = readVarint(), flags = typeof run === "number" ? run % 32 : 0;
    const left = typeof run === "number" ? (run - flags) / 32 : Infinity;
    if (left > (end - index) / 4) need(false, "more trades than bytes are left");
    if (left === 0) break;
    for (let count = 0; count < left; count += 1) {
      let name;
      if (flags & 2) {
        id = sum(id, readSigned());
        name = typeof id === "number" && id >= 0 ? String(id) : BigInt.asUintN(64, BigInt(id)).toString();
      } else {
        name = readText();
      }
      price = sum(price, readSigned());
      const size = readBits();
      at = sum(at, readSigned());
      const trade = {
        id: name, price: priceText(price), size: sizeText(size), side: flags & 1 ? "sell" : "buy", time: integer(at),
      };
      if (flags & 12) trade.gap = true;
      if (flags & 8) trade.renumbered = true;
      if (flags & 16) trade.late = true;
      trades.push(trade);
    }
  }
  if (index < end) readMark(data);
  if (index < end) readHole(data);
  return data;
}

function readHole(data) {
  const kind = readByte();
  if (kind !== 1 && kind !== 2) return;
  const first = readSigned(), hole = { from_id: String(first), to_id: String(sum(first, readSigned())) };
  let flags = 0;
  if (kind === 2) {
    hole.count = integer(readSigned());
    hole.missing = integer(readSigned());
  } else {
    flags = readByte();
    if (flags & 1) hole.count = integer(readSigned());
  }
  const from = sum(time, readSigned());
  hole.from = integer(from);
  hole.to = integer(sum(from, readSigned()));
  if (kind === 1) hole.requested = (flags & 2) !== 0;
  data[kind === 1 ? "lost" : "found"] = hole;
}

function readBook(isSnapshot) {
  const flags = readByte();
  firstPrice = 0;
  const bids = readSide(0), bid = firstPrice;
  const asks = readSide(bid), ask = firstPrice;
  let data = { bids, asks, time: readBefore() };
  if (flags & 1) {
    data.state = "syncing";
    data.reason = readText();
  } else if (isSnapshot) {
    data.state = "live";
    if (bids.length > 0 && asks.length > 0) data.spread = priceText(difference(ask, bid));
  }
  if (flags & 2) data.spread_pct = readFixed(4);
  if (flags & 4) {
    const members = readText();
    let more;
    try { more = JSON.parse(`{${members.slice(1)}}`); } catch { need(false, "members that are not JSON"); }
    need(members[0] === ",", "members without a comma before them");
    data = { ...more, ...data };
  }
  return data;
}

/** Levels, best first, the first price after `price`; `firstPrice` becomes the price of the first. */
function readSide(price) {
  const count = readCount(2), levels = new Array(count);
  for (let level = 0; level < count; level += 1) {
    price = sum(price, readSigned());
    if (level === 0) firstPrice = price;
    const size = readBits();
    levels[level] = [priceText(price), size === 0 ? "0" : sizeText(size)];
  }
  return levels;
}
let firstPrice = 0;

function readTicker() {
  const fields = readVarint(), source = readByte(), data = {};
  if (typeof fields !== "number") return need(false, "fields of a ticker");
  let price = 0, last = 0, open = 0;
  for (let bit = 0; bit < PRICES.length; bit += 1) {
    if ((fields & 1 << bit) === 0) continue;
    price = sum(price, readSigned());
    if (bit === 0) last = price;
    if (bit === 3) open = price;
    data[PRICES[bit]] = priceText(price);
  }
  if (fields & 64) data.volume_24h = readDecimal();
  if (fields & 128) data.quote_volume_24h = readDecimal();
  if (fields & 256) data.vwap_24h = readDecimal();
  if (fields & 512) data.change_24h = readDecimal();
  else if (fields & 1_024) data.change_24h = priceText(difference(last, open));
  if (fields & 2_048) data.change_pct_24h = readFixed(2);
  if (fields & 4_096) data.trades_24h = integer(readSigned());
  data.source = SOURCES[source] ?? "unknown";
  if (fields & 8_192) data.own = ownFigures(readByte());
  if (fields & 16_384) data.covered_from = readBefore();
  data.time = readBefore();
  if (fields & 32_768) readMark(data);
  return data;
}
function ownFigures(bits) {
  const names = [];
  for (let bit = 0; bit < FIGURES.length; bit += 1) {
    if ((bits & 1 << bit) === 0) continue;
    names.push(FIGURES[bit]);
    if (bit === 6) names.push("change_pct_24h");
  }
  return names;
}

function readCandles() {
  const interval = INTERVALS[readByte()];
  need(interval !== undefined, "an unknown interval");
  const candles = [];
  let number = 0, close = 0;
  for (let left = readCount(7); left > 0; left -= 1) {
    const flags = readByte();
    number = sum(number, readSigned());
    const at = typeof number === "number" ? number * interval[1] * 60_000_000 : NaN;
    const open = sum(close, readSigned());
    const candle = {
      time: Number.isSafeInteger(at) ? at : integer(narrow(BigInt(number) * BigInt(interval[1]) * 60_000_000n)),
      open: priceText(open),
      high: priceText(sum(open, readSigned())),
      low: priceText(sum(open, readSigned())),
      close: "",
    };
    close = sum(open, readSigned());
    candle.close = priceText(close);
    if (flags & 2) candle.volume = readDecimal();
    if (flags & 4) candle.quote_volume = readDecimal();
    if (flags & 8) candle.trades = integer(readSigned());
    candle.closed = (flags & 1) !== 0;
    candle.rev = integer(readUnsigned());
    candle.source = ["own", "partial", "venue", "unknown"][flags >> 4 & 3];
    candles.push(candle);
  }
  return { interval: interval[0], candles };
}

function readLine() {
  const flags = readByte(), range = RANGES[readByte()], points = [], gaps = [];
  need(range !== undefined, "an unknown range");
  const data = { range, from: readBefore(), step_s: integer(readSigned()), points };
  let price = 0;
  for (let left = readCount(1); left > 0; left -= 1) {
    price = sum(price, readSigned());
    points.push(priceText(price));
  }
  readChange(data, flags, price);
  if (flags & 64) data.covered_from = readBefore();
  data.gaps = gaps;
  for (let left = readCount(2); left > 0; left -= 1) {
    const from = difference(time, readSigned());
    gaps.push({ from: integer(from), to: integer(sum(from, readSigned())) });
  }
  return data;
}

function readTip() {
  const flags = readByte(), place = integer(readUnsigned()), price = readSigned();
  const data = { index: place, price: priceText(price), from: readBefore() };
  readChange(data, flags, price);
  return data;
}

function readChange(data, flags, price) {
  if (!(flags & 1)) return;
  if (flags & 2) data.open = priceText(sum(price, readSigned()));
  data.trend = flags & 16 ? "up" : flags & 32 ? "down" : "flat";
  if (flags & 4) data.change = readDecimal();
  if (flags & 8) data.change_pct = readFixed(2);
}

/**
 * Reads binary messages of `tidegate.v1.bin`, as the gateway's page on the binary encoding specifies them, into the
 * messages that `tidegate.v1.json` has. Nothing is read past the end of a message.
 */
export class BinaryDecoder {
  #decimal;

  /** `scaled`: decimals are integers in units of 10^-digits, BigInts above 2^53, instead of strings. */
  constructor({ scaled = false } = {}) {
    this.#decimal = scaled ? (value) => value : decimalText;
  }

  /**
   * The message of a record, a `Uint8Array`; null: the record is not known. `find` returns what is known of the stream
   * of a number: `{channel, symbol, scale: {base, price, size}}`; the `scale` of a group has `members` as well, in order:
   * `{symbol, price, size}`. A snapshot replaces the `scale`. Throws at bytes that the encoding does not have.
   */
  decode(record, find) {
    bytes = record;
    index = 0;
    end = record.length;
    decimal = this.#decimal;
    const message = readRecord(find);
    if (message !== null && index > end) need(false, "a record that is too short");
    return message;
  }
}

// MARK: Channels

/** Updates change the value, which is `undefined` before a snapshot. */
function mergedBy(Kind) { return (value, data) => (value === undefined ? Kind.from(data) : value.apply(data)); }
function whole(_, data) { return checkedRecord(data); }

/**
 * How a channel's messages become its value, and its parameters beside symbol and rate. `isEvents`: each message
 * counts, and no snapshot repairs a gap. `isNameless`: it has no symbol.
 */
const CHANNELS = new Map(Object.entries({
  trades: { isEvents: true, merge: mergedTrades },
  quote: { merge: (_, data) => new Quote(data) },
  ticker: { merge: whole },
  pulse: { merge: whole },
  derivative: { merge: whole },
  // Only a snapshot says whether the exchange tells of all (`complete`).
  liquidations: {
    isEvents: true, merge: (value, data) => [...(value ?? []), ...checkedLiquidations(data)].slice(-TRADES_KEPT),
  },
  book: { merge: mergedBy(Book), parameters: ["depth"] },
  sparkline: { merge: mergedBy(Sparkline), parameters: ["range", "points"] },
  candles: { merge: mergedBy(CandleSeries), parameters: ["interval"] },
  rate: { merge: whole },
  deck: { merge: whole, parameters: ["zone"] },
  topic: {
    isEvents: true, parameters: ["last"], merge: (value, data) => [...(value ?? []), ...checkedDocuments(data)].slice(-DOCUMENT_LIMIT),
  },
  status: { isNameless: true, merge: whole },
  alerts: { isNameless: true, merge: mergedBy(AlertList) },
  portfolio: {
    isNameless: true, parameters: ["portfolio", "currency", "holdings", "positions"], merge: (_, data) => checkedPortfolio(data),
  },
}));

// MARK: Subscriptions

class Subscription {
  state = "pending";
  error = undefined;
  #gateway;
  #listener;
  #waiters = new Set();
  /** Why the client has ended. */
  #ending = undefined;

  constructor(gateway, request, listener) {
    this.#gateway = gateway;
    this.request = request;
    this.#listener = listener;
  }

  value = undefined;

  cancel() {
    if (this.state === "cancelled") return;
    this.state = "cancelled";
    this.#gateway._cancelled(this);
    for (const waiter of this.#waiters) waiter.end();
    this.#waiters.clear();
  }

  _deliver(value, info) {
    if (this.state === "cancelled") return;
    if (value !== undefined) this.value = value;
    if (this.#listener) call(this.#listener, [value, info], this.#gateway);
    if (info.type === "state") return;
    for (const waiter of this.#waiters) waiter.push({ value, info });
  }

  /** The client has ended, for good. */
  _end(problem) {
    if (this.state === "cancelled") return;
    this.state = "failed";
    this.error = this.#ending = problem;
    const { channel, symbol = "" } = this.request;
    if (this.#listener) call(this.#listener, [undefined, { type: "end", channel, symbol, error: problem }], this.#gateway);
    for (const waiter of this.#waiters) waiter.end(problem);
  }

  [Symbol.asyncIterator]() {
    const queue = [];
    const isState = !CHANNELS.get(this.request.channel).isEvents;
    let skipped = 0, wake = null, failure = this.#ending, isOver = this.state === "cancelled" || failure !== undefined;
    const waiter = {
      push: (item) => {
        const place = isState && item.value !== undefined
          ? queue.findIndex((waiting) => waiting.value !== undefined && waiting.info.symbol === item.info.symbol) : -1;
        if (place >= 0) queue[place] = item;
        else queue.push(item);
        if (queue.length > ITERATOR_LIMIT) { queue.shift(); skipped += 1; }
        wake?.();
      },
      end: (problem) => { failure = problem; isOver = true; wake?.(); },
    };
    this.#waiters.add(waiter);
    const finish = () => {
      this.#waiters.delete(waiter);
      isOver = true;
      queue.length = 0;
      wake?.();
      return Promise.resolve({ value: undefined, done: true });
    };
    return {
      next: async () => {
        while (queue.length === 0 && !isOver) {
          await new Promise((resolve) => { wake = resolve; });
          wake = null;
        }
        if (queue.length === 0 && failure !== undefined) {
          const problem = failure;
          failure = undefined;
          await finish();
          throw problemError(problem);
        }
        if (queue.length === 0) return finish();
        const item = queue.shift();
        if (skipped > 0) { item.info = { ...item.info, skipped }; skipped = 0; }
        return { value: item, done: false };
      },
      return: finish,
      [Symbol.asyncIterator]() { return this; },
    };
  }
}

function problemError(problem) { return Object.assign(new Error(problem.message), problem); }

/** Calls the app's function. Reports its error and continues. */
function call(listener, parameters, gateway) {
  try {
    listener(...parameters);
  } catch (error) {
    if (typeof reportError === "function") reportError(error);
    else gateway._later(() => { throw error; });
  }
}

/** An item that several subscriptions may share. */
function wish(request) {
  const { channel } = request;
  if (!CHANNELS.has(channel)) {
    throw new TypeError(`unknown channel ${JSON.stringify(channel)}: one of ${[...CHANNELS.keys()].join(", ")}`);
  }
  const { isNameless = false, parameters = [] } = CHANNELS.get(channel);
  const symbol = isNameless ? "" : request.symbol;
  const isOther = ["topic", "rate", "deck"].includes(channel);
  if (typeof symbol !== "string" || (!isNameless && (isOther ? symbol === "" : !symbol.includes(":")))) {
    throw new TypeError("`symbol` is venue:BASE-QUOTE, such as kraken:BTC-USD; for a rate BASE-QUOTE, for a topic or deck its name");
  }
  const item = { channel, symbol };
  for (const parameter of parameters) if (request[parameter] !== undefined) item[parameter] = request[parameter];
  if (!isNameless && request.intervalMilliseconds !== undefined) {
    item.interval_ms = request.intervalMilliseconds;
  }
  return item;
}

function wireItem(item) {
  const { symbol, ...rest } = item;
  return symbol === "" ? rest : { ...rest, symbols: [symbol] };
}

/**
 * Whether an item may be a member of a group: the channel has groups, at a rate at which several members share a
 * message. Composite markets cannot be members.
 */
function mayBeGrouped({ channel, symbol, depth, interval_ms: rate }) {
  if (symbol.startsWith("composite:")) return false;
  switch (channel) {
    case "pulse": return true;
    case "ticker":
    case "sparkline": return rate !== 0;
    case "quote": return rate > 0;
    case "book": return rate > 0 && (depth === undefined || depth === 10 || depth === 25);
    default: return false;
  }
}

// MARK: The connection

const NOT_CONNECTED = {
  code: "not_connected", message: "there is no connection to the gateway", hint: "look whether it was done, or send it again after the state `connected`",
};
const END_HINT = "make another client when the cause is gone: the URL, the token, the certificate, or what the reason names";

/**
 * Whether a handshake that was answered with this status may succeed later: `passes`. `passesOnceMet`: only where a
 * gateway has answered before; otherwise the URL is wrong. `lasts`: the request is refused for good.
 */
function prospectOf(status) {
  if ([408, 425, 429].includes(status)) return "passes";
  if ([404, 421, 501, 505].includes(status) || status < 400) return "passesOnceMet";
  return status < 500 ? "lasts" : "passes";
}

/** Certificates and TLS that will fail again: the codes of Node. */
const LASTING_CODES = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET_ISSUER|VERIFY)|ERR_TLS_CERT_|ERR_SSL_)/;

/** What a failed attempt says of itself. Browsers say nothing; Node has words, and the package `ws` the status. */
function attemptFailure(event) {
  const words = short(event?.error?.message ?? event?.message);
  const status = /^Unexpected server response: (\d{3})$/.exec(words)?.[1];
  if (status !== undefined) return { words: `the server answered ${status}`, prospect: prospectOf(Number(status)), isUnauthorized: status === "401" };
  return { words, prospect: LASTING_CODES.test(event?.error?.code ?? "") ? "passesOnceMet" : "passes" };
}

/** What tests replace. */
function hostEnvironment() {
  return {
    WebSocket: globalThis.WebSocket,
    now: () => performance.now(),
    setTimeout: (work, milliseconds) => globalThis.setTimeout(work, milliseconds),
    clearTimeout: (timer) => globalThis.clearTimeout(timer),
    random: Math.random,
    document: globalThis.document,
    window: globalThis,
    location: globalThis.location,
  };
}

export class Tidegate {
  state = "disconnected";
  welcome = undefined;
  feeds = new Map();
  traffic = { messages: 0, records: 0, bytes: 0, wakeUps: 0, milliseconds: 0 };

  #environment;
  #url;
  #token;
  #client;
  #heartbeatSeconds;
  #pausesWhenHidden;
  #usesGroups;
  /** The version of a gateway that has no groups. */
  #versionWithoutGroups = undefined;
  #listeners = new Map();

  #socket = null;
  #isOpen = false;
  #isStopped = false;
  #attempt = 0;
  #isTokenRefused = false;
  /** Whether a gateway has answered: the URL leads to one. */
  #hasMetGateway = false;
  /** Why the client has ended; undefined: it has not. */
  #ending = undefined;
  #received = 0;
  #decoder = new BinaryDecoder();
  #session = undefined;
  /** The token, removed from server texts for pages and logs. */
  #secret = undefined;
  #nextID = 1;
  /** Requests without a reply yet: id → {kind, items, deadline}. */
  #pending = new Map();
  /** Wanted items by key: {item, key, subscriptions, numbers of its streams, isAsked, hasFailed, retryAt}. */
  #wishes = new Map();
  /** Wishes that may have no subscription left. */
  #unfollowed = new Set();
  /** The app's requests that wait for a connection: {request, asker, deadline}. */
  #unsent = [];
  /** Streams by number. */
  #streams = new Map();
  /** The last connection's streams, for `resume`. */
  #left = undefined;
  #timers = new Map();
  #outbox = [];
  #tokens = 20;
  #rate = 20;
  #refilledAt = 0;
  #isPaused = false;
  #isHidden = false;
  #unhook = [];
  #connection = 0;

  constructor(options = {}) {
    this.#environment = { ...hostEnvironment(), ...(options.environment ?? {}) };
    this.#url = streamURL(options.url, this.#environment.location);
    this.#token = options.token;
    this.#client = options.client ?? "tidegate.js";
    this.#heartbeatSeconds = options.heartbeatSeconds ?? 5;
    this.#pausesWhenHidden = options.pausesWhenHidden ?? true;
    this.#usesGroups = options.usesGroups ?? true;
    if (typeof this.#environment.WebSocket !== "function") {
      throw new TypeError("there is no WebSocket: pass one as environment.WebSocket (Node before 22: the package `ws`)");
    }
    this.#hook();
    this.#setState("connecting");
    this._later(() => this.#connect());
  }

  on(name, listener) {
    if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
    this.#listeners.get(name).add(listener);
    return () => this.#listeners.get(name)?.delete(listener);
  }

  subscribe(request, listener) {
    const item = wish(request);
    // Equal for equal requests: `wish` orders the fields.
    const key = JSON.stringify(item);
    const subscription = new Subscription(this, { ...request, key }, listener);
    let entry = this.#wishes.get(key);
    if (entry === undefined) {
      if (this.#wishes.size - this.#unfollowed.size >= STREAM_LIMIT) throw new RangeError(`at most ${STREAM_LIMIT} subscriptions`);
      entry = { item, key, subscriptions: new Set(), numbers: new Set(), isAsked: false, hasFailed: false };
      this.#wishes.set(key, entry);
    }
    if (entry.hasFailed) entry.isAsked = entry.hasFailed = false;
    entry.subscriptions.add(subscription);
    this.#unfollowed.delete(entry);
    if (this.#ending !== undefined) {
      this._later(() => subscription._end(this.#ending));
      return subscription;
    }
    for (const stream of this.#streamsOf(entry)) {
      if (!stream.isSynced) continue;
      subscription.state = "live";
      const type = "snapshot";
      this._later(() => subscription._deliver(stream.value, { type, reason: "shared", ...about(stream), data: undefined }));
    }
    this.#wantSubscriptions();
    return subscription;
  }

  configure({ intervalMilliseconds }) { this.#request({ op: "configure", interval_ms: intervalMilliseconds }, "other"); }

  pause() {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#request({ op: "pause" }, "other");
  }
  resume() {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#request({ op: "resume" }, "other");
  }

  ask(request) {
    return new Promise((resolve, reject) => {
      const asker = { resolve, reject: (problem) => reject(problemError(problem)) };
      if (this.#isStopped || this.#ending !== undefined || this.#unsent.length >= UNSENT_LIMIT) return asker.reject(this.#notConnected);
      this.#unsent.push({ request, asker, deadline: this.#environment.now() + REPLY_TIMEOUT });
      this.#sendAsked();
    });
  }

  reconnect() {
    if (this.#isStopped || this.state !== "reconnecting") return;
    this.#attempt = 0;
    this.#connect();
  }

  close() {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#drop(1000);
    for (const undo of this.#unhook) undo();
    for (const timer of this.#timers.values()) this.#environment.clearTimeout(timer);
    this.#timers.clear();
    this.#refuseAsked();
    this.#setState("disconnected", { reason: "closed" });
    for (const entry of [...this.#wishes.values()]) for (const each of [...entry.subscriptions]) each.cancel();
  }

  _cancelled(subscription) {
    const entry = this.#wishes.get(subscription.request.key);
    if (entry === undefined || !entry.subscriptions.delete(subscription) || entry.subscriptions.size > 0) return;
    this.#unfollowed.add(entry);
    // Not at once: pages often cancel many together, and subscribe to some of them again.
    if (!this.#isStopped) this.#wantSubscriptions();
  }

  _later(work) { this.#environment.setTimeout(work, 0); }

  // MARK: Life

  #emit(name, ...parameters) {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) call(listener, parameters, this);
  }

  #setState(state, detail = {}) {
    if (this.state === state && state !== "reconnecting") return;
    this.state = state;
    this.#emit("state", state, detail);
  }

  #timer(name, milliseconds, work) {
    const old = this.#timers.get(name);
    if (old !== undefined) this.#environment.clearTimeout(old);
    this.#timers.delete(name);
    if (work === undefined) return;
    this.#timers.set(
      name,
      this.#environment.setTimeout(() => {
        this.#timers.delete(name);
        work();
      }, milliseconds));
  }

  async #connect() {
    if (this.#isStopped) return;
    this.#timer("retry");
    this.#drop(1000);
    this.#connection += 1;
    const connection = this.#connection;
    let token;
    try {
      token = typeof this.#token === "function" ? await this.#token() : this.#token;
    } catch (error) {
      if (connection === this.#connection) this.#lost(`there is no token: ${short(String(error?.message ?? error))}`);
      return;
    }
    if (this.#isStopped || connection !== this.#connection) return;
    this.#secret = typeof token === "string" && token.length >= SECRET_LENGTH ? token : undefined;
    let socket;
    try {
      socket = new this.#environment.WebSocket(this.#url, SUBPROTOCOLS);
      socket.binaryType = "arraybuffer";
    } catch (error) {
      return this.#end(`cannot connect to ${this.#url}: ${short(String(error?.message ?? error))}`);
    }
    this.#socket = socket;
    this.#timer("open", OPEN_TIMEOUT, () => this.#lost("the connection was not open after 10 s"));
    let failure;
    socket.onopen = () => { if (socket === this.#socket) this.#opened(token); };
    socket.onmessage = (event) => { if (socket === this.#socket) this.#take(event.data); };
    socket.onerror = (event) => { failure = attemptFailure(event); };
    socket.onclose = (event) => { if (socket === this.#socket) this.#closed(event.code, this.#said(event.reason), failure); };
  }

  /** Does not wait for the close: a dead socket has none. */
  #drop(code) {
    this.#timer("open");
    this.#timer("heartbeat");
    this.#timer("drain");
    this.#timer("replies");
    this.#timer("send");
    const socket = this.#socket;
    this.#socket = null;
    if (this.#isOpen) this.#leave();
    this.#isOpen = false;
    for (const { asker } of this.#pending.values()) asker?.reject(this.#notConnected);
    this.#pending.clear();
    // What was not sent waits for the next connection.
    this.#unsent.unshift(...this.#outbox.filter(({ asker }) => asker !== undefined));
    this.#outbox = [];
    if (socket) {
      socket.onopen = socket.onmessage = socket.onerror = socket.onclose = null;
      try { socket.close(code); } catch { /* it was not open yet */ }
    }
  }

  /** Stores where each stream stopped, and marks all as waiting. Groups begin anew: their messages are whole, mostly. */
  #leave() {
    const streams = [];
    for (const stream of this.#streams.values()) {
      if (stream instanceof Group || !stream.isSynced) continue;
      if (stream.seq === undefined || stream.epoch === undefined) continue;
      streams.push(stream);
    }
    if (this.#session !== undefined) this.#left = { session: this.#session, streams };
    this.#session = undefined;
    for (const entry of this.#wishes.values()) {
      entry.numbers.clear();
      entry.isAsked = entry.isAlone = false;
      entry.retryAt = undefined;
      for (const each of entry.subscriptions) if (each.state === "live") this.#mark(each, "waiting");
    }
    this.#streams.clear();
  }

  #mark(subscription, state, info = {}) {
    if (subscription.state === state || subscription.state === "cancelled") return;
    subscription.state = state;
    subscription._deliver(undefined, { type: "state", state, symbol: subscription.request.symbol ?? "", ...info });
  }

  #closed(code, reason, failure) {
    if (code === 1006 && !reason && failure?.words) {
      const why = this.#said(failure.words);
      if (failure.isUnauthorized && this.#mayReplaceToken()) return this.#again(why, 0);
      if (failure.prospect === "lasts") return this.#end(why);
      return failure.prospect === "passes" ? this.#lost(why) : this.#unusable(why);
    }
    const why = reason ? `${reason} (${code})` : `closed with ${code}`;
    if (code === 4001 && this.#mayReplaceToken()) return this.#again(why, 0);
    if (code >= 4000 && code <= 4099) return this.#end(why);
    if (code >= 4200 && code <= 4299 && this.#attempt === 0) return this.#again(why, 0);
    this.#lost(why);
  }

  /** Whether another token may be tried: once in a row, if there is a source of tokens. */
  #mayReplaceToken() {
    if (typeof this.#token !== "function" || this.#isTokenRefused) return false;
    this.#isTokenRefused = true;
    return true;
  }

  /** The server is no gateway. Where one has answered before, that passes. */
  #unusable(reason) {
    if (this.#hasMetGateway) this.#lost(reason);
    else this.#end(reason);
  }

  #lost(reason) {
    const cap = Math.min(LAST_BACKOFF, FIRST_BACKOFF * 2 ** Math.min(this.#attempt, 20));
    this.#again(reason, Math.floor(this.#environment.random() * cap));
  }

  #again(reason, inMilliseconds) {
    this.#drop(1000);
    if (this.#isStopped) return;
    this.#attempt += 1;
    this.#setState("reconnecting", { reason, inMilliseconds });
    this.#timer("retry", inMilliseconds, () => this.#connect());
  }

  /** Ends for good: a retry cannot help. */
  #end(reason) {
    this.#drop(1000);
    this.#ending = { code: "ended", message: reason, hint: END_HINT };
    this.#refuseAsked();
    this.#setState("disconnected", { reason });
    for (const entry of [...this.#wishes.values()]) for (const each of [...entry.subscriptions]) each._end(this.#ending);
  }

  #hook() {
    const { window, document } = this.#environment;
    const add = (target, name, work) => {
      if (typeof target?.addEventListener !== "function") return;
      target.addEventListener(name, work);
      this.#unhook.push(() => target.removeEventListener(name, work));
    };
    add(window, "online", () => this.reconnect());
    // A dead network gives no close event: ping now.
    add(window, "offline", () => { if (this.#isOpen) this.#request({ op: "ping" }, "other", undefined, 2_000); });
    if (!this.#pausesWhenHidden || document === undefined) return;
    add(document, "visibilitychange", () => {
      this.#isHidden = document.visibilityState === "hidden";
      if (this.#isHidden) {
        this.#timer("hidden", HIDDEN_GRACE, () => { if (this.#isHidden) this.#hidden(true); });
      } else {
        this.#timer("hidden");
        this.#hidden(false);
        this.reconnect();
      }
    });
  }

  #pausedByPage = false;
  #hidden(isHidden) {
    if (isHidden && !this.#isPaused) {
      this.#pausedByPage = true;
      this.pause();
    } else if (!isHidden && this.#pausedByPage) {
      this.#pausedByPage = false;
      this.resume();
    }
  }

  // MARK: Requests

  #opened(token) {
    const { protocol } = this.#socket;
    if (typeof protocol === "string" && !SUBPROTOCOLS.includes(protocol)) {
      return this.#unusable(`the server does not speak ${SUBPROTOCOLS.join(" or ")}`);
    }
    this.#timer("open");
    this.#isOpen = true;
    this.#received = 0;
    this.#tokens = this.#rate;
    this.#refilledAt = this.#environment.now();
    const hello = { op: "hello", client: this.#client, heartbeat_s: this.#heartbeatSeconds };
    if (token !== undefined && token !== null) hello.token = token;
    const left = this.#left;
    this.#left = undefined;
    const resumed = [];
    if (left !== undefined) {
      // No request names a channel and symbol twice, so that its answer is unambiguous.
      const names = new Set();
      for (const stream of left.streams.slice(0, ITEMS_PER_REQUEST)) {
        const entries = [...stream.entries].filter((entry) => entry.subscriptions.size > 0);
        const name = `${stream.channel}|${stream.symbol}`;
        if (entries.length === 0 || names.has(name)) continue;
        names.add(name);
        resumed.push({ stream, entries });
      }
      hello.resume = {
        session: left.session,
        streams: resumed.map(({ stream, entries }) => {
          const { symbol: _, symbols: __, ...parameters } = wireItem(entries[0].item);
          const position = { stream: stream.number, epoch: stream.epoch, seq: stream.seq };
          return stream.symbol === ""
            ? { ...parameters, ...position } : { ...parameters, symbol: stream.symbol, ...position };
        }),
      };
      for (const { entries } of resumed) {
        for (const entry of entries) if (!entry.item.symbol.includes("*")) entry.isAsked = true;
      }
    }
    this.#watchHeartbeat(Math.max(this.#heartbeatSeconds, 1) + REPLY_TIMEOUT / 1_000);
    this.#request(hello, "hello", resumed);
    if (this.#isPaused) this.#request({ op: "pause" }, "other");
    this.#wantSubscriptions();
  }

  #wantSubscriptions() {
    if (this.#timers.has("subscribe")) return;
    this.#timer("subscribe", 0, () => this.#subscribeAll());
  }

  /** Ends what nobody follows any more, and requests every wish that is not requested yet. */
  #subscribeAll() {
    this.#endUnfollowed();
    if (!this.#isOpen) return;
    let batches = [];
    const now = this.#environment.now();
    const wanted = [...this.#wishes.values()].filter(
      (entry) => !entry.isAsked && entry.subscriptions.size > 0 && (entry.retryAt ?? 0) <= now);
    this.#askForGroups(wanted);
    for (const entry of wanted) {
      if (entry.isAsked) continue;
      entry.isAsked = true;
      const name = `${entry.item.channel}|${entry.item.symbol}`;
      const isWild = entry.item.symbol.includes("*");
      let batch = isWild
        ? undefined : batches.find((each) => each.entries.length < ITEMS_PER_REQUEST && !each.isWild && !each.names.has(name));
      if (batch === undefined) batches.push((batch = { entries: [], names: new Set(), isWild }));
      batch.entries.push(entry);
      batch.names.add(name);
    }
    for (const { entries } of batches) {
      this.#request({ op: "subscribe", streams: entries.map((entry) => wireItem(entry.item)) }, "subscribe", entries);
    }
  }

  /** Asks for the symbols of a watchlist as one stream: one message a tick, however many of them move. */
  #askForGroups(entries) {
    if (!this.#usesGroups || this.#versionWithoutGroups !== undefined) return;
    const sets = new Map();
    for (const entry of entries) {
      if (entry.isAlone || !mayBeGrouped(entry.item)) continue;
      const { symbol, ...parameters } = entry.item;
      // A pattern alone: its answer would not tell it from others.
      const name = JSON.stringify(symbol.includes("*") ? entry.item : parameters);
      if (!sets.has(name)) sets.set(name, []);
      sets.get(name).push(entry);
    }
    for (const set of sets.values()) {
      if (set.length < 2 && !set[0].item.symbol.includes("*")) continue;
      for (let start = 0; start < set.length; start += ITEMS_PER_REQUEST) {
        const part = set.slice(start, start + ITEMS_PER_REQUEST), { symbol: _, ...parameters } = part[0].item;
        for (const entry of part) entry.isAsked = true;
        const symbols = part.map(({ item }) => item.symbol);
        this.#request({ op: "subscribe", streams: [{ ...parameters, symbols, group: true }] }, "group", part);
      }
    }
  }

  /** The streams of an item, or the members of groups that are its. */
  *#streamsOf(entry) {
    for (const number of entry.numbers) {
      const stream = this.#streams.get(number);
      if (stream instanceof Group) {
        for (const part of stream.parts.values()) if (part.entries.has(entry)) yield part;
      } else if (stream !== undefined) {
        yield stream;
      }
    }
  }

  /** Asks again for what these streams had, which are not followed any more. */
  #askAgain(stream) {
    const parts = stream instanceof Group ? [...stream.parts.values()] : [stream];
    const entries = parts.flatMap((part) => [...part.entries]);
    for (const entry of entries) {
      entry.numbers.delete(stream.number);
      entry.isAsked = false;
    }
    this.#wantSubscriptions();
  }

  /**
   * Unsubscribes from streams that nobody follows. Not while an answer is outstanding that may name one of them, because
   * somebody subscribed to it again, or to another item that is the same stream to the gateway: the gateway would read
   * `unsubscribe` after that request, and end what its answer has just granted.
   */
  #endUnfollowed() {
    const names = ({ kind }) => kind === "subscribe" || kind === "group" || kind === "hello";
    if (this.#unfollowed.size === 0 || this.#outbox.some(names) || [...this.#pending.values()].some(names)) return;
    const free = [], thinned = new Set();
    for (const entry of this.#unfollowed) {
      this.#wishes.delete(entry.key);
      for (const number of entry.numbers) {
        const stream = this.#streams.get(number);
        if (stream instanceof Group) {
          for (const [symbol, part] of stream.parts) {
            if (part.entries.delete(entry) && part.entries.size === 0) stream.parts.delete(symbol);
          }
          thinned.add(stream);
          continue;
        }
        stream?.entries.delete(entry);
        if (stream?.entries.size === 0) free.push(number);
      }
    }
    for (const group of thinned) {
      if (group.parts.size * 2 >= group.symbols.length) continue;
      // Most members are not followed any more: a smaller group is cheaper.
      free.push(group.number);
      this.#askAgain(group);
    }
    this.#unfollowed.clear();
    this.#unsubscribe(free);
  }

  #unsubscribe(numbers) {
    for (const number of numbers) this.#streams.delete(number);
    for (let start = 0; start < numbers.length; start += NUMBERS_PER_REQUEST) {
      this.#request({ op: "unsubscribe", streams: numbers.slice(start, start + NUMBERS_PER_REQUEST) }, "other");
    }
  }

  get #notConnected() {
    const why = this.#ending;
    return why === undefined ? NOT_CONNECTED : { ...NOT_CONNECTED, message: `${NOT_CONNECTED.message}: ${why.message}`, hint: why.hint };
  }

  /** Sends what the app asked for, as soon as the gateway has answered; refuses what has waited too long. */
  #sendAsked() {
    const now = this.#environment.now();
    while (this.#unsent.length > 0 && this.#unsent[0].deadline <= now) this.#unsent.shift().asker.reject(this.#notConnected);
    if (this.#isOpen && this.state === "connected") {
      for (const { request, asker, deadline } of this.#unsent.splice(0)) this.#request(request, "asked", undefined, REPLY_TIMEOUT, asker, deadline);
    }
    const [first] = this.#unsent;
    this.#timer("asked", first && Math.max(0, first.deadline - now), first && (() => this.#sendAsked()));
  }

  #refuseAsked() { for (const { asker } of this.#unsent.splice(0)) asker.reject(this.#notConnected); }

  #request(request, kind, entries = undefined, timeout = REPLY_TIMEOUT, asker = undefined, deadline = undefined) {
    if (!this.#isOpen) return;
    const id = this.#nextID;
    this.#nextID += 1;
    this.#outbox.push({ id, text: JSON.stringify({ ...request, id }), kind, entries, timeout, asker, request, deadline });
    this.#flush();
  }

  /** Sends no faster than the gateway allows. */
  #flush() {
    const now = this.#environment.now();
    this.#tokens = Math.min(this.#rate, this.#tokens + ((now - this.#refilledAt) / 1_000) * this.#rate);
    this.#refilledAt = now;
    while (this.#outbox.length && this.#tokens >= 1 && this.#socket) {
      const { id, text, kind, entries, timeout, asker } = this.#outbox.shift();
      this.#tokens -= 1;
      this.#pending.set(id, { kind, entries, asker, deadline: now + timeout });
      this.#socket.send(text);
    }
    if (this.#outbox.length && !this.#timers.has("send")) this.#timer("send", 1_000 / this.#rate, () => this.#flush());
    this.#watchReplies();
  }

  #watchReplies() {
    if (this.#timers.has("replies") || this.#pending.size === 0) return;
    let first = Infinity;
    for (const { deadline } of this.#pending.values()) first = Math.min(first, deadline);
    this.#timer("replies", Math.max(0, first - this.#environment.now()), () => {
      const now = this.#environment.now();
      for (const { deadline } of this.#pending.values()) {
        if (deadline <= now) return this.#lost("a request was not answered");
      }
      this.#watchReplies();
    });
  }

  #watchHeartbeat(seconds) {
    this.#timer("heartbeat", seconds * 1_000, () => this.#lost("there was no heartbeat"));
  }

  // MARK: Messages

  /** When a message was last received, and when the connection opened, ms. */
  #receivedAt = -Infinity;
  #startedAt = undefined;

  #count(data) {
    const { traffic } = this, now = this.#environment.now(), isRecord = data instanceof ArrayBuffer;
    this.#startedAt ??= now;
    traffic.milliseconds = now - this.#startedAt;
    traffic.messages += 1;
    traffic.records += isRecord ? 1 : 0;
    traffic.bytes += isRecord ? data.byteLength : data.length ?? 0;
    if (now - this.#receivedAt > SAME_WAKE_UP) traffic.wakeUps += 1;
    this.#receivedAt = now;
  }

  #take(data) {
    this.#count(data);
    try {
      if (data instanceof ArrayBuffer) return this.#takeRecord(new Uint8Array(data));
      need(typeof data === "string", "a message that is neither text nor binary");
      need(data.length <= MESSAGE_LIMIT, "a message of more than 8 MiB");
      let message;
      try { message = JSON.parse(data); } catch { need(false, "a message that is not JSON"); }
      need(isObject(message) && typeof message.type === "string", "a message without a type");
      this.#receive(message);
    } catch (error) {
      if (!(error instanceof ProtocolViolation)) throw error;
      // A value may be half changed: resume nothing.
      this.#session = undefined;
      this.#unusable(`the server broke the protocol: ${error.message}`);
    }
  }

  #takeRecord(bytes) {
    need(bytes.length <= MESSAGE_LIMIT, "a message of more than 8 MiB");
    const message = this.#decoder.decode(bytes, (number) => this.#streams.get(number));
    if (message === null) this.#received += 1;
    else this.#data(message);
  }

  #receive(message) {
    const answered = message.id !== undefined ? this.#pending.get(message.id) : undefined;
    if (answered !== undefined) {
      this.#pending.delete(message.id);
      this.#timer("replies");
      this.#watchReplies();
      if (answered.asker !== undefined) {
        if (message.type !== "error") return answered.asker.resolve(message);
        return answered.asker.reject(this.#problem(message));
      }
    }
    switch (message.type) {
      case "welcome": this.#welcomed(message, answered); break;
      case "subscribed":
        if (answered?.kind === "group") this.#grouped(message, answered.entries);
        else this.#subscribed(message, answered);
        break;
      case "snapshot":
      case "update": return this.#data(message);
      case "heartbeat": return this.#heartbeat(message);
      case "notice": return this.#notice(message);
      case "error": this.#error(message, answered); break;
      case "configured": return this.#moved(message.streams);
      default: return;
    }
    // What waited for this answer.
    if (this.#unfollowed.size > 0) this.#wantSubscriptions();
  }

  #welcomed(message, answered) {
    this.#isTokenRefused = false;
    this.#hasMetGateway = true;
    this.#session = typeof message.session === "string" ? message.session.slice(0, 200) : undefined;
    const rate = message.limits?.requests_per_s;
    if (typeof rate === "number" && rate >= 1) this.#rate = Math.min(rate, 1_000) * 0.8;
    const seconds = typeof message.heartbeat_s === "number" ? Math.min(Math.max(message.heartbeat_s, 0.1), 60) : 5;
    this.#heartbeatSeconds = seconds;
    this.#watchHeartbeat(seconds * HEARTBEATS_MISSED);
    this.welcome = message;
    if (this.#versionWithoutGroups !== short(message.version)) this.#versionWithoutGroups = undefined;
    this.#setState("connected", { resumed: message.resumed === true });
    this.#emit("welcome", message);
    this.#sendAsked();
    const asked = answered?.entries ?? [];
    if (asked.length === 0) return;
    const byNumber = new Map(asked.map((each) => [`${each.stream.channel}|${each.stream.symbol}`, each]));
    for (const accepted of list(message.ok, STREAM_LIMIT, "ok")) {
      need(isObject(accepted), "an item of ok");
      const name = `${accepted.channel}|${accepted.symbol ?? ""}`;
      const each = byNumber.get(name);
      const stream = this.#adopt(accepted, each?.entries ?? []);
      if (stream === undefined || each === undefined) continue;
      byNumber.delete(name);
      if (accepted.recovered === true) {
        stream.value = each.stream.value;
        stream.seq = each.stream.seq;
        stream.isSynced = true;
        for (const subscription of stream.subscriptions()) this.#mark(subscription, "live");
      }
    }
    for (const failure of list(message.failed, STREAM_LIMIT, "failed")) {
      const name = `${failure?.channel}|${failure?.symbol ?? ""}`;
      const each = byNumber.get(name);
      byNumber.delete(name);
      if (each) for (const entry of each.entries) this.#failed(entry, failure.error ?? failure);
    }
    // Subscribe anew to what the answer does not name.
    for (const { entries } of byNumber.values()) for (const entry of entries) entry.isAsked = false;
    this.#wantSubscriptions();
  }

  #subscribed(message, answered) {
    const entries = answered?.kind === "subscribe" ? answered.entries : [], free = [];
    for (const accepted of list(message.ok, STREAM_LIMIT, "ok")) {
      need(isObject(accepted), "an item of ok");
      const stream = this.#accepted(accepted, entries);
      if (stream.entries.size === 0) free.push(stream.number);
    }
    for (const failure of list(message.failed, STREAM_LIMIT, "failed")) {
      need(isObject(failure), "an item of failed");
      const entry = (Number.isSafeInteger(failure.item) ? entries[failure.item] : undefined) ?? entries.find(
        ({ item }) => item.channel === failure.channel && item.symbol === failure.symbol);
      if (entry) this.#failed(entry, isObject(failure.error) ? failure.error : failure);
    }
    // Of nothing that was asked for.
    this.#unsubscribe(free);
  }

  /** The stream of an item of `ok`, and the entries that it is of. */
  #accepted(accepted, entries) {
    const symbol = accepted.symbol ?? "";
    const fitting = entries.filter(
      ({ item }) => item.channel === accepted.channel && (item.symbol === symbol || item.symbol.includes("*")));
    const exact = fitting.filter(({ item }) => item.symbol === symbol);
    return this.#adopt(accepted, exact.length ? exact : fitting);
  }

  /** The answer to a request for a group. What is in none is asked for alone. */
  #grouped(message, entries) {
    const accepted = list(message.ok, STREAM_LIMIT, "ok"), failures = list(message.failed, STREAM_LIMIT, "failed");
    for (const each of accepted) {
      need(isObject(each), "an item of ok");
      if (each.group === true) this.#adoptGroup(each, entries);
      else this.#accepted(each, entries);
    }
    const open = new Set(entries.filter((entry) => entry.numbers.size === 0 && this.#wishes.get(entry.key) === entry));
    for (const failure of failures) {
      need(isObject(failure), "an item of failed");
      const error = isObject(failure.error) ? failure.error : failure;
      const isLater = typeof error.retry_after_ms === "number";
      if (accepted.length === 0 && !isLater) {
        // An older gateway does not know the field.
        if (error.code === "bad_request") this.#versionWithoutGroups = short(this.welcome?.version);
        continue;
      }
      for (const entry of open) {
        if (entry.item.symbol !== failure.symbol) continue;
        open.delete(entry);
        this.#failed(entry, error);
      }
    }
    for (const entry of open) {
      entry.isAlone = true;
      entry.isAsked = false;
    }
    if (open.size > 0) this.#wantSubscriptions();
  }

  /** The group of an item of `ok`; a new one waits for its snapshot. */
  #adoptGroup(accepted, entries) {
    const number = count(accepted.stream, "stream");
    need(CHANNELS.has(accepted.channel), "an unknown channel in ok");
    const symbols = list(accepted.symbols, STREAM_LIMIT, "symbols").map(short);
    let group = this.#streams.get(number);
    if (!(group instanceof Group)) {
      need(this.#streams.size < STREAM_LIMIT, "too many streams");
      group = new Group(number, accepted.channel, symbols);
      this.#streams.set(number, group);
    }
    group.scale = accepted.encoding === "binary" ? scaleOf(accepted) : undefined;
    if (!group.isSynced && accepted.seq !== undefined) group.seq = count(accepted.seq, "seq");
    for (const symbol of symbols) {
      for (const entry of entries) {
        if (entry.item.symbol !== symbol && !entry.item.symbol.includes("*")) continue;
        this.#join(group.part(symbol), entry, number);
      }
    }
    // Of nothing that is wanted.
    if (group.parts.size === 0) this.#unsubscribe([number]);
    return group;
  }

  /** The stream of an item of `ok`; a new one waits for its snapshot. */
  #adopt(accepted, entries) {
    const number = count(accepted.stream, "stream");
    need(CHANNELS.has(accepted.channel), "an unknown channel in ok");
    let stream = this.#streams.get(number);
    if (stream === undefined) {
      need(this.#streams.size < STREAM_LIMIT, "too many streams");
      stream = new Stream(number, accepted.channel, short(accepted.symbol));
      this.#streams.set(number, stream);
    }
    stream.epoch = accepted.epoch;
    stream.scale = accepted.encoding === "binary" ? scaleOf(accepted) : undefined;
    if (!stream.isSynced && accepted.seq !== undefined) stream.seq = count(accepted.seq, "seq");
    for (const entry of entries) this.#join(stream, entry, number);
    return stream;
  }

  #join(stream, entry, number) {
    stream.entries.add(entry);
    entry.numbers.add(number);
    entry.error = undefined;
    for (const subscription of entry.subscriptions) {
      if (subscription.state === "pending" || subscription.state === "failed") this.#mark(subscription, "waiting");
      if (stream.isSynced) this.#hand(stream, subscription, { type: "snapshot", reason: "shared", ...about(stream) });
    }
  }

  #hand(stream, subscription, info) {
    if (subscription.state !== "live") subscription.state = "live";
    subscription._deliver(stream.value, info);
  }

  #failed(entry, error) {
    const problem = this.#problem(error);
    const after = error?.retry_after_ms;
    const isLater = typeof after === "number";
    for (const subscription of entry.subscriptions) {
      subscription.error = problem;
      subscription.state = isLater ? "pending" : "failed";
      subscription._deliver(
        undefined, { type: "failed", symbol: entry.item.symbol, channel: entry.item.channel, error: problem, isFinal: !isLater });
    }
    entry.hasFailed = !isLater;
    if (!isLater) return;
    const milliseconds = Math.max(100, wait(after, 1_000, 60_000));
    entry.isAsked = false;
    entry.retryAt = this.#environment.now() + milliseconds;
    this.#environment.setTimeout(() => { if (this.#wishes.get(entry.key) === entry) this.#wantSubscriptions(); }, milliseconds + 1);
  }

  #data(message) {
    this.#received += 1;
    if (!CHANNELS.has(message.channel)) return;
    const number = count(message.stream, "stream");
    const seq = count(message.seq, "seq");
    const stream = this.#streams.get(number);
    // Sent before the gateway read `unsubscribe`.
    if (stream === undefined) return;
    need((message.group === true) === stream instanceof Group, "a stream that became a group");
    if (stream instanceof Group) return this.#groupData(stream, seq, message);
    need(stream.channel === message.channel && stream.symbol === (message.symbol ?? ""), "a stream that changed its name");
    need(isObject(message.data), "data");
    if (message.type === "snapshot") {
      stream.value = stream.merge(undefined, message.data);
      stream.seq = seq;
      stream.isSynced = true;
      this.#timer(`gap ${number}`);
      this.#publish(stream, { type: "snapshot", reason: short(message.reason), ...about(stream), data: message.data, time: message.time });
      return;
    }
    if (!stream.isSynced && !stream.isEvents) return;
    const prev = count(message.prev, "prev");
    if (stream.seq !== undefined && prev !== stream.seq) {
      this.#missed(stream, "updates are missing");
      if (!stream.isEvents) return this.#awaitSnapshot(stream);
    }
    stream.value = stream.merge(stream.value, message.data);
    stream.seq = seq;
    stream.isSynced = true;
    // The exchange's trades before this one may be missing, although the gateway's messages are all there.
    if (stream.channel === "trades" && message.data.trades.some((trade) => trade.gap === true)) this.#missed(stream, "trades may be missing");
    const { lost } = message.data;
    if (stream.channel === "trades" && lost !== undefined) {
      const missing = lost.count === undefined ? undefined : wait(lost.count, 0, Number.MAX_SAFE_INTEGER);
      this.#missed(stream, "the gateway did not get trades of the exchange", missing);
    }
    this.#publish(stream, { type: "update", ...about(stream), data: message.data, time: message.time });
  }

  /** A message of a group: each member takes what it has of it, as from a stream of its own. */
  #groupData(group, seq, message) {
    need(group.channel === message.channel && isObject(message.data), "data");
    const isSnapshot = message.type === "snapshot", { number } = group;
    if (isSnapshot) {
      group.symbols = list(message.data.members, STREAM_LIMIT, "members").map(short);
      for (const part of group.parts.values()) part.isSynced = false;
      this.#timer(`gap ${number}`);
    } else {
      if (!group.isSynced) return;
      const prev = count(message.prev, "prev");
      if (group.seq !== undefined && prev !== group.seq) return this.#awaitGroup(group);
    }
    group.seq = seq;
    group.isSynced = true;
    for (const element of list(message.data.updates, 10 * STREAM_LIMIT, "updates")) {
      need(isObject(element) && isObject(element.data), "an element of a group");
      const part = group.parts.get(group.symbols[count(element.i, "i", group.symbols.length - 1)]);
      if (part === undefined) continue;
      const isWhole = isSnapshot || element.snapshot === true;
      if (!isWhole && !part.isSynced) continue;
      part.value = part.merge(isWhole ? undefined : part.value, element.data);
      part.isSynced = true;
      const info = { ...about(part), data: element.data, time: message.time };
      this.#publish(
        part, isWhole
          ? { type: "snapshot", reason: isSnapshot ? short(message.reason) : "resync", ...info }
          : { type: "update", ...info });
    }
  }

  #awaitGroup(group) {
    for (const part of group.parts.values()) {
      this.#missed(part, "updates are missing");
      part.isSynced = false;
      for (const subscription of part.subscriptions()) this.#mark(subscription, "waiting");
    }
    group.isSynced = false;
    this.#timer(`gap ${group.number}`, SNAPSHOT_TIMEOUT, () => {
      if (this.#streams.get(group.number) !== group || group.isSynced) return;
      this.#askAgain(group);
      this.#unsubscribe([group.number]);
    });
  }

  #missed(stream, reason, lost) {
    this.#emit("gap", { ...about(stream), reason });
    for (const each of stream.subscriptions()) each._deliver(undefined, { type: "gap", ...about(stream), lost });
  }

  /** After a gap the gateway sends one by itself; otherwise the client subscribes again. */
  #awaitSnapshot(stream) {
    stream.isSynced = false;
    for (const subscription of stream.subscriptions()) this.#mark(subscription, "waiting");
    this.#timer(`gap ${stream.number}`, SNAPSHOT_TIMEOUT, () => {
      if (this.#streams.get(stream.number) !== stream || stream.isSynced) return;
      for (const entry of stream.entries) {
        entry.numbers.delete(stream.number);
        entry.isAsked = false;
      }
      this.#unsubscribe([stream.number]);
      this.#wantSubscriptions();
    });
  }

  #publish(stream, info) {
    // A channel that died alone at the exchange: the value is the last that is known.
    const silence = ["trades", "pulse", "ticker"].includes(stream.channel) && info.data?.state === "syncing";
    for (const subscription of stream.subscriptions()) {
      this.#hand(stream, subscription, info);
      if (silence) this.#mark(subscription, "waiting", { channel: stream.channel, reason: short(info.data.reason) });
    }
    if (stream.channel === "status") this.#heard(stream.value.feeds);
  }

  #heartbeat(message) {
    if (this.#session === undefined) return;
    const sent = count(message.sent, "sent");
    this.#watchHeartbeat(this.#heartbeatSeconds * HEARTBEATS_MISSED);
    if (sent !== this.#received) {
      const missing = sent - this.#received;
      this.#emit("gap", { channel: "", symbol: "", reason: `${missing} messages of ${sent} did not arrive` });
      return this.#lost("messages did not arrive");
    }
    // The connection works: the back-off begins anew.
    this.#attempt = 0;
    if (isObject(message.feeds)) {
      this.#heard(Object.entries(message.feeds).map(([venue, feed]) => isObject(feed) && { ...this.feeds.get(venue), venue, ...feed }));
    }
    this.#emit("heartbeat", message);
  }

  #heard(feeds) {
    for (const feed of list(feeds, FEED_LIMIT, "feeds")) {
      if (isObject(feed) && typeof feed.venue === "string") this.feeds.set(feed.venue, feed);
    }
    need(this.feeds.size <= FEED_LIMIT, "too many feeds");
    this.#emit("feeds", this.feeds);
  }

  #notice(message) {
    switch (message.code) {
      case "lost": {
        const stream = this.#streams.get(message.stream);
        const to = count(message.to_seq, "to_seq");
        if (stream && count(message.from_seq, "from_seq") <= (stream.seq ?? 0) + 1 && to > (stream.seq ?? 0)) {
          stream.seq = to;
          this.#missed(stream, `${message.events} were too many for this client`, wait(message.events, 0, Number.MAX_SAFE_INTEGER));
        }
        break;
      }
      case "slow": this.#moved(message.streams); break;
      case "drain":
        this.#timer("drain", wait(message.reconnect_in_ms, 1_000, 600_000), () => this.#again("the gateway is shutting down", 0));
        break;
      case "expiring": this.#renewToken(); break;
      case "forbidden":
        for (const number of list(message.streams, STREAM_LIMIT, "streams")) {
          const stream = this.#streams.get(number);
          this.#streams.delete(number);
          // Some of its members may still be allowed.
          if (stream instanceof Group) {
            this.#askAgain(stream);
            continue;
          }
          for (const entry of stream?.entries ?? []) {
            entry.numbers.delete(number);
            this.#failed(entry, { code: "forbidden", message: "the token no longer allows it" });
          }
        }
        break;
      default: break;
    }
    this.#emit("notice", message);
  }

  /** Streams that continue under other numbers, with a snapshot. */
  #moved(streams) {
    const moves = list(streams, STREAM_LIMIT, "streams");
    const olds = moves.map((move) => {
      need(isObject(move), "a moved stream");
      const old = this.#streams.get(move.from);
      this.#streams.delete(move.from);
      return old;
    });
    moves.forEach((move, place) => {
      const old = olds[place];
      if (old === undefined) return;
      if (old instanceof Group) {
        this.#timer(`gap ${old.number}`);
        for (const [symbol, part] of old.parts) {
          for (const entry of part.entries) entry.numbers.delete(old.number);
          const group = this.#adoptGroup({ channel: old.channel, symbols: old.symbols, ...move }, [...part.entries]);
          const moved = group.parts.get(symbol);
          if (moved !== undefined) moved.value ??= part.value;
        }
        return;
      }
      for (const entry of old.entries) entry.numbers.delete(old.number);
      this.#timer(`gap ${old.number}`);
      const stream = this.#adopt({ channel: old.channel, symbol: old.symbol, ...move }, [...old.entries]);
      stream.value ??= old.value;
    });
  }

  async #renewToken() {
    if (typeof this.#token !== "function") return;
    const connection = this.#connection;
    try {
      const token = await this.#token();
      if (connection === this.#connection && this.#isOpen) this.#request({ op: "hello", token }, "renewal");
    } catch { /* the next connection asks again */ }
  }

  /** A server's text without the token. */
  #said(value) {
    return typeof value === "string" && this.#secret !== undefined ? short(value.replaceAll(this.#secret, "…")) : short(value);
  }

  #problem(error) { return { code: this.#said(error?.code), message: this.#said(error?.message), hint: this.#said(error?.hint) || undefined }; }

  #error(message, answered) {
    const retry = message.retry === true;
    const error = {
      ...this.#problem(message), impact: this.#said(message.impact) || undefined, retry,
      retry_after_ms: retry ? wait(message.retry_after_ms, 1_000, 60_000) : undefined,
    };
    if (answered?.kind === "subscribe" || answered?.kind === "group") {
      for (const entry of answered.entries) if (this.#wishes.get(entry.key) === entry) this.#failed(entry, error);
    }
    this.#emit("error", error);
  }
}

/** A stream of this connection, and its wishes. */
class Stream {
  epoch = undefined;
  seq = undefined;
  value = undefined;
  /** What its records are relative to; undefined: its messages are text. */
  scale = undefined;
  /** Whether `value` belongs to `seq`. */
  isSynced = false;
  entries = new Set();

  constructor(number, channel, symbol) {
    Object.assign(this, { number, channel, symbol }, CHANNELS.get(channel));
  }

  *subscriptions() {
    for (const entry of this.entries) yield* [...entry.subscriptions];
  }
}

/** A group of this connection: one stream whose messages have what several members have. */
class Group {
  seq = undefined;
  scale = undefined;
  symbol = "";
  /** Whether updates may follow. */
  isSynced = false;
  /** The followed members by symbol. */
  parts = new Map();

  /** `symbols`: all members, in order. */
  constructor(number, channel, symbols) { Object.assign(this, { number, channel, symbols }); }

  part(symbol) {
    if (!this.parts.has(symbol)) this.parts.set(symbol, new Stream(this.number, this.channel, symbol));
    return this.parts.get(symbol);
  }
}

function scaleOf({ group, symbols, base, price_digits: price, size_digits: size }) {
  need(Number.isSafeInteger(base), "base");
  if (group !== true) return { base, price: count(price, "price_digits", 18), size: count(size, "size_digits", 18) };
  const names = list(symbols, STREAM_LIMIT, "symbols");
  need(names.length > 0 && list(price, STREAM_LIMIT, "price_digits").length === names.length
    && list(size, STREAM_LIMIT, "size_digits").length === names.length, "the digits of a group");
  const members = names.map((symbol, at) => ({
    symbol: short(symbol), price: count(price[at], "price_digits", 18), size: count(size[at], "size_digits", 18),
  }));
  return { base, price: 0, size: 0, members };
}

function about(stream) {
  return { channel: stream.channel, symbol: stream.symbol };
}

function streamURL(url, location) {
  const base = location?.href?.startsWith("http") ? location.href : undefined;
  if (url === undefined && base === undefined) throw new TypeError("`url` is missing: the gateway's, such as ws://127.0.0.1:8080");
  const found = new URL(url ?? "/v1/stream", base);
  found.protocol = found.protocol.replace(/^http/, "ws");
  if (!/^wss?:$/.test(found.protocol)) throw new TypeError(`${found.protocol} is not a gateway's: ws, wss, http or https`);
  if (found.pathname === "/") found.pathname = "/v1/stream";
  if (found.searchParams.has("token")) throw new TypeError("a token never stands in a URL: give it as `token`");
  return found.href;
}
