// The example of the guide, word for word but for the gateway's address, against a real gateway.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Gateway, noGateway } from "./gateway.mjs";

const source = (path) => new URL(`../../Sources/Console/${path}`, import.meta.url);
const noSocket = typeof WebSocket === "undefined" ? "this node has no WebSocket: 20 has one with --experimental-websocket" : false;

test("the guide's example runs, and ends by itself", { skip: noGateway || noSocket, timeout: 60_000 }, async () => {
  const guide = readFileSync(source("Console.docc/Console.md"), "utf8");
  const [, example] = guide.match(/```js\n(import [^`]*?)```/);
  assert.ok(example.trim().split("\n").length <= 25, "it stays short");
  assert.ok(example.includes("ws://127.0.0.1:8080"), "it names the gateway's address");
  const gateway = await Gateway.start();
  const folder = mkdtempSync(join(tmpdir(), "tidegate-example-"));
  try {
    copyFileSync(source("client/tidegate.js"), join(folder, "tidegate.js"));
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    writeFileSync(join(folder, "example.js"), example.replace("ws://127.0.0.1:8080", `ws://127.0.0.1:${gateway.port}`));
    const child = spawn(process.execPath, [...process.execArgv.filter((flag) => flag.includes("websocket")), join(folder, "example.js")]);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => { output += data; });
    const [code] = await once(child, "exit");
    assert.equal(code, 0, output);
    assert.match(output, /connection: connected/);
    assert.match(output, /spread [\d.]+ mid [\d.]+/);
  } finally {
    rmSync(folder, { recursive: true });
    await gateway.stop();
  }
});
