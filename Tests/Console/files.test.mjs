import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../Sources/Console", import.meta.url));

function walk(place) {
  return readdirSync(place).flatMap((name) => {
    const path = join(place, name);
    return statSync(path).isDirectory() ? walk(path) : [path];
  });
}

const files = walk(folder).map((path) => relative(folder, path))
  .filter((path) => !path.startsWith("Console.docc/") && !path.startsWith("include/") && path !== "Console.c");

test("every file of the console is embedded, under its own path", () => {
  const source = readFileSync(join(folder, "Console.c"), "utf8");
  for (const file of files) {
    assert.ok(source.includes(`#embed "${file}"`), `${file} is not embedded`);
    const path = file === "index.html" ? "/" : file.startsWith("client/") ? file.slice(6) : `/console/${file}`;
    assert.ok(source.includes(`FILE("${path}",`), `${file} is not served as ${path}`);
  }
  assert.equal(source.match(/^#embed/gm).length, files.length);
});

const size = (some) => some.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);

// Binary records and groups take 30 kB of each, 8 kB compressed: what a watchlist of 50 saves in the first second.
// The page of recorded moments takes 8 kB, which only its visitors load.
test("all pages of the client port together have at most 280 kB before compression", () => {
  // The page of operators is another site, on the internal port. A browser loads a page when it is first opened.
  const bytes = size(files.filter((file) => !file.endsWith(".d.ts") && !file.startsWith("ops/")));
  assert.ok(bytes > 100_000, `${bytes} bytes: files are not found`);
  assert.ok(bytes <= 280_000, `${bytes} bytes`);
});

test("the page of operators has at most 60 kB of its own", () => {
  const bytes = size(files.filter((file) => file.startsWith("ops/")));
  assert.ok(bytes > 10_000, `${bytes} bytes: files are not found`);
  assert.ok(bytes <= 60_000, `${bytes} bytes`);
});

/** The files that a page loads: itself, and what it and the frame import, whatever stands behind it. */
function loaded(page) {
  const found = new Set(["index.html", "icon.svg", "styles/tokens.css", "styles/console.css"]);
  const queue = ["app.js", page];
  while (queue.length > 0) {
    const file = queue.pop();
    if (found.has(file)) continue;
    found.add(file);
    for (const [, name] of readFileSync(join(folder, file), "utf8").matchAll(/^(?:import|export) .*?from "([^"]+)";$/gm)) {
      queue.push(name === "/tidegate.js" ? "client/tidegate.js" : join(file, "..", name));
    }
  }
  return [...found];
}

for (const page of readdirSync(join(folder, "pages"))) {
  test(`the page ${page} loads at most 204 kB`, () => {
    const bytes = size(loaded(`pages/${page}`));
    assert.ok(bytes > 100_000, `${bytes} bytes: imports are not found`);
    assert.ok(bytes <= 204_000, `${bytes} bytes`);
  });
}

test("what is served asks for nothing from elsewhere", () => {
  const served = files.filter((file) => !file.endsWith(".d.ts"));
  for (const file of served) {
    const text = readFileSync(join(folder, file), "utf8");
    const foreign = [...text.matchAll(/(?:https?:)?\/\/[a-z0-9-]+\.[a-z]{2,}[^\s"'`)]*/g)].map(([address]) => address)
      .filter((address) => address !== "http://www.w3.org/2000/svg");
    assert.deepEqual(foreign, [], file);
    assert.ok(!/\.innerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/.test(text), `${file} makes markup or code of text`);
  }
});

test("the stylesheet uses no custom property that is not defined, in either theme", () => {
  const css = readFileSync(join(folder, "styles/console.css"), "utf8"), tokens = readFileSync(join(folder, "styles/tokens.css"), "utf8");
  const defined = new Set([...(tokens + css).matchAll(/(--[a-z0-9-]+):/g)].map(([, name]) => name));
  for (const [, name] of css.matchAll(/var\((--[a-z0-9-]+)/g)) assert.ok(defined.has(name) || ["--share", "--hue"].includes(name), name);
});

/** Contrast of two colours, WCAG 2.2 section 1.4.3. */
function contrast(a, b) {
  const light = (hex) => {
    const [r, g, b] = [1, 3, 5].map((place) => parseInt(hex.slice(place, place + 2), 16) / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

test("text has a contrast of 4.5 on every ground, in both themes (WCAG AA)", () => {
  const tokens = readFileSync(join(folder, "styles/tokens.css"), "utf8");
  const themes = [...tokens.matchAll(/--([a-z-]+): (?:light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)|(#[0-9a-f]{6}));/g)];
  const light = Object.fromEntries(themes.map(([, name, light, , both]) => [name, light ?? both]));
  const dark = Object.fromEntries(themes.map(([, name, , dark, both]) => [name, dark ?? both]));
  const states = ["scheduled", "running", "paused", "alerting", "disabled"].map((state) => `state-${state}`);
  for (const fill of [...states, "critical", "risk-normal", "risk-soft-brake", "risk-quarantine", "risk-hard-stop"]) {
    assert.ok(contrast(dark["on-state"], dark[fill]) >= 4.5, `${fill} is ${contrast(dark["on-state"], dark[fill]).toFixed(2)}`);
  }
  assert.notEqual(light["text-primary"], dark["text-primary"], "themes are found");
  for (const [name, colours] of [["dark", dark], ["light", light]]) {
    const fill = contrast(colours["on-accent"], colours["accent-primary"]);
    assert.ok(fill >= 4.5, `${name}: text of a primary button is ${fill.toFixed(2)}`);
    for (const text of ["text-primary", "text-secondary", "text-tertiary", "long-text", "short-text", "warning-text", "accent-text"]) {
      for (const ground of ["background-primary", "background-secondary"]) {
        assert.ok(contrast(colours[text], colours[ground]) >= 4.5, `${name}: ${text} on ${ground} is ${contrast(colours[text], colours[ground]).toFixed(2)}`);
      }
    }
  }
});
