// Bytes and decode times of both encodings, from the messages of a running gateway.
//
//   node --experimental-websocket Benchmarks/binary.mjs ws://127.0.0.1:8080/v1/stream [seconds]
//
// Node 22 and later need no flag. The times are the best of 12 passes over at most 8,000 different updates.
import { BinaryDecoder } from "../Sources/Console/client/tidegate.js";

const [url = "ws://127.0.0.1:8080/v1/stream", seconds = "15"] = process.argv.slice(2);
const channels = ["trades", "quote", "book", "pulse", "ticker", "candles", "sparkline"];
const streams = channels.map((channel) => ({ channel, symbols: ["kraken:*", "coinbase:*", "binance:*"] }));

/** Streams of a subprotocol, and the messages of each channel and type. */
function capture(protocol) {
  return new Promise((resolve, reject) => {
    const known = new Map(), messages = new Map();
    const socket = new WebSocket(url, [protocol]);
    socket.binaryType = "arraybuffer";
    const add = (channel, type, message) => {
      const name = `${channel} ${type}`;
      if (!messages.has(name)) messages.set(name, []);
      messages.get(name).push(message);
    };
    socket.onerror = () => reject(new Error(`no connection to ${url}`));
    socket.onopen = () => socket.send(JSON.stringify({ op: "subscribe", id: 1, streams }));
    socket.onmessage = ({ data }) => {
      if (typeof data !== "string") {
        const bytes = new Uint8Array(data);
        const message = new BinaryDecoder().decode(bytes, (number) => known.get(number));
        if (message !== null) add(message.channel, message.type, bytes);
        return;
      }
      const message = JSON.parse(data);
      for (const item of message.ok ?? []) {
        const scale = { base: item.base, price: item.price_digits, size: item.size_digits };
        known.set(item.stream, { channel: item.channel, symbol: item.symbol, scale });
      }
      if (message.type === "snapshot" || message.type === "update") add(message.channel, message.type, data);
    };
    setTimeout(() => {
      socket.close();
      resolve({ known, messages });
    }, Number(seconds) * 1_000);
  });
}

const [text, binary] = await Promise.all([capture("tidegate.v1.json"), capture("tidegate.v1.bin")]);
const mean = (list) => list.reduce((sum, each) => sum + each.length, 0) / list.length;
console.log("message             count   JSON  binary  (mean bytes, without WebSocket headers)");
for (const [name, list] of [...binary.messages].sort()) {
  const others = text.messages.get(name);
  const json = others === undefined ? "-" : mean(others).toFixed(0);
  const figures = [String(list.length).padStart(6), json.padStart(6), mean(list).toFixed(1).padStart(7)];
  console.log(`${name.padEnd(18)} ${figures.join(" ")}`);
}

/** Different updates, in turns of the channels as long as these have some: engines remember what they have parsed. */
function mixed({ messages }) {
  const lists = [...messages].filter(([name]) => name.endsWith(" update")).sort().map(([, list]) => list), result = [];
  for (let index = 0; result.length < 8_000 && lists.some((list) => index < list.length); index += 1) {
    for (const list of lists) if (index < list.length) result.push(list[index]);
  }
  return result;
}
function best(list, decode) {
  let least = Infinity;
  for (let pass = 0; pass < 12; pass += 1) {
    const start = process.hrtime.bigint();
    for (const each of list) decode(each);
    least = Math.min(least, Number(process.hrtime.bigint() - start) / list.length / 1_000);
  }
  return least;
}
const find = (number) => binary.known.get(number);
const scaled = new BinaryDecoder({ scaled: true }), strings = new BinaryDecoder();
const json = best(mixed(text), (each) => JSON.parse(each));
console.log(`JSON.parse          ${json.toFixed(2)} µs a message`);
for (const [name, decoder] of [["integers", scaled], ["decimal strings", strings]]) {
  const time = best(mixed(binary), (each) => decoder.decode(each, find));
  console.log(`binary, ${name.padEnd(15)} ${time.toFixed(2)} µs a message: ${(json / time).toFixed(1)} times as fast`);
}
