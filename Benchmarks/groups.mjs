// What a watchlist costs on the wire: bytes, messages and reads a second, alone and in groups, in both encodings, with
// and without permessage-deflate.
//
//   node Benchmarks/groups.mjs [host:port] [seconds] [channel] [interval_ms]
//
// A client of each kind subscribes to all instruments of a running gateway, all at once. A read is what arrives
// together, and so about what the gateway sent together.
import { randomBytes } from "node:crypto";
import { get } from "node:http";
import { connect } from "node:net";

const [address = "127.0.0.1:8080", seconds = "10", channel = "pulse", interval = "100"] = process.argv.slice(2);
const [host, port] = address.split(":");

const instruments = await new Promise((resolve, reject) => {
  get(`http://${address}/v1/instruments`, (response) => {
    let text = "";
    response.on("data", (part) => { text += part; });
    response.on("end", () => resolve(JSON.parse(text).instruments.map(({ symbol }) => symbol)));
  }).on("error", reject);
});

/** A masked frame (RFC 6455 section 5.2). */
function frame(opcode, payload) {
  const mask = Buffer.from([1, 2, 3, 4]), masked = Buffer.from(payload.map((byte, index) => byte ^ mask[index & 3]));
  const head = payload.length < 126 ? [0x80 | payload.length] : [0xfe, payload.length >> 8, payload.length & 255];
  return Buffer.concat([Buffer.from([0x80 | opcode, ...head]), mask, masked]);
}

function client({ isBinary, isGroup, deflates }) {
  const counts = { bytes: 0, messages: 0, reads: 0 };
  const socket = connect(Number(port), host);
  socket.setNoDelay(true);
  socket.write(
    `GET /v1/stream HTTP/1.1\r\nHost: ${address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`
    + `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\n`
    + `Sec-WebSocket-Protocol: tidegate.v1.${isBinary ? "bin" : "json"}\r\n`
    + (deflates ? "Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover\r\n" : "") + "\r\n");
  let rest = Buffer.alloc(0), isOpen = false;
  socket.on("data", (part) => {
    counts.reads += 1;
    counts.bytes += part.length;
    rest = Buffer.concat([rest, part]);
    if (!isOpen) {
      const end = rest.indexOf("\r\n\r\n");
      if (end < 0) return;
      isOpen = true;
      rest = rest.subarray(end + 4);
      const item = { channel, symbols: instruments, interval_ms: Number(interval) };
      if (isGroup) item.group = true;
      socket.write(frame(1, Buffer.from(JSON.stringify({ op: "subscribe", id: 1, streams: [item] }))));
    }
    for (;;) {
      if (rest.length < 2) return;
      const short = rest[1] & 127, head = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (rest.length < head) return;
      const length = short < 126 ? short : short === 126 ? rest.readUInt16BE(2) : Number(rest.readBigUInt64BE(2));
      if (rest.length < head + length) return;
      if ((rest[0] & 15) === 9) socket.write(frame(10, rest.subarray(head, head + length)));
      else counts.messages += 1;
      rest = rest.subarray(head + length);
    }
  });
  return { counts, socket };
}

const kinds = [false, true].flatMap((isBinary) => [false, true].flatMap((isGroup) => [false, true].map((deflates) => (
  { isBinary, isGroup, deflates }))));
const clients = kinds.map((kind) => ({ kind, ...client(kind) }));
await new Promise((resolve) => setTimeout(resolve, 3_000));
const before = clients.map(({ counts }) => ({ ...counts }));
await new Promise((resolve) => setTimeout(resolve, Number(seconds) * 1_000));
console.log(`${channel} of ${instruments.length} instruments, ${interval} ms`);
console.log("                           bytes/s  messages/s  reads/s");
clients.forEach(({ kind, counts, socket }, index) => {
  socket.destroy();
  const rate = (name) => ((counts[name] - before[index][name]) / Number(seconds)).toFixed(name === "bytes" ? 0 : 1);
  const form = `${kind.isBinary ? "binary" : "JSON"} ${kind.isGroup ? "group" : "single"}`;
  const figures = [rate("bytes").padStart(9), rate("messages").padStart(11), rate("reads").padStart(8)];
  console.log(`${(form + (kind.deflates ? ", deflate" : "")).padEnd(24)} ${figures.join(" ")}`);
});
