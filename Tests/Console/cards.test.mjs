// The cards of `Cards/*.svg` in a real browser, compared with pictures of them that people have looked at
// (`Cards/*.png`). `TIDEGATE_UPDATE_CARDS=1` draws those anew.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Browser } from "./webdriver.mjs";

const folder = fileURLToPath(new URL("Cards/", import.meta.url));
const noBrowser = ["chromedriver", "chromium"].some((name) => spawnSync(name, ["--version"]).error)
  ? "chromium and chromedriver are not installed" : false;
const isUpdate = process.env.TIDEGATE_UPDATE_CARDS === "1";
const screenshots = process.env.TIDEGATE_SCREENSHOTS;
/// A browser smooths edges in its own way: a pixel counts as another one from this difference on, of 255.
const PIXEL = 40;
/// Pixels that may be others, of a thousand.
const TOLERANCE = 5;
// A width that says which font a browser has taken: another font draws other letters.
const FONT = "Zcash $48.23 +12.60% 0123456789";
let browser;

before(async () => {
  if (noBrowser) return;
  browser = await Browser.open({ width: 640, height: 480 });
  // What is black behind a card shows where it is not closed.
  await browser.go("data:text/html,<body style='margin:0;background:%23102030'><img id=card></body>");
});
after(async () => { await browser?.close(); });

/** A card as the browser draws it: PNG in base64, its width and height. */
async function draw(svg) {
  const [width, height] = await browser.runAsync(`
    const [text, done] = arguments, card = document.getElementById("card");
    card.onload = () => done([card.naturalWidth, card.naturalHeight]);
    card.onerror = () => done([0, 0]);
    card.src = "data:image/svg+xml;base64," + text;`, Buffer.from(svg).toString("base64"));
  assert.ok(width > 0 && height > 0, "the browser draws it");
  const { data } = await browser.command("Page.captureScreenshot", { format: "png", clip: { x: 0, y: 0, width, height, scale: 1 } });
  return { data, width, height };
}

/** Pixels that differ, of a thousand; -1 where the sizes do. */
function difference(one, other) {
  return browser.runAsync(`
    const [one, other, least, done] = arguments;
    const pixels = (data) => new Promise((resolve, reject) => {
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        resolve(context.getImageData(0, 0, image.width, image.height));
      };
      image.onerror = () => reject(new Error("no picture"));
      image.src = "data:image/png;base64," + data;
    });
    Promise.all([pixels(one), pixels(other)]).then(([a, b]) => {
      if (a.width !== b.width || a.height !== b.height) return done(-1);
      let count = 0;
      for (let at = 0; at < a.data.length; at += 4) {
        if ([0, 1, 2].some((part) => Math.abs(a.data[at + part] - b.data[at + part]) > least)) count += 1;
      }
      done(count * 4000 / a.data.length);
    }, () => done(-1));`, one, other, PIXEL);
}

/** The width of a text in the fonts of the cards. */
function fontWidth() {
  const family = /font-family="([^"]+)"/.exec(readFileSync(join(folder, "medium.svg"), "utf8"))?.[1] ?? "sans-serif";
  return browser.run(`
    const context = document.createElement("canvas").getContext("2d");
    context.font = "100px " + arguments[1];
    return Math.round(context.measureText(arguments[0]).width);`, FONT, family.replaceAll("&quot;", '"').replaceAll("'", '"'));
}

const names = readdirSync(folder).filter((each) => each.endsWith(".svg")).map((each) => each.slice(0, -4)).sort();

test("there are cards to look at", () => { assert.ok(names.length >= 8, names.join(" ")); });

for (const name of names) {
  test(`the card ${name} looks as it did`, { skip: noBrowser, timeout: 60_000 }, async (context) => {
    const fonts = join(folder, "fonts.json"), golden = join(folder, `${name}.png`);
    const width = await fontWidth();
    const { data } = await draw(readFileSync(join(folder, `${name}.svg`)));
    if (screenshots) {
      mkdirSync(screenshots, { recursive: true });
      writeFileSync(join(screenshots, `card-${name}.png`), Buffer.from(data, "base64"));
    }
    if (isUpdate) {
      writeFileSync(golden, Buffer.from(data, "base64"));
      writeFileSync(fonts, `${JSON.stringify({ text: FONT, width })}\n`);
    }
    const expected = JSON.parse(readFileSync(fonts, "utf8"));
    if (expected.width !== width) {
      context.skip(`this browser has another font: the text is ${width} wide, and was ${expected.width}`);
      return;
    }
    assert.ok(existsSync(golden), "there is a picture of it");
    const off = await difference(data, readFileSync(golden).toString("base64"));
    assert.ok(off >= 0 && off <= TOLERANCE, `${off} of 1000 pixels differ`);
  });
}

test("a card that moved, or lost a part, is noticed", { skip: noBrowser, timeout: 60_000 }, async () => {
  const svg = readFileSync(join(folder, "medium.svg"), "utf8");
  const { data } = await draw(svg);
  for (const [what, other] of [
    ["its line", svg.replace(/<path[^>]*>/g, "")], ["its price", svg.replace("48.23", "48.93")],
    ["its colour", svg.replaceAll("#22C55E", "#EF4444")],
  ]) {
    assert.notEqual(other, svg, what);
    const off = await difference(data, (await draw(other)).data);
    assert.ok(off > TOLERANCE || what === "its price" && off > 0, `${what}: ${off} of 1000 pixels differ`);
  }
});
