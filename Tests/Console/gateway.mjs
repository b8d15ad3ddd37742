// A gateway and what stands between it and its clients, for tests with real sockets.
import { spawn } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import tls from "node:tls";
import { eventually, freePort } from "./webdriver.mjs";

export const executable = process.env.TIDEGATE_EXECUTABLE;
/** Why tests with a gateway are skipped; false where they are not. */
export const noGateway = executable ? false : "TIDEGATE_EXECUTABLE names no gateway";

export class Program {
  static start(args, settings = {}) {
    const program = new Program();
    program.output = "";
    // What tests are told in `TIDEGATE_…` is no setting of the gateway, which refuses what it does not know.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TIDEGATE_")));
    Object.assign(env, { TIDEGATE_DATA_DIRECTORY: "none" }, settings);
    program.process = spawn(executable, args, { stdio: ["ignore", "pipe", "pipe"], env });
    for (const stream of [program.process.stdout, program.process.stderr]) {
      stream.on("data", (data) => { program.output = (program.output + data).slice(-20_000); });
    }
    return program;
  }

  async stop(signal = "SIGKILL") {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill(signal);
    await once(this.process, "exit");
  }
}

export class Gateway {
  static async start(args = ["--demo"], port = undefined, settings = {}) {
    const gateway = new Gateway();
    gateway.port = port ?? await freePort();
    gateway.url = `http://127.0.0.1:${gateway.port}`;
    const internal = await freePort();
    gateway.internalURL = `http://127.0.0.1:${internal}`;
    gateway.program = Program.start([
      "serve", "--listen", `127.0.0.1:${gateway.port}`, "--internal-listen", `127.0.0.1:${internal}`, ...args,
    ], settings);
    await eventually("the gateway is ready", async () => {
      if (gateway.program.process.exitCode !== null) return true;
      return (await fetch(`http://127.0.0.1:${internal}/readyz`)).ok;
    }, 60);
    if (gateway.program.process.exitCode !== null) throw new Error(`the gateway ended: ${gateway.program.output}`);
    return gateway;
  }

  stop(signal) { return this.program.stop(signal); }
}

/** A TCP relay that can drop its connections, or stop passing anything on while they stay open. */
export class Relay {
  /** @param encrypts whether it speaks TLS to its target, whose certificate it takes as it is: tests make their own. */
  static async start(target, { encrypts = false } = {}) {
    const relay = new Relay();
    relay.pairs = new Set();
    relay.sockets = new Set();
    relay.server = net.createServer((near) => {
      const far = encrypts
        ? tls.connect({ port: target, host: "127.0.0.1", servername: "localhost", rejectUnauthorized: false })
        : net.connect(target, "127.0.0.1");
      const pair = { near, far };
      relay.pairs.add(pair);
      for (const socket of [near, far]) {
        relay.sockets.add(socket);
        socket.on("close", () => relay.sockets.delete(socket));
      }
      for (const [from, to] of [[near, far], [far, near]]) {
        from.on("data", (data) => { if (!pair.isDead) to.write(data); });
        from.on("error", () => {});
        from.on("close", () => { relay.pairs.delete(pair); if (!pair.isDead) to.destroy(); });
      }
    }).listen(0, "127.0.0.1");
    await once(relay.server, "listening");
    relay.port = relay.server.address().port;
    return relay;
  }

  drop() { for (const { near, far } of this.pairs) { near.destroy(); far.destroy(); } }
  /** The connections of now pass nothing on any more; those that come later do. */
  stall() { for (const pair of this.pairs) pair.isDead = true; }
  close() {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}
