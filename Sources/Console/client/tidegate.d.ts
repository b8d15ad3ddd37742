/** Types of tidegate.js: the client side of `tidegate.v1`. */

/** A decimal as text, exact: `"64123.40"`. */
export type DecimalText = string;
/** Microseconds since 1970, UTC. */
export type Microseconds = number;

export interface DecimalFunctions {
  /**
   * Accepts digits with an optional sign and point, but no exponent. All other functions throw `RangeError` for
   * other texts.
   */
  isValid(text: unknown): text is DecimalText;
  /** Compares by value: "1.0" equals "1.00". */
  compare(a: DecimalText, b: DecimalText): -1 | 0 | 1;
  add(a: DecimalText, b: DecimalText): DecimalText;
  subtract(a: DecimalText, b: DecimalText): DecimalText;
  multiply(a: DecimalText, b: DecimalText): DecimalText;
  /** `part` in percent of `whole`, rounded half to even; null if `whole` is not positive. */
  percent(part: DecimalText, whole: DecimalText, digits?: number): DecimalText | null;
  rounded(a: DecimalText, digits: number): DecimalText;
  /** The number without trailing zeros, but with at least `digits` digits after the point. */
  trimmed(a: DecimalText, digits?: number): DecimalText;
  /** The nearest `Number`, only for drawing: do not compare or add prices with it. */
  toNumber(a: DecimalText): number;
}
export const Decimal: DecimalFunctions;

export type Level = [price: DecimalText, size: DecimalText];
export interface DepthRow {
  price: DecimalText;
  size: DecimalText;
  /** The cumulative size, exact. */
  total: DecimalText;
  /** `total` divided by the larger total of the two sides, 0…1. */
  share: number;
}
/** An order book, merged; best first. */
export class Book {
  readonly bids: Level[];
  readonly asks: Level[];
  readonly time?: Microseconds;
  /** `syncing`: the gateway's book is out of sync; both sides are empty until the next snapshot. */
  readonly state: "live" | "syncing";
  readonly reason?: string;
  readonly bestBid?: Level;
  readonly bestAsk?: Level;
  /** Ask − bid, exact. Null while a side is empty; this applies to `mid` and `spreadPercent`, too. */
  readonly spread: DecimalText | null;
  readonly mid: DecimalText | null;
  /** The spread in percent of the mid price, with 4 digits. */
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
  /** When the gateway began to observe the market; undefined if it has observed nothing of this line. */
  readonly coveredFrom?: Microseconds;
  /** Times after `coveredFrom` that the gateway did not observe: points in them repeat the price before. */
  readonly gaps: { from: Microseconds; to: Microseconds }[];
  readonly first?: DecimalText;
  readonly last?: DecimalText;
  /** The price at the beginning of the range: for `24h`, the ticker's price of 24 h ago. */
  readonly open?: DecimalText;
  /** Last − open, exact: for `24h`, the ticker's change of 24 h. Null while it is unknown. */
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
  /** Grows when a late trade changes the closed candle. */
  rev: number;
  /** `partial`: the gateway did not observe the whole interval. */
  source: "own" | "partial" | "venue" | (string & {});
}
/** Candles of one interval, oldest first, one for each time; a time that was not observed has none. */
export class CandleSeries {
  readonly interval: CandleInterval;
  readonly candles: Candle[];
  readonly last?: Candle;
  /**
   * Adds a page of `/v1/candles` or an update. Of each time it keeps the candle with the higher `rev`, and at most
   * 5,000 candles in all.
   */
  merge(candles: Candle[]): this;
}

export interface Trade {
  id: string; price: DecimalText; size: DecimalText; side: "buy" | "sell"; time: Microseconds;
  /** Trades between this one and the one before it may be missing. */
  gap?: boolean;
  /** The exchange began its numbers anew with this trade: ids before and after it cannot be compared. */
  renumbered?: boolean;
}
/** The fields about the venues of a composite market (`composite:BTC-USD`). */
export interface Composite {
  /**
   * For a composite, `unavailable` means that there are no prices. For a market's quote, `syncing` means that its book
   * is out of sync, and for its ticker, that the exchange does not send the ticker or trades any more.
   */
  state?: "live" | "single" | "unavailable" | "syncing" | (string & {});
  reason?: string;
  venues?: string[];
  absent?: { venue: string; reason: string }[];
  simulated?: boolean; replayed?: boolean;
}
export interface Quote extends Composite {
  bid?: DecimalText; bid_size?: DecimalText; bid_venue?: string; ask?: DecimalText; ask_size?: DecimalText; ask_venue?: string;
  time: Microseconds;
  /** Ask − bid, exact; negative where a composite's sides cross. Null without a side, as are `mid` and `spreadPercent`. */
  readonly spread: DecimalText | null;
  readonly mid: DecimalText | null;
  /** The spread in percent of the mid price, with 4 digits. */
  readonly spreadPercent: DecimalText | null;
}
export interface Pulse {
  /** `syncing`: the exchange sends no trades any more although it sends other channels, with the `reason`. */
  state?: "live" | "syncing" | (string & {}); reason?: string;
  direction?: "up" | "down"; price: DecimalText; previous?: DecimalText; change_pct?: DecimalText; change_pct_24h?: DecimalText;
  merged: number; time: Microseconds;
}
export interface Ticker extends Composite {
  last?: DecimalText; last_venue?: string; bid?: DecimalText; ask?: DecimalText; open_24h?: DecimalText; high_24h?: DecimalText; low_24h?: DecimalText;
  volume_24h?: DecimalText; quote_volume_24h?: DecimalText; vwap_24h?: DecimalText; change_24h?: DecimalText;
  change_pct_24h?: DecimalText; trades_24h?: number; time: Microseconds;
  /** The source of the figures; if it is `mixed`, `own` names those that the gateway filled. */
  source: "venue" | "gateway" | "mixed" | "composite" | (string & {}); own?: string[];
  /** Since when the gateway's figures count, if they do not cover the whole day. */
  covered_from?: Microseconds;
}
/** The value of one `base` in `quote`. While no live markets connect them, there is no `rate`, but a `reason`. */
export interface Rate {
  base: string; quote: string; rate?: DecimalText; path?: string[]; state: "live" | "unavailable" | (string & {});
  reason?: string; age_ms?: number; simulated?: boolean; replayed?: boolean;
}
/** `stale`: the price is that of `price_time`. `missing`: no market gives a price, so there is no value. */
export type PriceState = "live" | "stale" | "missing" | (string & {});
export interface HoldingLine {
  asset: string; state: PriceState; price_time?: Microseconds; quantity: DecimalText; price?: DecimalText; value?: DecimalText;
  share_percent?: DecimalText; day_profit?: DecimalText; day_percent?: DecimalText; cost?: DecimalText; unrealised?: DecimalText;
  realised?: DecimalText; profit?: DecimalText;
}
export interface PositionLine {
  symbol: string; state: PriceState; price_time?: Microseconds; side: "long" | "short"; size: DecimalText; leverage: DecimalText;
  entry: DecimalText; mark?: DecimalText; unrealised?: DecimalText; unrealised_percent?: DecimalText;
  maintenance?: DecimalText;
  /** The mark at which the exchange closes the position, and the required margin in per cent of what is left of its own. */
  liquidation_price?: DecimalText; margin_percent?: DecimalText;
}
/** The value of holdings and positions, in `currency`, without unknown fields. A deleted portfolio has no values. */
export interface Portfolio {
  portfolio?: string; name?: string; revision?: number; currency?: string; state: PriceState | "deleted"; value?: DecimalText;
  day_profit?: DecimalText; day_percent?: DecimalText; cost?: DecimalText; unrealised?: DecimalText; realised?: DecimalText;
  profit?: DecimalText; holdings?: HoldingLine[]; positions?: PositionLine[]; simulated?: boolean; replayed?: boolean;
}
/** `cost` is the cost of all units, in the portfolio's currency. Each asset may be named once. */
export interface Holding { asset: string; quantity: DecimalText; cost?: DecimalText }
export interface Position {
  symbol: string; side: "long" | "short"; size: DecimalText; leverage: DecimalText; entry: DecimalText;
  /** The margin that the exchange requires at least, as a fraction of the value. */
  maintenance?: DecimalText;
}

export interface Firing {
  alert: string; number: number; time: Microseconds; symbol?: string; value?: DecimalText; late_by_ms?: number; reminder?: boolean; missed?: number;
}
export interface Alert {
  id: string; name: string; created: Microseconds;
  state: "scheduled" | "running" | "paused" | "alerting" | "disabled" | (string & {});
  rule: Record<string, unknown>; revision: number; firings: number; acknowledged: number; next?: Microseconds;
  /** From when on it watches, if it does not know yet which prices to compare with. */
  watching_from?: Microseconds; firing?: Omit<Firing, "alert">;
}
/** The rules of an owner; the `data` of an update has the new `firings`. */
export class AlertList {
  readonly alerts: Alert[];
  /** Whether the gateway stores the rules; if not, they end with its process. */
  readonly isKept: boolean;
}
export interface TopicDocument { number: number; time: Microseconds; document: unknown }
export interface Feed {
  venue: string;
  state: "connecting" | "syncing" | "live" | "stale" | "reconnecting" | "disconnected" | "maintenance" | (string & {});
  indicator: "connected" | "reconnecting" | "disconnected" | (string & {});
  age_ms?: number; since?: Microseconds; attempt?: number; reason?: string;
  syncing?: Record<string, string>; failed?: Record<string, unknown>;
  /** Channels that died alone, by symbol: their streams have the state `syncing`. */
  silent?: Record<string, ("trades" | "quote" | "ticker" | (string & {}))[]>;
}

/** The card of the day of a deck. A removed deck has the `state` `removed` and no card. */
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

/** Of a perpetual or dated future. A member that is missing is unknown or does not apply, which is not 0. */
export interface Derivative {
  mark?: DecimalText; index?: DecimalText;
  /** What longs pay shorts each interval, as a fraction of a position's value. */
  funding_rate?: DecimalText; funding_interval_s?: number; next_funding?: Microseconds;
  /** The rate of the interval after that. */
  predicted_rate?: DecimalText;
  /** Funding is paid all the time; `funding_rate` is the present rate. */
  continuous?: boolean;
  /** One side, in the base and in the quote currency. */
  open_interest?: DecimalText; open_interest_quote?: DecimalText;
  /** Of a composite: how much the mark is above the spot price, in percent. */
  basis_percent?: DecimalText;
  /** The names of values that the gateway requests now and then, and of those that it computes. */
  polled?: string[]; computed?: string[];
  /** When each value was said or confirmed, by its name. */
  as_of: Record<string, Microseconds>;
}
/** A position that the exchange closed. `side` is that of the closing order: a long is sold. */
export interface Liquidation {
  id?: string; position: "long" | "short"; side: "buy" | "sell"; price: DecimalText;
  /** Which price it is. A bankruptcy price is not one at which anything was traded. */
  price_kind: "fill" | "order" | "bankruptcy" | (string & {});
  size: DecimalText; value?: DecimalText; time: Microseconds;
}

/** The type of each channel's merged value. */
export interface Values {
  trades: Trade[]; quote: Quote; ticker: Ticker; pulse: Pulse; book: Book; sparkline: Sparkline; candles: CandleSeries;
  derivative: Derivative;
  /** The last 50. A snapshot's `data.complete` is false if the exchange leaves some out. */
  liquidations: Liquidation[];
  alerts: AlertList; topic: TopicDocument[]; status: { feeds: Feed[] }; rate: Rate; portfolio: Portfolio; deck: DeckDay;
}
export type Channel = keyof Values;

export interface Request<C extends Channel = Channel> {
  channel: C;
  /**
   * `venue:BASE-QUOTE`. `venue:*` and `*:BASE-QUOTE` stand for several markets, `composite:BASE-QUOTE` for all spot
   * markets of a pair as one. For a rate it is `BASE-QUOTE`, for a topic or deck its name. `status`, `alerts` and
   * `portfolio` have none.
   */
  symbol?: string;
  /** For books: levels a side. */
  depth?: 10 | 25 | 100 | "full";
  /** For sparklines; `24h` if left out. */
  range?: "1h" | "24h" | "7d" | "30d" | "90d" | "1y" | "all";
  /** For sparklines: 2…1440. */
  points?: number;
  /** For candles; `1m` if left out. */
  interval?: CandleInterval;
  /** For topics: the number of documents in the snapshot, 1…100. */
  last?: number;
  /** For decks: the IANA time zone of the day; `UTC` if left out. */
  zone?: string;
  /** For portfolios: the id of one that the gateway stores, or holdings and positions. */
  portfolio?: string;
  holdings?: Holding[]; positions?: Position[];
  /** For portfolios: the currency of costs and of the report. */
  currency?: string;
  /** 0, 100, 250, 1000 or 5000; another gets the nearest that is not faster. */
  intervalMilliseconds?: number;
}

export interface Problem { code: string; message: string; hint?: string }
export interface Info {
  /**
   * `gap`, `state`, `failed` and `end` have no value. Events before a later `snapshot` may be missing. After `end`
   * nothing follows: the client has ended for the reason in `error`.
   */
  type: "snapshot" | "update" | "gap" | "state" | "failed" | "end";
  channel?: Channel; symbol: string; reason?: string; time?: Microseconds;
  /** The received data, unmerged. */
  data?: unknown;
  state?: SubscriptionState; error?: Problem; isFinal?: boolean;
  /** The number of trades or documents that the gateway reported as lost. */
  lost?: number;
  /** The number of messages that were dropped because this iteration was too slow. */
  skipped?: number;
}
/**
 * `waiting`: the value may be old until the next snapshot; for trades, pulses and tickers of a channel that died alone
 * at the exchange, until the next message, with the `reason` in the info of type `state`.
 */
export type SubscriptionState = "pending" | "waiting" | "live" | "failed" | "cancelled";

/**
 * The result of `subscribe`. Each iteration has its own queue. Of a state it gets the newest; of trades and documents,
 * 1,000 messages wait. If the client ends for good, the iteration throws a `Problem` with the code `ended`.
 */
export interface Subscription<C extends Channel = Channel> extends AsyncIterable<{ value: Values[C] | undefined; info: Info }> {
  readonly request: Request<C>;
  readonly state: SubscriptionState;
  /** The newest value; for a pattern, that of the stream that changed last. */
  readonly value?: Values[C];
  readonly error?: Problem;
  /** Ends the subscription, but not the connection or other subscriptions. */
  cancel(): void;
}

export interface Options {
  /** The gateway's URL (`ws`, `wss`, `http` or `https`), without a token; by default the page's own host. */
  url?: string;
  /** A token. A function is called for each connection, and before a token expires. */
  token?: string | (() => string | Promise<string>);
  client?: string;
  /** 1…60; 5 if left out. */
  heartbeatSeconds?: number;
  /** Whether the client pauses while its page is hidden; true if left out. */
  pausesWhenHidden?: boolean;
  /**
   * Whether symbols that are subscribed to together arrive together, in one message a tick, where the gateway can; true
   * if left out. Values and events are the same.
   */
  usesGroups?: boolean;
  /** Replaces `WebSocket`, clock and timers: for Node before 22, and for tests. */
  environment?: Record<string, unknown>;
}
export type ConnectionState = "connecting" | "connected" | "reconnecting" | "disconnected";

/**
 * A connection to a gateway, and the streams on it. It reconnects by itself where that can help. It ends for good, with
 * the state `disconnected` and the reason, if the gateway refuses it (close codes 4000 to 4099, and statuses such as 401
 * and 403). Until a gateway has answered once, it also ends if the server is none: it does not speak the subprotocol or
 * breaks it; or, where the host tells (the package `ws`, not browsers), its certificate is not trusted or it answers
 * with a status such as 404. Browsers tell no status and no certificate: there such an attempt is repeated.
 */
/** What is known of a stream of binary records: from the reply to its subscription, then from its last snapshot. */
export interface BinaryStream {
  channel: string;
  symbol: string;
  /** `base`, `price_digits` and `size_digits` of the reply; of a group those of each member, in order. */
  scale: {
    base: number; price: number; size: number; members?: { symbol: string; price: number; size: number }[];
  };
}

/** Reads the binary messages of `tidegate.v1.bin`. `Tidegate` does so by itself; this is for other clients. */
export class BinaryDecoder {
  /** `scaled`: decimals are integers in units of 10^-digits (BigInts above 2^53) instead of strings. */
  constructor(options?: { scaled?: boolean });
  /**
   * The message as `tidegate.v1.json` has it; null: its stream or its kind is unknown. A snapshot replaces the `scale`
   * of its stream. Throws at bytes that the encoding does not have.
   */
  decode(record: Uint8Array, find: (stream: number) => BinaryStream | undefined): Record<string, unknown> | null;
}

export class Tidegate {
  constructor(options?: Options);
  readonly state: ConnectionState;
  readonly welcome?: Record<string, unknown>;
  readonly feeds: ReadonlyMap<string, Feed>;
  /**
   * What has been received so far: messages, binary ones of them, their bytes before the network compressed them, how
   * often one arrived more than 5 ms after the one before, and the time from the first to the last.
   */
  readonly traffic: { messages: number; records: number; bytes: number; wakeUps: number; milliseconds: number };
  /** Subscribes now, or as soon as there is a connection. Equal requests share one stream. */
  subscribe<C extends Channel>(
    request: Request<C>, listener?: (value: Values[C] | undefined, info: Info) => void): Subscription<C>;
  /** Changes the rate of all streams to 0, 100, 250, 1000 or 5000 ms; each begins with a snapshot. */
  configure(options: { intervalMilliseconds: number }): void;
  /**
   * Sends a request, such as `{op: "alert", action: "ack", alert: "…"}`. It waits for a connection, and then for the
   * answer, each for at most 10 s, and never sends a request twice. Throws the gateway's error, or `not_connected`: there
   * was no connection in time, or it broke before the answer, so that it is unknown whether the request was carried out.
   */
  ask(request: { op: string } & Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Stops all data except heartbeats until `resume`. */
  pause(): void;
  resume(): void;
  /** Reconnects now instead of after the back-off. */
  reconnect(): void;
  /** Ends the connection for good. */
  close(): void;
  /** Returns a function that removes the listener. */
  on(name: "state", listener: (state: ConnectionState, detail: { reason?: string; inMilliseconds?: number; resumed?: boolean }) => void): () => void;
  on(name: "feeds", listener: (feeds: ReadonlyMap<string, Feed>) => void): () => void;
  /** Updates of a stream are missing. For a state, a snapshot follows; trades and documents are lost. */
  on(name: "gap", listener: (gap: { channel: string; symbol: string; reason: string }) => void): () => void;
  on(name: "error", listener: (error: Problem & { retry: boolean; impact?: string }) => void): () => void;
  on(name: "welcome" | "heartbeat" | "notice", listener: (message: Record<string, unknown>) => void): () => void;
}
