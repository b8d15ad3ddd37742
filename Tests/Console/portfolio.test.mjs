// Portfolios that a gateway keeps, in a real browser: holdings move there, another browser sees them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Gateway, noGateway } from "./gateway.mjs";
import { Browser, eventually } from "./webdriver.mjs";

const skip = noGateway || (["chromedriver", "chromium"].some((name) => spawnSync(name, ["--version"]).error)
  ? "chromium and chromedriver are not installed" : false);
const HELD = JSON.stringify({
  currency: "USD", holdings: [{ symbol: "kraken:BTC-USD", amount: "0.5", cost: "90000", costCurrency: "USD" }, { symbol: "kraken:ZEC-USD", amount: "12.25" }],
  positions: [{ symbol: "coinbase:ETH-USD", side: "short", size: "2", entry: "3300", leverage: "3" }],
});
let gateway, scratch;

before(async () => {
  if (skip) return;
  scratch = mkdtempSync(join(tmpdir(), "tidegate-portfolio-"));
  gateway = await Gateway.start(["--demo"], undefined, { TIDEGATE_DATA_DIRECTORY: scratch });
});
after(async () => {
  await gateway?.stop();
  if (scratch) rmSync(scratch, { recursive: true });
});

async function withBrowser(work) {
  const browser = await Browser.open();
  try {
    await work(browser);
    assert.deepEqual(await browser.errors(), [], "the page has no error");
  } finally {
    await browser.close();
  }
}

const portfolios = async () => (await (await fetch(`${gateway.url}/v1/portfolios`)).json()).portfolios;
const hasValue = (browser, rows) => eventually("a value", async () =>
  (await browser.count(".holding")) === rows && /\$\d/.test(await browser.text(".total .hero")) && (await browser.count(".holding.is-dead")) === 0, 30);

test("a browser's holdings move to the gateway; another browser has them, adds one, and removes one", { skip, timeout: 120_000 }, async () => {
  await withBrowser(async (browser) => {
    await browser.go(`${gateway.url}/#/settings`);
    await browser.run("localStorage.setItem('tidegate.portfolio', arguments[0])", HELD);
    await browser.go(`${gateway.url}/#/portfolio`);
    await hasValue(browser, 3);
    assert.deepEqual(await portfolios(), [], "nothing leaves the browser unasked");
    await browser.click(".offer .button");
    await eventually("they are there", async () => (await browser.count(".transaction")) === 2 && (await browser.count(".offer:not([hidden])")) === 0);
    await hasValue(browser, 3);
    const [{ id }] = await portfolios();
    const { holdings, positions } = await (await fetch(`${gateway.url}/v1/portfolios/${id}`)).json();
    assert.deepEqual(holdings.map(({ asset, quantity, cost }) => [asset, quantity, cost]), [["BTC", "0.5", "45000"], ["ZEC", "12.25", undefined]]);
    assert.deepEqual(positions.map(({ symbol, side }) => [symbol, side]), [["coinbase:ETH-USD", "short"]]);
    assert.deepEqual(JSON.parse(await browser.run("return localStorage.getItem('tidegate.portfolio')")).holdings, [], "there is one truth");
  });
  await withBrowser(async (browser) => {
    await browser.go(`${gateway.url}/#/portfolio`);
    await hasValue(browser, 3);
    await browser.click(".page-head .button-primary");
    await browser.type("#market", "coinbase:SOL-USD");
    await browser.type("#amount", "3");
    await browser.type("#cost", "100");
    await browser.click("dialog button[type=submit]");
    await hasValue(browser, 4);
    await eventually("its profit", async () => /since bought/.test(await browser.text(".holding:nth-child(2)") ?? "") || /since bought/.test(await browser.text(".rows")));
    await browser.click('[aria-label="Remove the holding of ZEC"]');
    assert.match(await browser.text("dialog .muted"), /deletes all transactions/);
    await browser.click("dialog .button-critical");
    await hasValue(browser, 3);
    await browser.click('[aria-label="Remove the short position of ETH-USD"]');
    await browser.click("dialog .button-critical");
    await hasValue(browser, 2);
    const [{ id }] = await portfolios();
    const { holdings, positions } = await (await fetch(`${gateway.url}/v1/portfolios/${id}`)).json();
    assert.deepEqual([holdings.filter(({ quantity }) => quantity !== "0").map(({ asset }) => asset).sort(), positions], [["BTC", "SOL"], []]);
    // What is changed elsewhere is shown, too.
    await fetch(`${gateway.url}/v1/portfolios/${id}/transactions`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ kind: "deposit", asset: "ZEC", quantity: "1" }),
    });
    await hasValue(browser, 3);
  });
});

test("the line of the value ends at the total, with open positions, too", { skip, timeout: 90_000 }, () =>
  withBrowser(async (browser) => {
    await browser.go(`${gateway.url}/#/settings`);
    await browser.run("localStorage.setItem('tidegate.portfolio', arguments[0]); localStorage.setItem('tidegate.portfolio.chosen', '\"local\"')", HELD);
    await browser.go(`${gateway.url}/#/portfolio`);
    await hasValue(browser, 3);
    // The crosshair at the right edge shows the last point; both texts are of one frame.
    await browser.run("document.querySelector('.chart').focus()");
    const RIGHT = "\uE014";
    await eventually("both are equal", async () => {
      await browser.keys(RIGHT);
      const [total, readout] = await browser.run("return [document.querySelector('.total .hero').innerText, document.querySelector('.readout').innerText]");
      return /^\$\d/.test(total) && readout.endsWith(total);
    });
  }));

test("the first holding makes a portfolio at the gateway; a change that it refuses is said in words", { skip, timeout: 90_000 }, async () => {
  for (const { id } of await portfolios()) await fetch(`${gateway.url}/v1/portfolios/${id}`, { method: "DELETE" });
  await withBrowser(async (browser) => {
    await browser.go(`${gateway.url}/#/portfolio`);
    await eventually("it is empty", async () => (await browser.text(".empty"))?.includes("There are no holdings yet"));
    await browser.click(".page-head .button-primary");
    await browser.type("#market", "kraken:BTC-USD");
    await browser.type("#amount", "0.25");
    await browser.click("dialog button[type=submit]");
    await hasValue(browser, 1);
    const [{ name, currency }] = await portfolios();
    assert.deepEqual([name, currency], ["Portfolio", "USD"]);
  });
});
