// The binary encoding: test vectors of the gateway, and bytes that no gateway sends.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { BinaryDecoder } from "../../Sources/Console/client/tidegate.js";
import { SeededGenerator, World, seeds } from "./world.mjs";

const vectors = readFileSync(new URL("../Vectors/binary.jsonl", import.meta.url), "utf8").trim().split("\n")
  .map((line) => JSON.parse(line));

function streamsOf(vector) {
  return new Map(vector.streams.map((item) => [item.stream, {
    channel: item.channel, symbol: item.symbol,
    scale: item.group
      ? {
          base: item.base, price: 0, size: 0,
          members: item.symbols.map((symbol, at) => (
            { symbol, price: item.price_digits[at], size: item.size_digits[at] })),
        }
      : { base: item.base, price: item.price_digits, size: item.size_digits },
  }]));
}
function decode(bytes, streams, options) {
  const message = new BinaryDecoder(options).decode(bytes, (number) => streams.get(number));
  return message === null ? [] : [message];
}
/** Without members that are undefined, as JSON has them. */
const plain = (value) => JSON.parse(JSON.stringify(value));

test("every test vector becomes the JSON message, or is refused", () => {
  assert.ok(vectors.length > 50);
  vectors.forEach((vector, index) => {
    const bytes = Buffer.from(vector.hex, "hex"), streams = streamsOf(vector), name = `line ${index + 1}`;
    if (vector.error) assert.throws(() => decode(bytes, streams), /./, name);
    else assert.deepEqual(plain(decode(bytes, streams)), vector.messages, name);
  });
});

test("decimals may stay integers", () => {
  const vector = vectors.find(
    ({ messages }) => messages?.[0]?.channel === "quote" && messages[0].data.bid !== undefined);
  const [message] = decode(Buffer.from(vector.hex, "hex"), streamsOf(vector), { scaled: true });
  assert.equal(Number(message.data.bid) / 10 ** vector.streams[0].price_digits, Number(vector.messages[0].data.bid));
});

for (const seed of seeds(8)) {
  test(`changed bytes are refused or read, and nothing else happens (seed ${seed})`, () => {
    const random = new SeededGenerator(seed);
    let refused = 0;
    for (let round = 0; round < 2_000; round += 1) {
      const vector = random.pick(vectors), bytes = Buffer.from(vector.hex, "hex");
      if (bytes.length === 0) continue;
      for (let change = random.below(3); change >= 0; change -= 1) {
        bytes[random.below(bytes.length)] = random.below(256);
      }
      const part = bytes.subarray(0, random.below(8) === 0 ? random.below(bytes.length) : bytes.length);
      try {
        for (const message of decode(part, streamsOf(vector))) assert.equal(typeof message.data, "object");
      } catch (error) {
        assert.equal(error.constructor.name, "ProtocolViolation", `${part.toString("hex")}: ${error.stack}`);
        refused += 1;
      }
    }
    assert.ok(refused > 0);
  });
}

// The client. Stream 1 is binary, with one digit of prices and none of sizes.
const UPDATE = [0x42, 0x01, 0x0b, 0x04, 0x02, 0x1e, 0x00, 0x00];
const SNAPSHOT = [0x22, 0x01, 0x0c, 0x02, 0x00, 0x02, 0x00, 0x04, 0x02, 0xac, 0x02, 0x00, 0x00];

async function quoted() {
  const world = new World(), seen = [];
  const subscription = world.client.subscribe(
    { channel: "quote", symbol: "kraken:BTC-USD" }, (value, info) => seen.push({ value, info }));
  await world.open();
  await world.welcome();
  await world.say({
    type: "subscribed", id: world.requests("subscribe").at(-1).id, total: 1, failed: [], ok: [{
      stream: 1, channel: "quote", symbol: "kraken:BTC-USD", epoch: "e1", seq: 10, state: "live",
      encoding: "binary", base: 0, price_digits: 1, size_digits: 0,
    }],
  });
  const send = async (bytes) => {
    world.socket.onmessage?.({ data: Uint8Array.from(bytes).buffer });
    await world.settle();
  };
  return { world, subscription, seen, send };
}

test("the client offers binary records first, and takes them as ArrayBuffers", async () => {
  const { world } = await quoted();
  assert.deepEqual(world.socket.protocols, ["tidegate.v1.bin", "tidegate.v1.json"]);
  assert.equal(world.socket.binaryType, "arraybuffer");
});

test("records become values; a snapshot says with how many digits updates go on", async () => {
  const { subscription, seen, send } = await quoted();
  await send(SNAPSHOT);
  assert.equal(subscription.state, "live");
  assert.deepEqual(plain(seen.at(-1).value), { bid: "1.50", bid_size: "2", time: 4 });
  assert.equal(seen.at(-1).info.reason, "resync");
  await send([0x42, 0x01, 0x0d, ...UPDATE.slice(3)]);
  assert.deepEqual(plain(seen.at(-1).value), { bid: "0.15", bid_size: "2", time: 4 });
});

test("a heartbeat counts records, also those of a stream that is not known", async () => {
  const { world, send } = await quoted();
  await send(SNAPSHOT);
  await send([0x42, 0x05, 0x01]);
  await world.say({ type: "heartbeat", time: 1, sent: 2, feeds: {} });
  assert.ok(!world.states.includes("reconnecting"));
  await world.say({ type: "heartbeat", time: 1, sent: 3, feeds: {} });
  assert.ok(world.states.includes("reconnecting"), "a record has not arrived");
});

test("a record that is not valid ends the connection", async () => {
  const { world, send } = await quoted();
  await send([0x42, 0x01]);
  const [, , { reason }] = world.log.find(([name, state]) => name === "state" && state === "reconnecting");
  assert.match(reason, /broke the protocol: a record that is too short/);
});
