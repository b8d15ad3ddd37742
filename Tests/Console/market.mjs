// A server of many moving markets, in place of a gateway: it serves the console's files and speaks just so much of
// tidegate.v1 that every row has a price, at a rate that is set. Nothing in it is checked; it only makes a load.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";

const folder = new URL("../../Sources/Console/", import.meta.url);
const TYPES = { js: "text/javascript", css: "text/css", svg: "image/svg+xml", html: "text/html" };

/** A text frame as servers send it, RFC 6455 section 5.2. */
function frame(text) {
  const body = Buffer.from(text);
  const head = body.length < 126 ? Buffer.from([0x81, body.length])
    : body.length < 65_536 ? Buffer.from([0x81, 126, body.length >> 8, body.length & 255])
      : Buffer.concat([Buffer.from([0x81, 127, 0, 0, 0, 0]), Buffer.from(Uint32Array.of(body.length).buffer).swap32()]);
  return Buffer.concat([head, body]);
}

/** The texts of whole client frames at the front of `data`, and what is left of it. */
function texts(data) {
  const found = [];
  for (;;) {
    if (data.length < 6) return [found, data];
    let length = data[1] & 127, place = 2;
    if (length === 126) { length = data.readUInt16BE(2); place = 4; } else if (length === 127) { length = Number(data.readBigUInt64BE(2)); place = 10; }
    if (data.length < place + 4 + length) return [found, data];
    const mask = data.subarray(place, place + 4), body = Buffer.from(data.subarray(place + 4, place + 4 + length));
    for (let index = 0; index < length; index += 1) body[index] ^= mask[index & 3];
    if ((data[0] & 15) === 1) found.push(body.toString());
    data = data.subarray(place + 4 + length);
  }
}

export class BusyMarket {
  /** @param rate changes a second of each of `count` symbols. */
  static async start(count, rate) {
    const market = new BusyMarket();
    market.symbols = Array.from({ length: count }, (_, index) => `kraken:A${index}-USD`);
    market.timers = new Set();
    market.changes = 0;
    market.server = createServer((request, response) => market.#answer(request, response));
    market.server.on("upgrade", (request, socket) => market.#stream(request, socket, rate));
    market.server.listen(0, "127.0.0.1");
    await once(market.server, "listening");
    market.url = `http://127.0.0.1:${market.server.address().port}`;
    return market;
  }

  #answer({ url }, response) {
    const path = url.split("?")[0];
    if (path.startsWith("/v1/")) {
      response.setHeader("Content-Type", "application/json");
      return response.end(JSON.stringify({ instruments: this.symbols.map((symbol) => ({ symbol, venue: "kraken" })), documents: [] }));
    }
    const file = path === "/" ? "index.html" : path === "/tidegate.js" ? "client/tidegate.js" : path.replace("/console/", "");
    response.setHeader("Content-Type", TYPES[file.split(".").pop()] ?? "text/plain");
    response.end(readFileSync(new URL(file, folder)));
  }

  #stream(request, socket, rate) {
    const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: tidegate.v1.json\r\n\r\n`);
    const streams = [];
    let sent = 0, rest = Buffer.alloc(0);
    const say = (message) => {
      if (message.type === "snapshot" || message.type === "update") sent += 1;
      socket.write(frame(JSON.stringify(message)));
    };
    const data = ({ channel }, turn) => {
      const price = (100 + Math.sin(turn / 7) * 3 + (turn % 10) / 100).toFixed(2);
      switch (channel) {
        case "pulse": return { price, direction: turn % 3 ? "up" : "down", previous: price, change_pct_24h: "1.50", merged: 1, time: Date.now() * 1_000 };
        case "ticker": return { last: price, change_pct_24h: "1.50", open_24h: "99" };
        case "sparkline": return { range: "24h", from: 0, step_s: 900, points: Array.from({ length: 96 }, (_, index) => String(100 + (index * 7 + turn) % 13)), gaps: [] };
        default: return { feeds: [{ venue: "kraken", state: "live", indicator: "connected" }] };
      }
    };
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      const [messages, left] = texts(Buffer.concat([rest, bytes]));
      rest = left;
      for (const text of messages) {
        const request = JSON.parse(text);
        if (request.op === "hello") say({ type: "welcome", id: request.id, session: "s", heartbeat_s: 1, resumed: false, limits: { requests_per_s: 1_000 } });
        else if (request.op === "subscribe") {
          const ok = [], failed = [];
          for (const [item, each] of request.streams.entries()) {
            if (["alerts", "topic"].includes(each.channel)) { failed.push({ item, error: { code: "unknown_channel", message: "there is none" } }); continue; }
            for (const symbol of each.symbols ?? [undefined]) {
              const stream = { number: streams.length + 1, channel: each.channel, symbol, seq: 1 };
              streams.push(stream);
              ok.push({ stream: stream.number, channel: stream.channel, symbol, epoch: "e", seq: 1 });
            }
          }
          say({ type: "subscribed", id: request.id, ok, failed });
          for (const { number, ...stream } of streams.slice(-ok.length)) {
            say({ type: "snapshot", channel: stream.channel, symbol: stream.symbol, stream: number, seq: 1, reason: "subscribe", time: 1, data: data(stream, 0) });
          }
        } else say({ type: "done", id: request.id });
      }
    });
    let turn = 0;
    const move = setInterval(() => {
      turn += 1;
      for (const stream of streams) {
        const isSlow = stream.channel !== "pulse";
        if (isSlow && (stream.channel !== "ticker" || turn % rate !== 0)) continue;
        say({ type: "update", channel: stream.channel, symbol: stream.symbol, stream: stream.number, prev: stream.seq, seq: stream.seq += 1, time: 1, data: data(stream, turn + stream.number) });
        if (!isSlow) this.changes += 1;
      }
    }, 1_000 / rate);
    const beat = setInterval(() => say({ type: "heartbeat", time: Date.now() * 1_000, sent, feeds: { kraken: { state: "live", indicator: "connected", age_ms: 5 } } }), 1_000);
    for (const timer of [move, beat]) this.timers.add(timer);
    socket.on("close", () => { for (const timer of [move, beat]) { clearInterval(timer); this.timers.delete(timer); } });
  }

  stop() {
    for (const timer of this.timers) clearInterval(timer);
    this.server.closeAllConnections();
    this.server.close();
  }
}
