// Prices in motion, in a real browser: digits roll for rare changes, and can be read at any moment of frequent ones.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Gateway, noGateway } from "./gateway.mjs";
import { BusyMarket } from "./market.mjs";
import { Browser, eventually } from "./webdriver.mjs";

const skip = ["chromedriver", "chromium"].some((name) => spawnSync(name, ["--version"]).error)
  ? "chromium and chromedriver are not installed" : false;
const folder = process.env.TIDEGATE_SCREENSHOTS;
if (folder) mkdirSync(folder, { recursive: true });

/** Looks at each frame: which prices change, which have a digit that is not wholly in its place, and what plays. */
const WATCH = `window.seen = { frames: 0, changes: 0, clipped: 0, played: {} };
  let before = new Map();
  const look = () => {
    seen.frames += 1;
    for (const ticker of document.querySelectorAll(".ticker")) {
      const box = ticker.querySelector(".digits").getBoundingClientRect(), text = ticker.querySelector(".visually-hidden").textContent;
      if (before.has(ticker) && before.get(ticker) !== text) seen.changes += 1;
      before.set(ticker, text);
      const parts = [...ticker.querySelectorAll(".digits > span")].filter((each) => each.firstChild?.data !== "");
      const isWhole = parts.every((each) => { const { top, bottom } = each.getBoundingClientRect(); return top >= box.top - 1 && bottom <= box.bottom + 1; });
      if (!isWhole || parts.map((each) => each.firstChild.data).join("") !== text) seen.clipped += 1;
    }
    for (const { effect } of document.getAnimations()) {
      const name = effect.target.className || effect.target.parentElement.className;
      seen.played[name] = effect.getTiming().duration;
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);`;

async function watching(rate, options, work) {
  const market = await BusyMarket.start(8, rate), browser = await Browser.open(options);
  try {
    await browser.go(`${market.url}/#/settings`);
    await browser.run("localStorage.setItem('tidegate.watchlist', arguments[0])", JSON.stringify(market.symbols));
    await browser.go(`${market.url}/#/watchlist`);
    await browser.call("POST", `${browser.session}/refresh`, {});
    await eventually("rows have prices", async () => (await browser.run(
      "return [...document.querySelectorAll('.row .ticker .visually-hidden')].filter((each) => /\\d/.test(each.textContent)).length")) === 8);
    await browser.run(WATCH);
    await work(browser, () => browser.run("return window.seen"));
  } finally {
    await browser.close();
    market.stop();
  }
}

for (const [name, options] of [["desk", {}], ["phone, light", { width: 390, height: 844, dark: false }]]) {
  test(`prices that move ten times a second can be read in every frame, and their rings pulse (${name})`, { skip, timeout: 60_000 }, () =>
    watching(10, options, async (browser, seen) => {
      for (let still = 0; still < 8; still += 1) {
        if (folder) await browser.screenshot(join(folder, `moving-${name.replace(/\W+/g, "-")}-${still}.png`));
        await sleep(250);
      }
      const { frames, changes, clipped, played } = await seen();
      assert.ok(frames > 20 && changes > 50, `${changes} changes in ${frames} frames`);
      assert.equal(clipped, 0, `${clipped} prices were clipped in ${frames} frames`);
      assert.equal(played.ring, 300);
    }));
}

const HELD = JSON.stringify({ holdings: [{ symbol: "kraken:BTC-USD", amount: "0.5" }], positions: [{ symbol: "kraken:ETH-USD", side: "short", size: "2", entry: "3300", leverage: "3" }] });

test("every price of every page can be read while the markets of a gateway are busy, in both themes and sizes", { skip: skip || noGateway, timeout: 180_000 }, async () => {
  const gateway = await Gateway.start(["--demo", "--rate", "100"]);
  try {
    for (const [name, options] of [
      ["desk", {}], ["desk-light", { dark: false }], ["phone", { width: 390, height: 844 }], ["phone-light", { width: 390, height: 844, dark: false }],
    ]) {
      const browser = await Browser.open(options);
      try {
        await browser.go(`${gateway.url}/#/settings`);
        await browser.run("localStorage.setItem('tidegate.portfolio', arguments[0])", HELD);
        for (const [page, price] of [["watchlist", ".row .ticker .visually-hidden"], ["market/kraken%3ABTC-USD", ".market-head .visually-hidden"], ["portfolio", ".total .hero"]]) {
          await browser.go(`${gateway.url}/#/${page}`);
          await eventually(`a price on ${page}, ${name}`, () => browser.run("return /\\d/.test(document.querySelector(arguments[0])?.textContent ?? '')", price));
          await browser.run(WATCH);
          const seen = new Set();
          await eventually(`it moves on ${page}, ${name}`, async () => {
            seen.add(await browser.run("return document.querySelector(arguments[0]).textContent", price));
            return seen.size >= 6;
          });
          if (folder) await browser.screenshot(join(folder, `busy-${name}-${page.split("/")[0]}.png`));
          const { clipped, frames } = await browser.run("return window.seen");
          assert.ok(frames > 10, `${frames} frames on ${page}, ${name}`);
          assert.equal(clipped, 0, `${clipped} prices were clipped in ${frames} frames on ${page}, ${name}`);
          // Whatever has its text cut off, but for what ends in an ellipsis.
          const cut = await browser.run(`return [...document.querySelectorAll(".price:not(.ticker), .chip, td, dd, .column, .digits")].filter((each) => each.checkVisibility()
            && (each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline")).map((each) => each.className + " " + each.textContent)`);
          assert.deepEqual(cut, [], `figures that do not fit on ${page}, ${name}`);
        }
      } finally {
        await browser.close();
      }
    }
  } finally {
    await gateway.stop();
  }
});

test("a price that moves rarely rolls its digits and pulses its ring", { skip, timeout: 60_000 }, () =>
  watching(0.5, {}, (browser, seen) => eventually("both play", async () => {
    const { played } = await seen();
    return played.ring === 300 && played.digits === 200;
  })));

test("who asks for little motion gets none", { skip, timeout: 60_000 }, () =>
  watching(0.5, { reducedMotion: true }, async (browser, seen) => {
    await eventually("prices move", async () => (await seen()).changes > 0);
    assert.deepEqual((await seen()).played, {});
  }));
