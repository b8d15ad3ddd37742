/** Portfolios that the gateway keeps: `/v1/portfolios`. */
import { symbolParts } from "./format.js";

/** The transactions of one request. */
const PAGE = 1_000;

/** Quotes of the markets whose lines the page draws, the best first. */
const QUOTES = ["USD", "USDT", "USDC"];

/** A key for a request that may be repeated. */
export function requestKey() { return `console-${Date.now()}-${Math.floor(Math.random() * 1e9)}`; }

export class Portfolios {
  #session;
  #markets;

  constructor(session) { this.#session = session; }

  /** The owner's portfolios; null if there are none for this user, or the gateway would lose them when it ends. */
  async list() {
    const { kept, portfolios } = await this.#session.get("/v1/portfolios").catch(() => ({}));
    return kept ? portfolios : null;
  }

  /** One portfolio as the page shows it: each holding with a market that leads to `currency`, if there is one. */
  async read(id, currency) {
    this.#markets ??= this.#session.instruments("").catch(() => []);
    const [{ holdings, positions, revision, currency: own }, { transactions }, markets] = await Promise.all([
      this.#session.get(`/v1/portfolios/${id}`), this.transactions(id), this.#markets,
    ]);
    const wanted = [currency, ...QUOTES];
    const rank = (symbol) => { const place = wanted.indexOf(symbolParts(symbol).quote); return place < 0 ? wanted.length : place; };
    const spot = markets.map(({ symbol }) => symbol).filter((symbol) => symbolParts(symbol).kind === undefined).sort((a, b) => rank(a) - rank(b));
    const symbol = (asset) => spot.find((each) => symbolParts(each).base === asset);
    return {
      own, revision, positions, transactions,
      holdings: holdings.filter(({ quantity }) => /[1-9]/.test(quantity)).map(({ asset, quantity }) => ({ asset, symbol: symbol(asset), amount: quantity })),
    };
  }

  transactions(id) { return this.#session.get(`/v1/portfolios/${id}/transactions?limit=${PAGE}`); }

  create(name, currency, positions = []) { return this.#session.send("POST", "/v1/portfolios", { name, currency, positions }, requestKey()); }

  /** @param price what one unit cost, in the portfolio's currency, if that is known. */
  add(id, asset, quantity, price, key) {
    return this.#session.send("POST", `/v1/portfolios/${id}/transactions`, { kind: price ? "buy" : "deposit", asset, quantity, price }, key);
  }

  setPositions(id, positions) { return this.#session.send("PATCH", `/v1/portfolios/${id}`, { positions }); }

  /** Deletes every transaction of an asset, the newest first, so that none removes more than there is. */
  async removeAsset(id, asset) {
    const { transactions } = await this.transactions(id);
    for (const { number } of transactions.filter((each) => each.asset === asset).sort((a, b) => b.time - a.time)) {
      await this.#session.send("DELETE", `/v1/portfolios/${id}/transactions/${number}`);
    }
  }

  /** Moves a browser's holdings to a new portfolio; all of them, or none. */
  async move({ holdings, positions }, currency) {
    const { id } = await this.create("Portfolio", currency, positions);
    try {
      for (const { symbol, amount, cost, costCurrency } of holdings) {
        await this.add(id, symbolParts(symbol).base, amount, costCurrency === currency ? cost : undefined, requestKey());
      }
    } catch (error) {
      await this.#session.send("DELETE", `/v1/portfolios/${id}`).catch(() => {});
      throw error;
    }
    return id;
  }
}
