/** Small helpers for the page: elements, updates once a frame, what is kept in the browser. */

/** An element with properties, attributes (`aria-…`, `data-…`, `role`, `for`) and children. Text is always text, never markup. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.startsWith("aria")) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** A line icon of 24 units. */
export function icon(path) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

const waiting = new Set();
let isScheduled = false;

/** Runs `work` before the next frame, once however often it is asked for. A busy market costs a frame, not a layout per message. */
export function onFrame(work) {
  waiting.add(work);
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    const works = [...waiting];
    waiting.clear();
    for (const each of works) each();
  });
}

/** Changes a text only where it differs, so that nothing is laid out for nothing. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** What the browser keeps for this page; where it may not, it is kept in memory. */
export const stored = {
  memory: new Map(),
  read(name, fallback) {
    try {
      const text = localStorage.getItem(`tidegate.${name}`);
      return text === null ? (this.memory.get(name) ?? fallback) : JSON.parse(text);
    } catch {
      return this.memory.get(name) ?? fallback;
    }
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

/** A custom property of the design as the browser resolves it now; looked up once for each theme. */
export function token(name) {
  let value = tokens.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    tokens.set(name, value);
  }
  return value;
}

/** Another theme has other colours: whatever is painted looks them up anew, with its next change. */
export function forgetTokens() { tokens.clear(); }
matchMedia("(prefers-color-scheme: light)").addEventListener("change", forgetTokens);
