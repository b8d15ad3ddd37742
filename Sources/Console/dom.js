/** Small helpers: elements, updates once a frame, browser storage. */

/** An element named as in a style sheet, `el("li.row", {…}, …)`, with properties, if any, and children. Text is never markup. */
export function el(selector, ...children) {
  const [tag, ...classes] = selector.split(".");
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(" ").trim();
  const properties = children[0]?.constructor === Object ? children.shift() : {};
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name === "class") element.classList.add(...value.split(" "));
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.startsWith("aria")) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A button with a text. @param kind `primary` or `critical`, for the main one of its page. */
export function button(text, onclick, kind = "plain", more = {}) {
  return el(`button.button.button-${kind}`, { type: "button", onclick, ...more }, text);
}

/** A button with an icon, and a text for screen readers. */
export function iconButton(path, label, onclick, more = {}) {
  return el("button.icon-button", { type: "button", "aria-label": label, title: label, onclick, ...more }, icon(path));
}

/** A line icon of 24 units. */
export function icon(path) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path }));
}

export const CROSS = "M6 6l12 12M18 6L6 18";

/**
 * Runs each work once a round, however often requested, whether or not another fails. A round is in a frame, at least
 * `gap` ms after the last.
 */
function rounds(gap) {
  let waiting = new Set(), before = -Infinity;
  const run = (now) => {
    const works = waiting;
    waiting = new Set();
    before = now;
    for (const each of works) {
      try { each(); } catch (error) { reportError(error); }
    }
  };
  return (work) => {
    const isFirst = waiting.size === 0;
    waiting.add(work);
    if (!isFirst) return;
    const rest = before + gap - performance.now();
    if (rest > 0) setTimeout(() => requestAnimationFrame(run), rest);
    else requestAnimationFrame(run);
  };
}

/** In the next frame: for pointers. */
export const onFrame = rounds(0);
/** Prices, every 100 ms: all in the same frame, so a busy market costs ten layouts a second. */
export const onBeat = rounds(100);
/** Lines and sums. */
export const onSecond = rounds(1_000);

/** Sets a text only if it differs, to avoid a layout. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** This page's browser storage; memory, if it has none. */
export const stored = {
  memory: new Map(),
  read(name, fallback) {
    try {
      const text = localStorage.getItem(`tidegate.${name}`);
      if (text !== null) return JSON.parse(text);
    } catch { /* private windows */ }
    return this.memory.get(name) ?? fallback;
  },
  write(name, value) {
    this.memory.set(name, value);
    try { localStorage.setItem(`tidegate.${name}`, JSON.stringify(value)); } catch { /* private windows */ }
  },
};

/** Draws on a canvas in its own pixels; `draw(context, width, height)` gets CSS pixels. */
export function paint(canvas, draw) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (width === 0 || height === 0) return;
  const scale = Math.min(window.devicePixelRatio || 1, 3);
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  draw(context, width, height);
}

const tokens = new Map();
let probe;

/** The present value of a custom property, looked up once for each theme. */
export function token(name) {
  let value = tokens.get(name);
  if (value !== undefined) return value;
  value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  if (value.startsWith("light-dark(")) {
    // A canvas has no theme: an element has.
    probe ??= document.body.appendChild(el("span", { hidden: true }));
    probe.style.color = value;
    value = getComputedStyle(probe).color;
  }
  tokens.set(name, value);
  return value;
}

/** After another theme or motion setting: looks tokens up anew. */
export function forgetTokens() { tokens.clear(); }
for (const feature of ["(prefers-color-scheme: light)", "(prefers-reduced-motion: reduce)"]) {
  matchMedia(feature).addEventListener("change", forgetTokens);
}
