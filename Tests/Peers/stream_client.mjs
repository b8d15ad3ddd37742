// A client of tidegate.v1 with Node's built-in WebSocket: every channel, snapshot first, every update linked.
// Usage: node stream_client.mjs ws://HOST:PORT   (PEER_SECONDS: how long to watch)
const url = process.argv[2];
const seconds = Number(process.env.PEER_SECONDS ?? 10);
const fail = (message) => {
  console.log(`  ${message}`);
  process.exit(1);
};

const list = await (await fetch(url.replace("ws://", "http://") + "/v1/instruments")).json();
const symbols = list.instruments.map((instrument) => instrument.symbol).filter((symbol) => /:(BTC|ZEC)-/.test(symbol));
if (symbols.length < 6) fail(`too few symbols: ${symbols}`);

const socket = new WebSocket(url + "/v1/stream", ["tidegate.v1.json"]);
const seqs = new Map();
const counts = {};
let ended = false;
socket.onerror = (event) => fail(`socket error ${event.message ?? ""}`);
socket.onclose = (event) => ended || fail(`closed ${event.code} ${event.reason}`);
socket.onopen = () => {
  if (socket.protocol !== "tidegate.v1.json") fail(`subprotocol ${socket.protocol}`);
  const streams = ["trades", "quote", "ticker", "pulse", "sparkline"].map((channel) => ({ channel, symbols }));
  streams.push({ channel: "book", symbols, depth: 25, interval_ms: 100 }, { channel: "status" });
  socket.send(JSON.stringify({ op: "subscribe", id: 1, streams }));
};
socket.onmessage = (event) => {
  const message = JSON.parse(event.data);
  counts[message.type] = (counts[message.type] ?? 0) + 1;
  if (message.type === "subscribed" && message.failed.length > 0) fail(JSON.stringify(message.failed));
  if (message.type === "error") fail(event.data);
  if (message.type === "snapshot") seqs.set(message.stream, message.seq);
  if (message.type === "update") {
    const last = seqs.get(message.stream);
    if (last === undefined && message.channel !== "trades") fail(`update before a snapshot: ${event.data.slice(0, 200)}`);
    if (last !== undefined && last !== message.prev) fail(`prev ${message.prev} after ${last}: ${event.data.slice(0, 200)}`);
    seqs.set(message.stream, message.seq);
  }
};
setTimeout(() => {
  ended = true;
  socket.close(1000);
  if (!(counts.snapshot > 20 && counts.update > 50 && counts.heartbeat > 0)) fail(`too little came: ${JSON.stringify(counts)}`);
  console.log(`  ${JSON.stringify(counts)}`);
  process.exit(0);
}, seconds * 1000);
