/** Types of tidegate.js: the client side of `tidegate.v1`. */

/** A decimal as text, exact: `"64123.40"`. */
export type DecimalText = string;
/** Microseconds since 1970, UTC. */
export type Microseconds = number;

export interface DecimalFunctions {
  /** Digits, perhaps a sign and a point; exponents are none. All other functions throw `RangeError` for what is no decimal. */
  isValid(text: unknown): text is DecimalText;
  /** By value: "1.0" equals "1.00". */
  compare(a: DecimalText, b: DecimalText): -1 | 0 | 1;
  add(a: DecimalText, b: DecimalText): DecimalText;
  subtract(a: DecimalText, b: DecimalText): DecimalText;
  multiply(a: DecimalText, b: DecimalText): DecimalText;
  /** `part` in percent of `whole`, rounded half to even; null where `whole` is not positive. */
  percent(part: DecimalText, whole: DecimalText, digits?: number): DecimalText | null;
  rounded(a: DecimalText, digits: number): DecimalText;
  /** Without zeros at the end, but with at least `digits` digits after the point. */
  trimmed(a: DecimalText, digits?: number): DecimalText;
  /** The nearest `Number`, for drawing alone: never compare or add prices with it. */
  toNumber(a: DecimalText): number;
}
export const Decimal: DecimalFunctions;

export type Level = [price: DecimalText, size: DecimalText];
export interface DepthRow {
  price: DecimalText;
  size: DecimalText;
  /** Exact cumulative size. */
  total: DecimalText;
  /** `total` over the larger side's, 0…1. */
  share: number;
}
/** An order book, merged; best first. */
export class Book {
  readonly bids: Level[];
  readonly asks: Level[];
  readonly time?: Microseconds;
  /** `syncing`: the gateway has lost the book; both sides are empty until a snapshot comes. */
  readonly state: "live" | "syncing";
  readonly reason?: string;
  readonly bestBid?: Level;
  readonly bestAsk?: Level;
  /** Ask − bid, exactly; null while a side is empty, as the two below. */
  readonly spread: DecimalText | null;
  readonly mid: DecimalText | null;
  /** Of the mid price, with 4 digits. */
  readonly spreadPercent: DecimalText | null;
  /** The best levels of each side for a depth chart. */
  depth(count: number): { bids: DepthRow[]; asks: DepthRow[] };
}

/** `points[i]` is the last price of the slice that starts at `from` + i × `step`. */
export class Sparkline {
  readonly range: string;
  readonly from: Microseconds;
  readonly step: Microseconds;
  readonly points: DecimalText[];
  /** When the gateway began to observe the market; undefined while it has observed nothing of this line. */
  readonly coveredFrom?: Microseconds;
  /** Times after `coveredFrom` that nobody observed: the points there repeat the price before. */
  readonly gaps: { from: Microseconds; to: Microseconds }[];
  readonly first?: DecimalText;
  readonly last?: DecimalText;
  /** Last − first, exactly; null without points. */
  readonly change: DecimalText | null;
  readonly changePercent: DecimalText | null;
  readonly trend: "up" | "down" | "flat";
}

export type CandleInterval = "1m" | "5m" | "15m" | "1h" | "4h" | "1d";
export interface Candle {
  time: Microseconds;
  open: DecimalText; high: DecimalText; low: DecimalText; close: DecimalText;
  volume?: DecimalText; quote_volume?: DecimalText; trades?: number;
  closed: boolean;
  /** Higher where a trade came after the candle had closed. */
  rev?: number;
  /** `partial`: the gateway did not observe the whole interval. */
  source?: "own" | "partial" | "venue" | (string & {});
}
/** Candles of one interval, oldest first, each time once; a time that was not observed has none. */
export class CandleSeries {
  readonly interval: CandleInterval;
  readonly candles: Candle[];
  readonly last?: Candle;
  /** Takes a page of `/v1/candles`, or an update: the higher `rev` of a time stays. At most 5,000 are kept. */
  merge(candles: Candle[]): this;
}

export interface Trade { id: string; price: DecimalText; size: DecimalText; side?: "buy" | "sell"; time?: Microseconds }
/** What a composite market (`composite:BTC-USD`) says of its venues. */
export interface Composite {
  /** Of a composite: `unavailable` comes without prices. Of a market's quote: its book is out of sync, for the `reason`. */
  state?: "live" | "single" | "unavailable" | "syncing" | (string & {});
  reason?: string;
  venues?: string[];
  absent?: { venue: string; reason: string }[];
  simulated?: boolean; replayed?: boolean;
}
export interface Quote extends Composite {
  bid?: DecimalText; bid_size?: DecimalText; bid_venue?: string; ask?: DecimalText; ask_size?: DecimalText; ask_venue?: string;
  time?: Microseconds;
}
export interface Pulse {
  direction?: "up" | "down"; price: DecimalText; previous?: DecimalText; change_pct?: DecimalText; change_pct_24h?: DecimalText;
  merged: number; time?: Microseconds;
}
export interface Ticker extends Composite {
  last?: DecimalText; last_venue?: string; bid?: DecimalText; ask?: DecimalText; open_24h?: DecimalText; high_24h?: DecimalText; low_24h?: DecimalText;
  volume_24h?: DecimalText; quote_volume_24h?: DecimalText; vwap_24h?: DecimalText; change_24h?: DecimalText;
  change_pct_24h?: DecimalText; trades_24h?: number; time?: Microseconds;
  /** Whose figures they are; with `mixed`, `own` names those that the gateway filled. */
  source?: "venue" | "gateway" | "mixed" | "composite" | (string & {}); own?: string[];
  /** Since when the gateway's figures count, where they do not cover the day. */
  covered_from?: Microseconds;
}
/** What one `base` is in `quote`; without `rate` and with a `reason` while no live market leads there. */
export interface Rate {
  base: string; quote: string; rate?: DecimalText; path?: string[]; state: "live" | "unavailable" | (string & {});
  reason?: string; age_ms?: number; simulated?: boolean; replayed?: boolean;
}
/** `stale`: the price is of `price_time`. `missing`: no market leads there, so that there is no value. */
export type PriceState = "live" | "stale" | "missing" | (string & {});
export interface HoldingLine {
  asset: string; state: PriceState; price_time?: Microseconds; quantity: DecimalText; price?: DecimalText; value?: DecimalText;
  share_percent?: DecimalText; day_profit?: DecimalText; day_percent?: DecimalText; cost?: DecimalText; unrealised?: DecimalText;
  realised?: DecimalText; profit?: DecimalText;
}
export interface PositionLine {
  symbol: string; state: PriceState; price_time?: Microseconds; side: "long" | "short"; size: DecimalText; leverage: DecimalText;
  entry: DecimalText; mark?: DecimalText; unrealised?: DecimalText; unrealised_percent?: DecimalText;
}
/** What holdings and positions are worth, in `currency`. What is not known is left out. One that is deleted has its state alone. */
export interface Portfolio {
  portfolio?: string; name?: string; revision?: number; currency?: string; state: PriceState | "deleted"; value?: DecimalText;
  day_profit?: DecimalText; day_percent?: DecimalText; cost?: DecimalText; unrealised?: DecimalText; realised?: DecimalText;
  profit?: DecimalText; holdings?: HoldingLine[]; positions?: PositionLine[]; simulated?: boolean; replayed?: boolean;
}
/** `cost` is what was paid for all of it, in the portfolio's currency. Each asset once. */
export interface Holding { asset: string; quantity: DecimalText; cost?: DecimalText }
export interface Position { symbol: string; side: "long" | "short"; size: DecimalText; leverage: DecimalText; entry: DecimalText }

export interface Firing {
  alert: string; number: number; time: Microseconds; symbol?: string; value?: DecimalText; late_by_ms?: number; reminder?: boolean; missed?: number;
}
export interface Alert {
  id: string; name?: string;
  state: "scheduled" | "running" | "paused" | "alerting" | "disabled" | (string & {});
  rule: Record<string, unknown>; revision?: number; firings?: number; acknowledged?: number; next?: Microseconds; firing?: Omit<Firing, "alert">;
}
/** The rules of an owner; an update's `data` has its `firings`. */
export class AlertList {
  readonly alerts: Alert[];
  /** Whether the gateway keeps them; false where they end with its process. */
  readonly isKept: boolean;
}
export interface TopicDocument { number: number; time?: Microseconds; document: unknown }
export interface Feed {
  venue: string;
  state: "connecting" | "syncing" | "live" | "stale" | "reconnecting" | "disconnected" | "maintenance" | (string & {});
  indicator: "connected" | "reconnecting" | "disconnected" | (string & {});
  age_ms?: number; since?: Microseconds; attempt?: number; reason?: string;
  syncing?: Record<string, string>; failed?: Record<string, unknown>;
}

/** The card of a deck's day; one that is gone has `state` `removed` and no card. */
export interface DeckDay {
  deck: string; zone: string; state: "live" | "removed" | (string & {}); title?: string;
  /** `2026-11-23`. */
  date?: string;
  /** When the next day begins. */
  turns_at?: Microseconds;
  cards?: number;
  card?: {
    number: number; quote: string; action: string; minutes?: number;
    domain: "consciousness" | "health" | "wealth" | "relationships" | (string & {}); source?: string;
  };
}

/** What each channel's value is, merged. */
export interface Values {
  trades: Trade[]; quote: Quote; ticker: Ticker; pulse: Pulse; book: Book; sparkline: Sparkline; candles: CandleSeries;
  alerts: AlertList; topic: TopicDocument[]; status: { feeds: Feed[] }; rate: Rate; portfolio: Portfolio; deck: DeckDay;
}
export type Channel = keyof Values;

export interface Request<C extends Channel = Channel> {
  channel: C;
  /**
   * `venue:BASE-QUOTE`; `venue:*` and `*:BASE-QUOTE` stand for several, `composite:BASE-QUOTE` for all as one. Of a rate
   * `BASE-QUOTE`, of a topic or deck its name. Not for `status`, `alerts` and `portfolio`.
   */
  symbol?: string;
  /** Of a book: 10, 25, 100 or "full". */
  depth?: 10 | 25 | 100 | "full";
  /** Of a sparkline: `24h` if left out. */
  range?: "1h" | "24h" | "7d" | "30d" | "90d" | "1y" | "all";
  /** Of a sparkline: 2…1440. */
  points?: number;
  /** Of candles: `1m` if left out. */
  interval?: CandleInterval;
  /** Of a topic: how many documents the snapshot has, 1…100. */
  last?: number;
  /** Of a deck: the IANA time zone whose day it is, `UTC` if left out. */
  zone?: string;
  /** Of a portfolio: the id of one that the gateway keeps, or what is held. */
  portfolio?: string;
  holdings?: Holding[]; positions?: Position[];
  /** Of a portfolio: what costs and the report are in. */
  currency?: string;
  /** 0, 100, 250, 1000 or 5000; another gets the nearest that is not faster. */
  intervalMilliseconds?: number;
}

export interface Problem { code: string; message: string; hint?: string }
export interface Info {
  /** `gap`, `state` and `failed` come without a value. What came before a `snapshot` that is not the first may be missing. */
  type: "snapshot" | "update" | "gap" | "state" | "failed";
  channel?: Channel; symbol: string; reason?: string; time?: Microseconds;
  /** What came, unmerged. */
  data?: unknown;
  state?: SubscriptionState; error?: Problem; isFinal?: boolean;
  /** Trades that the gateway announced lost. */
  lost?: number;
  /** Messages that this iteration was too slow for. */
  skipped?: number;
}
/** `waiting`: nothing is sure until a snapshot comes. */
export type SubscriptionState = "pending" | "waiting" | "live" | "failed" | "cancelled";

/** What `subscribe` returns. An iteration has a queue of its own: of channels of state it gets the newest; of trades 1,000 messages wait. */
export interface Subscription<C extends Channel = Channel> extends AsyncIterable<{ value: Values[C] | undefined; info: Info }> {
  readonly request: Request<C>;
  readonly state: SubscriptionState;
  /** The newest; of a wildcard that of the stream that changed last. */
  readonly value?: Values[C];
  readonly error?: Problem;
  /** Ends it; the connection and other subscriptions stay. */
  cancel(): void;
}

export interface Options {
  /** The gateway's, `ws`, `wss`, `http` or `https`; else the page's own host. Never with a token in it. */
  url?: string;
  /** Asked for with each connection, and before a token ends. */
  token?: string | (() => string | Promise<string>);
  client?: string;
  /** 1…60, 5 if left out. */
  heartbeatSeconds?: number;
  /** Whether a page that nobody sees is paused; true if left out. */
  pausesWhenHidden?: boolean;
  /** `WebSocket`, clock and timers of another kind: for Node before 22, and for tests. */
  environment?: Record<string, unknown>;
}
export type ConnectionState = "connecting" | "connected" | "reconnecting" | "disconnected";

/** A connection to a gateway that comes back by itself, and the streams on it. */
export class Tidegate {
  constructor(options?: Options);
  readonly state: ConnectionState;
  readonly welcome?: Record<string, unknown>;
  readonly feeds: ReadonlyMap<string, Feed>;
  /** Subscribes, now or as soon as there is a connection. Equal requests share one stream. */
  subscribe<C extends Channel>(
    request: Request<C>, listener?: (value: Values[C] | undefined, info: Info) => void): Subscription<C>;
  /** Fresh snapshots of everything at another class: 0, 100, 250, 1000 or 5000 ms. */
  configure(options: { intervalMilliseconds: number }): void;
  /** A request with a reply of its own: `{op: "alert", action: "ack", alert: "…"}`. Fails with the gateway's error, or `not_connected`. */
  ask(request: { op: string } & Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Stops data but for heartbeats, until `resume`. */
  pause(): void;
  resume(): void;
  /** Tries now instead of waiting for the back-off. */
  reconnect(): void;
  /** Ends the connection for good. */
  close(): void;
  /** Returns a function that takes the listener off. */
  on(name: "state", listener: (state: ConnectionState, detail: { reason?: string; inMilliseconds?: number; resumed?: boolean }) => void): () => void;
  on(name: "feeds", listener: (feeds: ReadonlyMap<string, Feed>) => void): () => void;
  /** Updates of a stream are missing; a snapshot follows, or, of trades, they are lost. */
  on(name: "gap", listener: (gap: { channel: string; symbol: string; reason: string }) => void): () => void;
  on(name: "error", listener: (error: Problem & { retry: boolean; impact?: string }) => void): () => void;
  on(name: "welcome" | "heartbeat" | "notice", listener: (message: Record<string, unknown>) => void): () => void;
}
