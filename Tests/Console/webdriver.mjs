// A browser driven over the W3C WebDriver protocol with `fetch` alone: Debian's chromium and its driver.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A port of loopback that nobody listens on. */
export async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Asks `probe` until it answers something true; what it saw last is in the error. */
export async function eventually(what, probe, seconds = 20) {
  const end = Date.now() + seconds * 1_000;
  let last;
  while (Date.now() < end) {
    try {
      last = await probe();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    await sleep(50);
  }
  throw new Error(`${what}: not within ${seconds} s; last seen: ${last instanceof Error ? last.message : JSON.stringify(last)}`);
}

export class Browser {
  static async open({ width = 1280, height = 900, dark = true, reducedMotion = false } = {}) {
    const port = await freePort();
    const driver = spawn("chromedriver", [`--port=${port}`], { stdio: "ignore" });
    const browser = new Browser();
    browser.driver = driver;
    browser.base = `http://127.0.0.1:${port}`;
    await eventually("chromedriver starts", async () => (await fetch(`${browser.base}/status`)).ok);
    const features = `--blink-settings=preferredColorScheme=${dark ? 0 : 1}`;
    const { sessionId } = await browser.call("POST", "/session", {
      capabilities: {
        alwaysMatch: {
          // A click, or a text, waits for its element.
          timeouts: { implicit: 5_000 },
          "goog:loggingPrefs": { browser: "ALL" },
          "goog:chromeOptions": {
            args: [
              "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", `--window-size=${width},${height}`, features,
              ...(reducedMotion ? ["--force-prefers-reduced-motion"] : []),
            ],
          },
        },
      },
    });
    browser.session = `/session/${sessionId}`;
    // The window has a least width of its own; the page's is set past it.
    await browser.command("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await browser.command("Emulation.setEmulatedMedia", {
      features: [
        { name: "prefers-color-scheme", value: dark ? "dark" : "light" },
        { name: "prefers-reduced-motion", value: reducedMotion ? "reduce" : "no-preference" },
      ],
    });
    return browser;
  }

  async call(method, path, body) {
    const response = await fetch(this.base + path, { method, body: body === undefined ? undefined : JSON.stringify(body) });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${value.error}: ${value.message.split("\n")[0]}`);
    return value;
  }

  command(cmd, params) { return this.call("POST", `${this.session}/goog/cdp/execute`, { cmd, params }); }
  go(url) { return this.call("POST", `${this.session}/url`, { url }); }
  run(script, ...args) { return this.call("POST", `${this.session}/execute/sync`, { script, args }); }
  /** A script whose last argument is a function that takes its result. */
  runAsync(script, ...args) { return this.call("POST", `${this.session}/execute/async`, { script, args }); }
  text(selector) { return this.run("return document.querySelector(arguments[0])?.innerText ?? null", selector); }
  count(selector) { return this.run("return document.querySelectorAll(arguments[0]).length", selector); }
  async click(selector) {
    const element = await this.call("POST", `${this.session}/element`, { using: "css selector", value: selector });
    return this.call("POST", `${this.session}/element/${Object.values(element)[0]}/click`, {});
  }
  async type(selector, text) {
    const element = await this.call("POST", `${this.session}/element`, { using: "css selector", value: selector });
    return this.call("POST", `${this.session}/element/${Object.values(element)[0]}/value`, { text });
  }
  /** Keys to whatever has the focus. */
  async keys(...keys) {
    await this.call("POST", `${this.session}/actions`, {
      actions: [{ type: "key", id: "keys", actions: keys.flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]) }],
    });
  }
  async screenshot(file) {
    writeFileSync(file, Buffer.from(await this.call("GET", `${this.session}/screenshot`), "base64"));
  }
  /** What the page wrote to its console at the level of an error: a script that threw, a file that the policy refused. */
  async errors() {
    const entries = await this.call("POST", `${this.session}/se/log`, { type: "browser" });
    return entries.filter(({ level }) => level === "SEVERE").map(({ message }) => message);
  }
  async close() {
    await this.call("DELETE", this.session).catch(() => {});
    this.driver.kill();
    await once(this.driver, "exit").catch(() => {});
  }
}
