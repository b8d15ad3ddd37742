// The console in a real browser, against real gateways. Screenshots go to TIDEGATE_SCREENSHOTS, if that names a folder.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Gateway, Program, Relay, noGateway } from "./gateway.mjs";
import { Browser, eventually, freePort } from "./webdriver.mjs";

const noBrowser = ["chromedriver", "chromium"].some((name) => spawnSync(name, ["--version"]).error)
  ? "chromium and chromedriver are not installed" : false;
const skip = noGateway || noBrowser;
const TAB = "\uE004", ENTER = "\uE007", ESCAPE = "\uE00C";
const folder = process.env.TIDEGATE_SCREENSHOTS;
if (folder) mkdirSync(folder, { recursive: true });
const PRICES = "return [...document.querySelectorAll('.row .ticker .visually-hidden')].map((each) => each.textContent)";
const axe = process.env.TIDEGATE_AXE ? readFileSync(process.env.TIDEGATE_AXE, "utf8") : undefined;
let gateway;

before(async () => {
  if (skip) return;
  gateway = await Gateway.start();
  for (const [name, document] of Object.entries(PUBLISHED)) await publish(name, document);
});
after(async () => { await gateway?.stop(); });

async function withBrowser(options, work) {
  const browser = await Browser.open(options);
  try {
    await work(browser);
    // A browser itself notes every 404; a page asks for cards to find out whether this gateway draws any.
    // One for a recorded moment of which nothing is known is an answer, too.
    const errors = (await browser.errors()).filter((each) => !/\/v1\/(cards|books|trades)\/.* 404 /.test(each));
    assert.deepEqual(errors, [], "the page has no error");
  } finally {
    await browser.close();
  }
}

function prices(browser, least = 4) {
  return eventually("rows have prices", async () => {
    const shown = await browser.run(PRICES);
    return shown.length >= least && shown.every((each) => /\d/.test(each ?? "")) && shown;
  });
}

test("the watchlist shows prices that move, and says that they are simulated", { skip, timeout: 90_000 }, () =>
  withBrowser({}, async (browser) => {
    await browser.go(gateway.url);
    const first = await prices(browser);
    await eventually("prices move", async () => JSON.stringify(await browser.run(PRICES)) !== JSON.stringify(first));
    assert.equal(await browser.text("#indicator"), "Connected");
    await eventually("it is marked", () => browser.run("return !document.getElementById('simulated').hidden"));
  }));

test("each row has its asset's name and letter, and one colour for its line and its change", { skip, timeout: 90_000 }, () =>
  withBrowser({ width: 1440 }, async (browser) => {
    await browser.go(gateway.url);
    await prices(browser, 8);
    const rows = () => browser.run(`return [...document.querySelectorAll('.rows > .row')].map((row) => ({
      name: row.querySelector('strong').innerText, letter: row.querySelector('.coin').innerText, line: row.querySelector('.sparkline').dataset.trend,
      chip: row.querySelector('.chip').dataset.direction, columns: [...row.querySelectorAll('.column')].filter((each) => each.offsetParent).map((each) => each.lastChild.innerText),
    }))`);
    await eventually("names, lines and figures", async () => (await rows()).every(({ name, line, columns }) =>
      /[a-z]/.test(name) && line !== undefined && columns.length === 5 && columns.every((each) => /\d|now/.test(each))));
    for (let look = 0; look < 20; look += 1) {
      // A line is drawn anew once a second, and its row's change between.
      await eventually("line and change agree", async () => (await rows()).every(({ line, chip }) => line === chip), 3);
    }
    assert.ok((await rows()).some(({ name, letter }) => name === "Zcash" && letter === "Z"));
  }));

/** What axe calls serious or critical on the page that is shown; nothing where there is no axe. */
async function violations(browser) {
  if (axe === undefined) return [];
  await browser.run(axe);
  return browser.runAsync(`const done = arguments[0];
    // Colours are looked at once they stand: what fades in has less contrast on its way.
    Promise.all(document.getAnimations().map((each) => { try { each.finish(); } catch { each.cancel(); } })).then(() =>
    axe.run(document, { resultTypes: ["violations"] })).then(({ violations }) => done(violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => id + ": " + nodes.slice(0, 3).map(({ target, any }) => target.join(" ") + " " + (any[0]?.message ?? "")).join("; "))), (error) => done([String(error)]));`);
}

const HELD = JSON.stringify({
  holdings: [{ symbol: "kraken:BTC-USD", amount: "0.5", cost: "90000" }, { symbol: "kraken:ZEC-USD", amount: "12.25" }],
  positions: [{ symbol: "coinbase:ETH-USD", side: "short", size: "2", entry: "3300", leverage: "3" }],
});
/** Documents of the board, as an operator publishes them. */
const PUBLISHED = {
  "risk-state": { state: "SOFT_BRAKE", reason: "A drawdown of 4 % today." },
  "shielded-pool": { percent: "23.4", amount: "1234567", asset: "ZEC", change_pct_24h: "0.12" },
  posts: { author: "desk", text: "ZEC left its range.", symbol: "kraken:ZEC-USD" },
};
async function publish(name, document) {
  const response = await fetch(`${gateway.internalURL}/v1/topics/${name}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(document),
  });
  assert.equal(response.status, 201);
}

for (const [name, width, height, dark] of [["phone", 390, 844, true], ["phone, light", 390, 844, false], ["desk", 1280, 900, true], ["desk, light", 1280, 900, false]]) {
  test(`every page fits its window, has what it is for, and nothing serious for axe (${name})`, { skip, timeout: 300_000 }, () =>
    withBrowser({ width, height, dark }, async (browser) => {
      for (const [page, ready] of [
        ["#/watchlist", () => prices(browser)],
        ["#/market/kraken%3ABTC-USD", () => eventually("book and trades", async () =>
          (await browser.run("return [...document.querySelectorAll('.book td')].filter((cell) => /\\d/.test(cell.innerText)).length")) >= 40
          && (await browser.count(".trades tbody tr")) > 0 && /\d/.test(await browser.text(".market-head .price")))],
        ["#/portfolio", () => eventually("a value", async () => /\d/.test(await browser.text(".total .hero")))],
        ["#/alerts", () => eventually("alerts", () => browser.run("return document.querySelector('.rows.skeleton, .main > section > [aria-hidden]:not([hidden])') === null"))],
        ["#/board", () => eventually("documents", async () => (await browser.count(".board .card:not([hidden])")) >= 3)],
        ["#/time/kraken%3ABTC-USD", () => (
          eventually("an answer", async () => /recordings/.test(await browser.text("#main .notice"))))],
        ["#/widgets", () => eventually("markets", async () => (await browser.run("return document.querySelector('#widget-market')?.value")) !== "")],
        ["#/status", () => eventually("feeds", async () => (await browser.count(".table tbody tr")) >= 3)],
        ["#/settings", () => eventually("theme", async () => (await browser.count("#theme")) === 1)],
      ]) {
        if (page === "#/watchlist") {
          await browser.go(gateway.url);
          await browser.run("localStorage.setItem('tidegate.portfolio', arguments[0])", HELD);
        }
        await browser.go(`${gateway.url}/${page}`);
        await ready();
        assert.equal(await browser.run("return document.getElementById('simulated').hidden"), false, `${page} marks simulated prices`);
        assert.deepEqual(await violations(browser), [], `${page}: axe`);
        assert.ok((await browser.run("return document.documentElement.scrollWidth - innerWidth")) <= 0, `${page} scrolls sideways`);
        const small = await browser.run(`return [...document.querySelectorAll('.tab, .button, .icon-button')]
          .filter((each) => each.offsetParent && each.getBoundingClientRect().height < 43.5).map((each) => each.innerText)`);
        assert.deepEqual(small, [], `${page}: too small to touch`);
        const unnamed = await browser.run(`return [...document.querySelectorAll('button, a, input, select, canvas')]
          .filter((each) => each.offsetParent && !(each.innerText?.trim() || each.getAttribute('aria-label') || each.labels?.length)).length`);
        assert.equal(unnamed, 0, `${page}: controls without a name`);
        if (folder) await browser.screenshot(join(folder, `${name.replace(/\W+/g, "-")}-${page.replace(/\W+/g, "-")}.png`));
      }
    }));
}

test("a market is shown as it was at a recorded moment, and another moment replaces it", { skip, timeout: 120_000 }, () =>
  withBrowser({ width: 1280 }, async (browser) => {
    const recordings = mkdtempSync(join(tmpdir(), "tidegate-recordings-"));
    const recorder = await Gateway.start(["--demo", "--record", `${recordings}/`]);
    try {
      await browser.go(`${recorder.url}/#/time/kraken%3ABTC-USD`);
      const shown = () => browser.run(`return {
        book: [...document.querySelectorAll('.book td')].map((each) => each.innerText)
          .filter((each) => /\\d/.test(each)),
        trades: document.querySelectorAll('.trades tbody tr').length,
        caption: document.querySelector('.market-book .caption')?.innerText,
        badge: document.querySelector('.market-book .badge')?.innerText,
        why: document.querySelector('#main .notice').innerText,
        isHidden: document.querySelector('#main .stack').hidden }`);
      const choose = (ago) => browser.run(`
        const date = new Date(Date.now() - arguments[0]), two = (number) => String(number).padStart(2, "0");
        document.querySelector("#time-day").value
          = date.getFullYear() + "-" + two(date.getMonth() + 1) + "-" + two(date.getDate());
        const clock = document.querySelector("#time-clock");
        clock.value = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
        clock.dispatchEvent(new Event("change"));`, ago);
      // Nothing was recorded five minutes ago.
      await eventually("the reason", async () => {
        const { why, isHidden } = await shown();
        return /record/.test(why) && isHidden;
      });
      // What is chosen before an answer has come replaces the question.
      const chosen = async () => {
        await choose(5_000);
        for (let look = 0; look < 40; look += 1) {
          const { book, trades, isHidden } = await shown();
          if (book.length >= 40 && trades > 0 && !isHidden) return true;
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        return JSON.stringify(await shown());
      };
      await eventually("the book of a moment", async () => {
        const found = await chosen();
        if (found !== true) throw new Error(found);
        return true;
      }, 60);
      const first = await shown();
      assert.equal(first.badge, "replay");
      assert.equal(first.why, "");
      assert.deepEqual(await violations(browser), [], "axe");
      await eventually("another moment's book", async () => {
        await browser.run(`[...document.querySelectorAll('.chart-head button')]
          .find((each) => each.innerText === '+10 s').click()`);
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        const { book, caption } = await shown();
        return caption !== first.caption && JSON.stringify(book) !== JSON.stringify(first.book);
      }, 60);
      if (folder) await browser.screenshot(join(folder, "desk-time.png"));
      // An answer that comes after the page was left changes nothing.
      await choose(20_000);
      await browser.run("location.hash = '#/settings'");
      await eventually("the other page", async () => (await browser.count("#theme")) === 1);
    } finally {
      await recorder.stop();
      rmSync(recordings, { recursive: true });
    }
  }));

test("a market is found, added, moved and removed by keyboard alone", { skip, timeout: 90_000 }, () =>
  withBrowser({}, async (browser) => {
    await browser.go(gateway.url);
    const before = (await prices(browser)).length;
    const focus = (name) => eventually(`${name} has the focus`, async () => {
      if ((await browser.run("return document.activeElement?.innerText || document.activeElement?.ariaLabel")) === name) return true;
      await browser.keys(TAB);
      return false;
    });
    await focus("Add");
    await browser.keys(ENTER);
    await eventually("the sheet is open", () => browser.count("dialog[open]"));
    await browser.keys(..."kraken:ZEC");
    await eventually("it is found", async () => (await browser.text(".results li"))?.startsWith("kraken:ZEC-USD"));
    await browser.keys(TAB, ENTER, ESCAPE);
    await eventually("the sheet is closed", async () => (await browser.count("dialog[open]")) === 0);
    await eventually("the row is there", async () => (await browser.count(".rows > .row")) === before + 1);
    const names = () => browser.run("return [...document.querySelectorAll('.row-name')].map((each) => each.innerText.replace(/\\s+/g, ' '))");
    const isZcash = (name) => name.endsWith("ZEC-USD · kraken");
    assert.ok(isZcash((await names()).at(-1)));
    assert.equal(await browser.run("return [...document.querySelectorAll('.row-tools')].filter((each) => each.offsetParent).length"), 0, "no row has buttons");
    await browser.click(".button-edit");
    await browser.run("document.querySelectorAll('.rows > .row:last-child .move-up')[0].focus()");
    await browser.keys(ENTER);
    await eventually("it moved", async () => isZcash((await names()).at(-2)));
    await browser.call("POST", `${browser.session}/refresh`, {});
    await eventually("it is kept", async () => isZcash((await names()).at(-2)));
    await browser.click(".button-edit");
    await browser.run("document.querySelector('.rows > .row:nth-last-child(2) [aria-label=\"Remove ZEC-USD\"]').focus()");
    await browser.keys(ENTER);
    await eventually("it is gone", async () => (await browser.count(".rows > .row")) === before);
  }));

test("a market is dragged to its place, or moved by arrow keys, and keeps its streams and the focus", { skip, timeout: 90_000 }, () =>
  withBrowser({}, async (browser) => {
    await browser.go(gateway.url);
    await prices(browser);
    const names = () => browser.run("return [...document.querySelectorAll('.row-name')].map((each) => each.innerText.replace(/\\s+/g, ' '))");
    await browser.click(".button-edit");
    const first = await names();
    await browser.run("window.rows = [...document.querySelectorAll('.rows > .row')]");
    const place = (index) => browser.run(`const { left, top, width, height } = document.querySelectorAll('.rows > .row')[arguments[0]].querySelector('.grip').getBoundingClientRect();
      return { x: Math.round(left + width / 2), y: Math.round(top + height / 2) };`, index);
    const from = await place(0), to = await place(2);
    await browser.call("POST", `${browser.session}/actions`, {
      actions: [{ type: "pointer", id: "mouse", actions: [
        { type: "pointerMove", ...from }, { type: "pointerDown", button: 0 }, { type: "pointerMove", duration: 100, x: from.x, y: from.y + 20 },
        { type: "pointerMove", duration: 200, x: to.x, y: to.y + 10 }, { type: "pointerUp", button: 0 },
      ] }],
    });
    const dragged = [first[1], first[2], first[0], ...first.slice(3)];
    await eventually("it has moved", async () => JSON.stringify(await names()) === JSON.stringify(dragged));
    assert.equal(await browser.count(".is-dragged"), 0);
    assert.match(await browser.run("return document.getElementById('speech').textContent"), /is 3 of \d/);
    await browser.run("document.querySelectorAll('.rows > .row')[2].querySelector('.grip').focus()");
    const UP = "\uE013";
    await browser.keys(UP, UP, UP);
    assert.deepEqual(await names(), first);
    assert.ok(await browser.run("return document.activeElement === document.querySelector('.rows > .row .grip')"), "the focus stays");
    assert.ok(await browser.run("return window.rows.every((each) => each.isConnected)"), "no row is made anew");
    await browser.call("POST", `${browser.session}/refresh`, {});
    await eventually("it is kept", async () => JSON.stringify(await names()) === JSON.stringify(first));
  }));

test("widgets are pictures whose addresses answer; a market that is not served is said", { skip, timeout: 90_000 }, () =>
  withBrowser({}, async (browser) => {
    await browser.go(`${gateway.url}/#/widgets`);
    const sizes = () => browser.run("return [...document.querySelectorAll('.widget img')].filter((each) => each.src && each.complete).map((each) => [each.naturalWidth, each.naturalHeight])");
    await eventually("all are drawn", async () => JSON.stringify(await sizes()) === "[[155,155],[329,155],[329,345],[297,40],[297,60]]");
    for (const address of await browser.run("return [...document.querySelectorAll('.address')].map((each) => each.textContent)")) {
      const answer = await fetch(address);
      assert.deepEqual([answer.status, answer.headers.get("content-type")], [200, "image/svg+xml"], address);
    }
    assert.equal(await browser.count(".widget figcaption .button"), 5);
    await browser.run("const market = document.querySelector('#widget-market'); market.value = 'kraken:NO-SUCH'; market.dispatchEvent(new Event('change'))");
    await eventually("it is said", async () => (await browser.text(".notice"))?.includes("kraken has no NO-SUCH"));
    assert.equal(await browser.count(".widget img[src]"), 0);
    await browser.errors();
  }));

test("a frame that comes after its page was left finds nothing to draw, and fails nowhere", { skip, timeout: 90_000 }, () =>
  withBrowser({}, async (browser) => {
    await browser.go(gateway.url);
    await browser.run("localStorage.setItem('tidegate.portfolio', arguments[0])", HELD);
    for (const page of ["portfolio", "watchlist", "market/kraken%3ABTC-USD", "alerts", "board", "widgets", "status"]) {
      await browser.go(`${gateway.url}/#/${page}`);
      await eventually(`${page} is open`, () => (
        browser.run("return document.querySelector('main > section') !== null")));
      // The frames of the page are held back until the next one is open.
      await browser.run(`window.draw = window.requestAnimationFrame;
        window.held = [];
        window.requestAnimationFrame = (work) => window.held.push(work);`);
      const isStill = ["alerts", "board", "widgets", "status"].includes(page);
      await eventually(`${page} wants to draw`, async () => isStill || browser.run("return window.held.length > 0"));
      await browser.run("location.hash = '#/settings'");
      await eventually("the next page", async () => (await browser.count("#theme")) === 1);
      await browser.run(`window.requestAnimationFrame = window.draw;
        for (const each of window.held) each(performance.now());`);
      assert.deepEqual(await browser.errors(), [], page);
    }
  }));

test("a gateway that ends greys everything and says so; its return clears it", { skip, timeout: 150_000 }, () =>
  withBrowser({}, async (browser) => {
    const own = await Gateway.start();
    try {
      await browser.go(own.url);
      await prices(browser);
      await own.stop("SIGKILL");
      await eventually("it is said", async () => (await browser.text("#indicator")) === "Reconnecting");
      await eventually("rows are grey", async () => (await browser.count(".row.is-dead")) === (await browser.count(".rows > .row")));
      const again = await Gateway.start(["--demo"], own.port);
      try {
        await eventually("it is back", async () => (await browser.text("#indicator")) === "Connected", 60);
        await eventually("nothing is grey", async () => (await browser.count(".row.is-dead")) === 0, 30);
        await browser.errors();
      } finally {
        await again.stop();
      }
    } finally {
      await own.stop();
    }
  }));

const later = "what a gateway does not have yet is grey until it comes, in the list and on its own page";
test(later, { skip, timeout: 150_000 }, () =>
  withBrowser({}, async (browser) => {
    const ports = [await freePort(), await freePort()];
    const simulate = (venue, port) => Program.start(["simulate", "--venue", venue, "--listen", `127.0.0.1:${port}`]);
    const feeds = [
      "--feed", "kraken=BTC-USD", "--endpoint", `kraken=ws://127.0.0.1:${ports[0]}/v2`,
      "--feed", "coinbase=BTC-USD", "--endpoint", `coinbase=ws://127.0.0.1:${ports[1]}`,
    ];
    const venues = [simulate("kraken", ports[0]), simulate("coinbase", ports[1])];
    let own, again;
    try {
      own = await Gateway.start(feeds);
      // The list is made of what there is when the page is opened.
      await eventually("both are there", async () => {
        const list = await (await fetch(`${own.url}/v1/instruments`)).json();
        return list.instruments?.length === 2;
      });
      await browser.go(own.url);
      await prices(browser, 2);
      const words = async () => browser.run("return document.body.textContent");
      const said = "kraken has not listed its markets yet";
      await venues[0].stop();
      await own.stop();
      again = await Gateway.start(feeds, own.port);
      const why = () => browser.text(".row.is-dead .why-dead");
      await eventually("the list says it", async () => (await why())?.includes(said), 40);
      assert.equal(await browser.count(".row.is-dead"), 1);
      const market = await Browser.open({});
      try {
        await market.go(`${own.url}/#/market/kraken%3ABTC-USD`);
        await eventually("its page says it", async () => (await market.text("main"))?.includes(said), 40);
        venues[0] = simulate("kraken", ports[0]);
        const price = () => market.text(".ticker .visually-hidden");
        await eventually("the page has a price", async () => /\d/.test((await price()) ?? ""), 40);
        await eventually("the page is not grey", async () => (await market.count(".is-dead")) === 0, 40);
        assert.ok(!(await market.text("main")).includes(said));
      } finally {
        await market.close();
      }
      await eventually("the list is not grey", async () => (await browser.count(".row.is-dead")) === 0, 40);
      assert.ok(!(await words()).includes(said));
      // Those of the time in which there was no gateway.
      await browser.errors();
    } finally {
      for (const each of [own, again, ...venues]) await each?.stop();
    }
  }));

test("a dead feed greys exactly what it feeds, and says why; its return clears it", { skip, timeout: 150_000 }, async () => {
  const scratch = mkdtempSync(join(tmpdir(), "tidegate-console-"));
  const ports = [await freePort(), await freePort()];
  const simulate = (venue, port) => Program.start(
    ["simulate", "--venue", venue, "--listen", `127.0.0.1:${port}`, "--ca-out", join(scratch, `${venue}.pem`)]);
  const venues = [simulate("kraken", ports[0]), simulate("coinbase", ports[1])];
  let own, relay;
  try {
    const roots = join(scratch, "kraken.pem");
    await eventually("venues run", () => existsSync(roots) && venues.every(({ output }) => output.includes("simulated")));
    // Both certificates have one name: the second venue is reached in the clear, through a relay.
    relay = await Relay.start(ports[1], { encrypts: true });
    own = await Gateway.start([
      "--feed", "kraken=BTC-USD", "--endpoint", `kraken=wss://localhost:${ports[0]}/v2`, "--feed", "coinbase=BTC-USD",
      "--endpoint", `coinbase=ws://127.0.0.1:${relay.port}`, "--ca", roots,
    ]);
    await withBrowser({}, async (browser) => {
      await browser.go(own.url);
      await prices(browser, 2);
      await venues[0].stop();
      await eventually("kraken's row is grey", async () => (await browser.text(".row.is-dead"))?.includes("kraken"), 40);
      assert.equal(await browser.count(".row.is-dead"), 1);
      assert.notEqual(await browser.text(".row.is-dead .why-dead"), "");
      await browser.go(`${own.url}/#/market/kraken%3ABTC-USD`);
      await eventually("the market says so", async () => (await browser.text(".notice"))?.startsWith("These prices are old"));
      await browser.go(`${own.url}/#/watchlist`);
      await prices(browser, 2);
      // The other venue ends and comes back: its certificate is another, which the relay takes as it is.
      await venues[1].stop();
      relay.drop();
      await eventually("both rows are grey", async () => (await browser.count(".row.is-dead")) === 2, 60);
      venues[1] = simulate("coinbase", ports[1]);
      await eventually("coinbase's row is live again", async () => (await browser.count(".row.is-dead")) === 1, 60);
      assert.match(await browser.text(".row.is-dead"), /kraken/);
    });
  } finally {
    await own?.stop();
    relay?.close();
    for (const venue of venues) await venue.stop();
    rmSync(scratch, { recursive: true });
  }
});

test("a key that ends is told, and another one goes on where it stopped", { skip, timeout: 180_000 }, async () => {
  const scratch = mkdtempSync(join(tmpdir(), "tidegate-console-"));
  const entry = (key, more = "") => `    ${key}: {sha256: ${createHash("sha256").update(key).digest("hex")}${more}}\n`;
  const end = Date.now() + 45_000;
  const expires = `, expires: "${new Date(end).toISOString().replace(/\.\d+/, "")}"`;
  writeFileSync(join(scratch, "keys.yaml"), "access:\n  keys:\n" + entry("short", expires) + entry("long"));
  const own = await Gateway.start(["--demo"], undefined, { TIDEGATE_KEYS_FILE: join(scratch, "keys.yaml") });
  try {
    const browser = await Browser.open();
    const signIn = async (key) => {
      await eventually("it asks", () => browser.count("dialog[open] #token"), 40);
      await browser.type("#token", key);
      await browser.click("dialog button[type=submit]");
    };
    try {
      await browser.go(own.url);
      await signIn("short");
      await prices(browser);
      await eventually("rows are grey when it ends", async () => (await browser.count(".row.is-dead")) >= 4, 60);
      assert.ok(Date.now() >= end - 2_000, "not before its end");
      await signIn("long");
      await eventually("prices go on", async () => (await browser.count(".row.is-dead")) === 0 && (await browser.text("#indicator")) === "Connected");
    } finally {
      await browser.close();
    }
  } finally {
    await own.stop();
    rmSync(scratch, { recursive: true });
  }
});

test("on a slow network the frame stands first, then the prices", { skip, timeout: 90_000 }, () =>
  withBrowser({}, async (browser) => {
    await browser.command("Network.enable", {});
    await browser.command("Network.emulateNetworkConditions", { offline: false, latency: 300, downloadThroughput: 40_000, uploadThroughput: 40_000 });
    const start = Date.now();
    await browser.call("POST", `${browser.session}/timeouts`, { pageLoad: 60_000 });
    await browser.go(gateway.url);
    assert.equal(await browser.count("header .brand"), 1);
    await prices(browser);
    assert.ok(Date.now() - start > 900, "the network was slow");
  }));

test("a gateway with keys asks for one, refuses a wrong one in words, and keeps it where it was told", { skip, timeout: 120_000 }, async () => {
  const scratch = mkdtempSync(join(tmpdir(), "tidegate-console-"));
  const key = "a-key-for-the-console";
  const hash = createHash("sha256").update(key).digest("hex");
  writeFileSync(join(scratch, "keys.yaml"), `access:\n  keys:\n    console:\n      sha256: ${hash}\n`);
  const own = await Gateway.start(["--demo"], undefined, { TIDEGATE_KEYS_FILE: join(scratch, "keys.yaml") });
  try {
    const browser = await Browser.open();
    try {
      await browser.go(own.url);
      await eventually("it asks", () => browser.count("dialog[open] #token"));
      await browser.type("#token", "wrong");
      await browser.click("dialog button[type=submit]");
      await eventually("it asks again", async () => (await browser.text("dialog[open] .muted"))?.includes("Its answer"));
      await browser.type("#token", key);
      await browser.click("#keep");
      await browser.click("dialog button[type=submit]");
      await eventually("it is connected", async () => (await browser.text("#indicator")) === "Connected");
      await browser.call("POST", `${browser.session}/refresh`, {});
      await prices(browser);
      const kept = await browser.run("return [Object.values(sessionStorage), Object.values(localStorage).join(), location.href]");
      assert.ok(kept[0].includes(key));
      assert.ok(!kept[1].includes(key) && !kept[2].includes(key));
    } finally {
      await browser.close();
    }
  } finally {
    await own.stop();
    rmSync(scratch, { recursive: true });
  }
});

/** How many pixels of the chart are painted. */
const PAINTED = `const canvas = document.querySelector('.chart'), data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  let painted = 0; for (let place = 3; place < data.length; place += 4) if (data[place] > 0) painted += 1; return painted;`;

test("a market's chart shows candles and lines of each range, what was not observed, and a crosshair by keyboard", { skip, timeout: 120_000 }, () =>
  withBrowser({}, async (browser) => {
    await browser.go(`${gateway.url}/#/market/kraken%3ABTC-USD`);
    const press = (name) => browser.run("[...document.querySelectorAll('.chart-head button')].find((each) => each.innerText === arguments[0]).click()", name);
    await eventually("the page is there", () => browser.count(".chart-head button"));
    for (const kind of ["Candles", "Line"]) {
      await press(kind);
      for (const range of ["1H", "7D", "ALL", "1D"]) {
        await press(range);
        await eventually(`${kind} ${range}`, async () => (await browser.run(PAINTED)) > 2_000 && /Observed for|Only partly observed|Nothing of this range/.test(await browser.text(".chart-frame ~ .caption, .card > .caption")));
      }
    }
    await press("Candles");
    await press("1H");
    await browser.run("document.querySelector('.chart').focus()");
    const LEFT = "\uE012";
    // Once: a young chart has few candles, and what is left of them was not observed.
    await browser.keys(LEFT);
    await eventually("the crosshair speaks", async () => /open .*high .*low .*close/.test(await browser.text(".readout")));
    await browser.keys("+", "+", "0");
    await press("MA 7");
    assert.equal(await browser.run("return [...document.querySelectorAll('.chart-head button')].find((each) => each.innerText === 'MA 7').getAttribute('aria-pressed')"), "true");
    await browser.call("POST", `${browser.session}/refresh`, {});
    await eventually("range and kind are kept", async () =>
      (await browser.run("return [...document.querySelectorAll('.chart-head [aria-pressed=true]')].map((each) => each.innerText).join()")) === "1H,Candles");
  }));

/** A gateway that keeps history: only such a one has the longer candles, and the line of a day. */
async function withHistory(work) {
  const scratch = mkdtempSync(join(tmpdir(), "tidegate-console-"));
  const own = await Gateway.start(["--demo"], undefined, { TIDEGATE_DATA_DIRECTORY: scratch });
  try {
    const hours = async () => (await (await fetch(`${own.url}/v1/candles/kraken:BTC-USD?interval=1h&limit=30`)).json()).candles;
    await eventually("the exchange's hours", async () => (await hours())?.length === 30, 60);
    await work(own);
  } finally {
    await own.stop();
    rmSync(scratch, { recursive: true });
  }
}

test("the candles of a day cover it, with longer ones where the exchange has no short ones", { skip, timeout: 120_000 }, () =>
  withHistory((own) => withBrowser({}, async (browser) => {
    await browser.go(`${own.url}/#/settings`);
    await browser.run("localStorage.setItem('tidegate.chart', JSON.stringify({ range: '1D', kind: 'candles' }))");
    await browser.go(`${own.url}/#/market/kraken%3ABTC-USD`);
    await eventually("the chart is there", async () => (await browser.count(".chart")) === 1 && (await browser.run(PAINTED)) > 2_000);
    for (const share of [0.1, 0.25, 0.4, 0.6, 0.8, 0.95]) {
      await eventually(`a candle at ${share * 100} % of the day`, async () => {
        await browser.run(`const canvas = document.querySelector('.chart'), { left, top, width } = canvas.getBoundingClientRect();
          canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: left + (width - 74) * arguments[0], clientY: top + 50 }));`, share);
        return /open .*close/.test(await browser.text(".readout"));
      }, 5);
    }
    assert.doesNotMatch(await browser.text(".market-chart > .caption"), /not known/);
  })));

test("both axes of a day's chart have labels, of equal decimals, apart from each other, on a phone and on a desk", { skip, timeout: 120_000 }, () =>
  withHistory(async (own) => {
    for (const [width, height] of [[390, 844], [1440, 900]]) {
      await withBrowser({ width, height }, async (browser) => {
        await browser.go(`${own.url}/#/settings`);
        // A canvas keeps no text: what is drawn since it was cleared is noted.
        await browser.run(`const { prototype } = CanvasRenderingContext2D, { clearRect, fillText } = prototype;
          prototype.clearRect = function (...box) { window.drawn = []; return clearRect.apply(this, box); };
          prototype.fillText = function (text, x, y, ...more) { window.drawn.push({ text, x, y, width: this.measureText(text).width }); return fillText.call(this, text, x, y, ...more); };
          location.hash = "#/market/kraken%3ABTC-USD";`);
        const labels = async (pattern) => (await browser.run("return window.drawn ?? []")).filter(({ text }) => pattern.test(text));
        await eventually(`times, ${width} px`, async () => {
          const times = (await labels(/^\d\d:\d\d$/)).sort((a, b) => a.x - b.x);
          return times.length >= 3 && times.every(({ x }, place) => place === 0 || x > times[place - 1].x + times[place - 1].width + 8);
        });
        await eventually(`prices, ${width} px`, async () => {
          const prices = (await labels(/^[\d,]+\.\d+$/)).sort((a, b) => a.y - b.y);
          const decimals = new Set(prices.map(({ text }) => text.split(".")[1].length));
          return prices.length >= 4 && decimals.size === 1 && prices.every(({ y }, place) => place === 0 || y >= prices[place - 1].y + 12);
        });
      });
    }
  }));

test("a market's page shows the supply that the operator has published about it, and its worth", { skip, timeout: 90_000 }, () =>
  withBrowser({}, async (browser) => {
    await publish("supply-zec", { symbol: "kraken:ZEC-USD", supply: "16400000", max_supply: "21000000" });
    await publish("shielded-pool", { ...PUBLISHED["shielded-pool"], symbol: "kraken:ZEC-USD" });
    await browser.go(`${gateway.url}/#/market/kraken%3AZEC-USD`);
    await eventually("the figures", async () => {
      const text = (await browser.text(".statistics")) ?? "";
      return /Market cap\s+\$[\d.]+B/.test(text) && /Supply\s+16\.4M/.test(text) && /Shielded\s+23\.4% \(1\.23M\)/.test(text);
    });
    await browser.go(`${gateway.url}/#/market/kraken%3ABTC-USD`);
    await eventually("figures of another market", async () => /\$\d/.test((await browser.text(".statistics")) ?? ""));
    assert.doesNotMatch(await browser.text(".statistics"), /Market cap|Shielded/);
  }));

test("a holding is added by its sheet, valued exactly, kept, and removed", { skip, timeout: 90_000 }, () =>
  withBrowser({}, async (browser) => {
    await browser.go(`${gateway.url}/#/portfolio`);
    await eventually("it is empty", async () => (await browser.text(".empty"))?.includes("There are no holdings yet"));
    await browser.click(".page-head .button-primary");
    await browser.type("#market", "kraken:BTC-USD");
    await browser.type("#amount", "0");
    await browser.click("dialog button[type=submit]");
    assert.match(await browser.text("dialog .notice"), /above zero/);
    await browser.type("#amount", ".5");
    await browser.click("dialog button[type=submit]");
    await eventually("it has a value", async () => /\$\d/.test(await browser.text(".total .hero")));
    await browser.call("POST", `${browser.session}/refresh`, {});
    await eventually("it is kept", async () => (await browser.count(".holding")) === 1 && /\$\d/.test(await browser.text(".total .hero")));
    await browser.click('[aria-label="Remove the holding of BTC"]');
    await eventually("it is gone", async () => (await browser.text(".empty"))?.includes("There are no holdings yet"));
  }));

test("the board shows what is published, and what comes after it", { skip, timeout: 90_000 }, () =>
  withBrowser({}, async (browser) => {
    await browser.go(`${gateway.url}/#/board`);
    await eventually("the pool", async () => /23\.4%/.test((await browser.text(".pool")) ?? ""));
    const zone = encodeURIComponent(await browser.run("return Intl.DateTimeFormat().resolvedOptions().timeZone"));
    const { card, date } = await (await fetch(`${gateway.url}/v1/decks/calm?zone=${zone}`)).json();
    await eventually("the card of the day", async () => (await browser.text(".deck-quote")) === card.quote);
    // What is ticked is kept for the day, and for no other.
    await browser.click(".deck-action input");
    assert.equal(await browser.run("return JSON.parse(localStorage.getItem('tidegate.deck.calm'))"), date);
    await browser.call("POST", `${browser.session}/refresh`, {});
    await eventually("it is still ticked", () => browser.run("return document.querySelector('.deck-card:not([hidden]) input')?.checked === true"));
    await browser.run("localStorage.setItem('tidegate.deck.calm', '\"1999-01-01\"')");
    await browser.call("POST", `${browser.session}/refresh`, {});
    await eventually("another day's is not", () => browser.run("return document.querySelector('.deck-card:not([hidden]) input')?.checked === false"));
    await publish("risk-state", { state: "HARD_STOP", reason: "<b>not markup</b>" });
    await eventually("the state changes", async () => (await browser.text(".risk-badge"))?.trim() === "HARD STOP", 30);
    assert.match(await browser.text(".risk"), /<b>not markup<\/b>/);
    await publish("risk-state", PUBLISHED["risk-state"]);
  }));

test("an alarm is set by its sheet, rings on every page, and is dismissed and deleted", { skip, timeout: 120_000 }, () =>
  withBrowser({}, async (browser) => {
    await browser.go(`${gateway.url}/#/alerts`);
    await eventually("alerts are served", async () => (await browser.text(".empty:not([hidden])"))?.includes("No active alerts"));
    await browser.click(".page-head .button-primary");
    await browser.run("const kind = document.querySelector('#kind'); kind.value = 'countdown'; kind.dispatchEvent(new Event('change'))");
    await browser.run("document.querySelector('#minutes').value = '0'");
    await browser.click("dialog button[type=submit]");
    assert.match(await browser.text("dialog .notice"), /up to 1440 minutes/);
    await browser.run("document.querySelector('#minutes').value = '0.05'; document.querySelector('#name').value = 'Tea'");
    await browser.click("dialog button[type=submit]");
    await eventually("it is there", async () => (await browser.text(".alarm-cell .cell-name")) === "Tea");
    await browser.go(`${gateway.url}/#/settings`);
    await eventually("it rings on another page", async () => (await browser.text(".ringer:not([hidden]) strong"))?.startsWith("Tea"), 30);
    await browser.go(`${gateway.url}/#/alerts`);
    await eventually("it is alerting", async () => (await browser.text(".alarm-cell .status-badge"))?.includes("ALERTING"));
    assert.deepEqual(await violations(browser), [], "axe");
    if (folder) await browser.screenshot(join(folder, "ringing.png"));
    await browser.click(".ringer .button-critical");
    await eventually("it is quiet", async () => (await browser.count(".ringer:not([hidden])")) === 0 && (await browser.text(".status-badge"))?.includes("DISABLED"));
    await browser.click('[aria-label="Delete Tea"]');
    await browser.click("dialog .button-critical");
    await eventually("it is gone", async () => (await browser.count(".alarm-cell")) === 0);
  }));

test("a ringing price alert shows the price that fired, in a landmark, with both buttons beside each other", { skip, timeout: 90_000 }, () =>
  withBrowser({ width: 390, height: 844 }, async (browser) => {
    const answer = await fetch(`${gateway.url}/v1/alerts`, {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ name: "Above a dollar", rule: { condition: { type: "price", symbol: "kraken:BTC-USD", is: "above", value: "1" } } }),
    });
    assert.equal(answer.status, 201);
    const { id } = await answer.json();
    try {
      await browser.go(`${gateway.url}/#/settings`);
      await eventually("it rings", async () => /^Above a dollar: \$\d{2,3},\d{3}/.test((await browser.text(".ringer:not([hidden]) strong")) ?? ""), 30);
      assert.match(await browser.text(".ringer .caption"), /BTC-USD at or above \$1$/);
      const { landmark, tops } = await browser.run(`const bar = document.querySelector('.ringer');
        return { landmark: bar.tagName + ' ' + bar.getAttribute('aria-label'), tops: [...bar.querySelectorAll('.button')].map((each) => each.getBoundingClientRect().top) };`);
      assert.equal(landmark, "SECTION Ringing alerts");
      assert.equal(tops[0], tops[1]);
      if (folder) await browser.screenshot(join(folder, "ringing-phone.png"));
    } finally {
      await fetch(`${gateway.url}/v1/alerts/${id}`, { method: "DELETE" });
    }
  }));
