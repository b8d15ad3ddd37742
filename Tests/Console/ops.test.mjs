// The operators' page in a real browser. Screenshots go to TIDEGATE_SCREENSHOTS, if that names a folder.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Gateway, Program, Relay, noGateway } from "./gateway.mjs";
import { BusyMarket } from "./market.mjs";
import { Browser, eventually, freePort } from "./webdriver.mjs";

const noBrowser = ["chromedriver", "chromium"].some((name) => spawnSync(name, ["--version"]).error)
  ? "chromium and chromedriver are not installed" : false;
const skip = noGateway || noBrowser;
const axe = process.env.TIDEGATE_AXE ? readFileSync(process.env.TIDEGATE_AXE, "utf8") : undefined;
const folder = process.env.TIDEGATE_SCREENSHOTS;
if (folder) mkdirSync(folder, { recursive: true });
const token = "a-token-of-operators-1234";
let scratch, gateway, venue;

before(async () => {
  if (skip) return;
  scratch = mkdtempSync(join(tmpdir(), "tidegate-ops-"));
  writeFileSync(join(scratch, "token"), `${token}\n`);
  const port = await freePort();
  const simulate = () => Program.start(["simulate", "--venue", "kraken", "--listen", `127.0.0.1:${port}`]);
  venue = { simulate, program: simulate(), endpoint: `kraken=ws://127.0.0.1:${port}/v2` };
  gateway = await Gateway.start(
    ["--feed", "kraken=BTC-USD,ETH-USD", "--endpoint", venue.endpoint], undefined, { TIDEGATE_ADMIN_TOKEN_FILE: join(scratch, "token") });
});
after(async () => {
  await gateway?.stop();
  await venue?.program.stop();
  if (scratch) rmSync(scratch, { recursive: true });
});

/** @param expected errors that a browser notes by itself: an answer that is none, a connection that ends. */
async function withBrowser(options, work, expected = / 40[13] | 503 |net::ERR_/) {
  const browser = await Browser.open(options);
  try {
    await work(browser);
    assert.deepEqual((await browser.errors()).filter((each) => !expected.test(each)), [], "the page has no error");
  } finally {
    await browser.close();
  }
}

async function signIn(browser, text = token, url = gateway.internalURL) {
  await browser.go(`${url}/ops`);
  await eventually("it asks", () => browser.count("form #token"));
  await browser.type("#token", text);
  await browser.click("form button[type=submit]");
}

/** What axe calls serious or critical. */
async function violations(browser) {
  if (axe === undefined) return [];
  await browser.run(axe);
  return browser.runAsync(`const done = arguments[0];
    Promise.all(document.getAnimations().map((each) => { try { each.finish(); } catch { each.cancel(); } })).then(() =>
    axe.run(document, { resultTypes: ["violations"] })).then(({ violations }) => done(violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => id + ": " + nodes.slice(0, 3).map(({ target, any }) => target.join(" ") + " " + (any[0]?.message ?? "")).join("; "))), (error) => done([String(error)]));`);
}

for (const [name, width, height, dark] of [["phone", 390, 844, true], ["phone, light", 390, 844, false], ["desk", 1280, 900, true], ["desk, light", 1280, 900, false]]) {
  test(`it shows feeds, loops, limits and events, fits its window, and has nothing serious for axe (${name})`, { skip, timeout: 120_000 }, () =>
    withBrowser({ width, height, dark }, async (browser) => {
      await browser.go(`${gateway.internalURL}/ops`);
      await eventually("it asks", () => browser.count("form #token"));
      assert.deepEqual(await violations(browser), [], "axe, before");
      if (folder) await browser.screenshot(join(folder, `ops-${name.replace(/\W+/g, "-")}-sign-in.png`));
      await signIn(browser);
      await eventually("rates", async () => /[1-9]/.test(await browser.text(".feed .feed-rate .price") ?? ""), 40);
      await eventually("it is live", async () => (await browser.text("#indicator")) === "Live");
      const feed = await browser.text(".feed");
      assert.match(feed, /kraken/);
      assert.match(feed, /live, simulated/);
      assert.match(feed.replace(/\s+/g, " "), /books live 2 of 2/i);
      assert.match(await browser.text('[aria-label="Limits"]'), /limits\.clients/);
      assert.match(await browser.text('[aria-label="Loops"]'), /Loop 0/);
      await eventually("events", async () => /feed live/.test(await browser.text('[aria-label="Events"]')));
      assert.deepEqual(await violations(browser), [], "axe");
      assert.ok((await browser.run("return document.documentElement.scrollWidth - innerWidth")) <= 0, "it scrolls sideways");
      const small = await browser.run(`return [...document.querySelectorAll('.button')]
        .filter((each) => each.offsetParent && each.getBoundingClientRect().height < 43.5).map((each) => each.innerText)`);
      assert.deepEqual(small, [], "too small to touch");
      const foreign = await browser.run(`return performance.getEntriesByType("resource").map(({ name }) => name).filter((name) => !name.startsWith(location.origin))`);
      assert.deepEqual(foreign, [], "requests to elsewhere");
      if (folder) await browser.screenshot(join(folder, `ops-${name.replace(/\W+/g, "-")}.png`));
    }));
}

test("a wrong token is refused in words; the right one is kept only where it was told, and forgotten when told so", { skip, timeout: 120_000 }, () =>
  withBrowser({}, async (browser) => {
    const kept = () => browser.run("return [Object.values(sessionStorage).join(), Object.values(localStorage).join(), location.href]");
    await signIn(browser, "a-wrong-token-of-some-length");
    await eventually("it is refused", async () => /is not the operators' token/.test(await browser.text("form .notice") ?? ""));
    await browser.type("#token", token);
    await browser.click("form button[type=submit]");
    await eventually("feeds", () => browser.count(".feed"));
    assert.ok(!(await kept()).some((each) => each.includes(token)));
    await browser.call("POST", `${browser.session}/refresh`, {});
    await eventually("it asks again", () => browser.count("form #token"));
    await browser.type("#token", token);
    await browser.click("#keep");
    await browser.click("form button[type=submit]");
    await eventually("feeds again", () => browser.count(".feed"));
    await browser.call("POST", `${browser.session}/refresh`, {});
    await eventually("it is kept", () => browser.count(".feed"));
    const places = await kept();
    assert.ok(places[0].includes(token) && !places[1].includes(token) && !places[2].includes(token));
    await browser.click("#leave");
    await eventually("it asks", () => browser.count("form #token"));
    assert.ok(!(await kept())[0].includes(token));
  }));

test("a link with a token signs in, and the token leaves the address line", { skip, timeout: 90_000 }, () =>
  withBrowser({}, async (browser) => {
    await browser.go(`${gateway.internalURL}/ops#token=${token}`);
    await eventually("feeds", () => browser.count(".feed"));
    assert.ok(!(await browser.run("return location.href")).includes(token));
  }));

test("a gateway without a token says so", { skip, timeout: 90_000 }, async () => {
  const open = await Gateway.start(["--feed", "kraken=BTC-USD", "--endpoint", venue.endpoint]);
  try {
    await withBrowser({}, async (browser) => {
      await signIn(browser, token, open.internalURL);
      await eventually("it says how", async () => /admin\.token-file/.test(await browser.text("form .notice") ?? ""));
    });
  } finally {
    await open.stop();
  }
});

test("a venue that goes is shown with its reason and its books, in words and events, and back again", { skip, timeout: 180_000 }, () =>
  withBrowser({ width: 390, height: 844 }, async (browser) => {
    await signIn(browser);
    await eventually("the feed is live", async () => /live/.test(await browser.text(".feed .indicator") ?? ""));
    await venue.program.stop();
    await eventually("it is missed", async () => (await browser.count(".feed.is-dead")) === 1 && /reconnecting/.test(await browser.text(".feed .indicator")), 40);
    assert.notEqual(await browser.text(".feed .why-dead"), "");
    await eventually("the status", async () => (await browser.text(".page-head .badge")) === "failing");
    await eventually("why", async () => /kraken is reconnecting/.test(await browser.text(".reasons")));
    await eventually("the books", async () => /kraken:BTC-USD/.test(await browser.text('[aria-label="Books that are not live"]')));
    await eventually("the event", async () => /feed lost/.test(await browser.text('[aria-label="Events"]')));
    assert.deepEqual(await violations(browser), [], "axe");
    if (folder) await browser.screenshot(join(folder, "ops-lost.png"));
    venue.program = venue.simulate();
    await eventually("it is back", async () => (await browser.count(".feed.is-dead")) === 0 && (await browser.text(".page-head .badge")) === "ok", 90);
    await eventually("no book is missed", async () => /Every book is live/.test(await browser.text('[aria-label="Books that are not live"]')));
  }));

test("40 books that are lost for one reason are one row", { skip: noBrowser, timeout: 60_000 }, async () => {
  const market = await BusyMarket.start(1, 1);
  try {
    await withBrowser({}, async (browser) => {
      await browser.go(`${market.url}/#/settings`);
      const { rows, text, inner } = await browser.runAsync(`const done = arguments[0];
        import("/console/ops/Overview.js").then(({ Overview }) => {
          const overview = new Overview(), books = [...Array.from({ length: 40 }, (_, index) => ({ connection: "kraken", symbol: "kraken:A" + index + "-USD", reason: "closed by the venue" })),
            { connection: "gate", symbol: "gate:BTC-USDT", reason: "checksum mismatch" }];
          document.getElementById("main").replaceChildren(overview.element);
          overview.show({ node: "n", status: "degraded", draining: false, reasons: [], warnings: [], throughput: { messages_line: [], frames_line: [] },
            clients: { closed: {}, refused: {} }, process: {}, feeds: [], books, books_not_live: 41, slow: [], loops: [], limits: [], events: [], uptime_s: 1 });
          const list = [...document.querySelectorAll(".book-row")];
          done({ rows: list.length, text: list.map((each) => [...each.querySelectorAll("strong, span, summary")].map((part) => part.textContent).join(" ")), inner: list[0].textContent });
        }, (error) => done({ text: [String(error)] }));`);
      assert.equal(rows, 2, text.join());
      assert.match(text[0], /kraken: 40 books closed by the venue kraken:A0-USD, .*kraken:A7-USD and 32 more/);
      assert.match(text[1], /gate: 1 book checksum mismatch gate:BTC-USDT/);
      assert.ok(inner.includes("kraken:A39-USD"), "each is named");
    });
  } finally {
    market.stop();
  }
});

test("a connection that is lost, or stands and brings nothing, is said, and comes back by itself", { skip, timeout: 120_000 }, async () => {
  const relay = await Relay.start(new URL(gateway.internalURL).port);
  try {
    await withBrowser({}, async (browser) => {
      await signIn(browser, token, `http://127.0.0.1:${relay.port}`);
      const live = () => eventually("it is live", async () => (await browser.text("#indicator")) === "Live" && (await browser.count("main.is-dead")) === 0, 30);
      await live();
      relay.drop();
      await eventually("it is said", async () => /No connection/.test(await browser.text("#indicator")) || (await browser.text("#indicator")) === "Live");
      await live();
      relay.stall();
      await eventually("silence is noticed", async () => /No connection/.test(await browser.text("#indicator")), 20);
      await live();
    });
  } finally {
    relay.close();
  }
});
