/**
 * What the views in three dimensions share besides their stage: elements, colours, vectors, and the camera.
 *
 * Coordinates are metres. A camera looks at a target from a distance; yaw turns about the direction that is up.
 */

/** Say whether motion is unwelcome. */
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Make an element: properties, `class`, `text`, `on...` listeners and attributes; then its children. */
export function node(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** See to it that the sheet of these views is in the page. */
export function dressed() {
  const address = new URL("space.css", import.meta.url).href;
  if ([...document.styleSheets].some((sheet) => sheet.href === address)) return;
  if (document.querySelector(`link[href="${CSS.escape(address)}"]`)) return;
  document.head.append(node("link", { rel: "stylesheet", href: address }));
}

/** Read the colours of the page, each as `[red, green, blue]`. */
export function palette() {
  const names = ["ink", "paper", "muted", "line", "accent", "right", "missed", "false", "confused"];
  for (let i = 0; i < 10; i++) names.push(`c${i}`);
  const probe = node("span", { hidden: true });
  document.body.append(probe);
  const dot = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const found = {};
  for (const name of names) {
    probe.style.setProperty("color", `var(--${name})`);
    dot.fillStyle = getComputedStyle(probe).color;
    dot.fillRect(0, 0, 1, 1);
    found[name] = [...dot.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  }
  probe.remove();
  return found;
}

/** Write a colour for the canvas. */
export const css = (rgb, alpha = 1) => `rgba(${rgb[0]}, ${rgb[1]}, ${rgb[2]}, ${alpha})`;

/** Mix two colours. */
export const mix = (a, b, share) => a.map((value, i) => Math.round(value * (1 - share) + b[i] * share));
/** The product of two vectors. */
export const dot3 = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => a.map((value) => value / (Math.hypot(...a) || 1));
/** Add to a vector another one times a factor. */
export const add = (a, b, k = 1) => [a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]];

/** Where one looks from; several stages can share one. */
export class Camera {
  constructor(up = [0, 0, 1]) {
    this.listeners = new Set();
    this.home = { yaw: -0.6, pitch: 0.6, distance: 5, target: [0, 0, 0] };
    this.stand(up);
    this.reset();
  }

  /** Say which direction is up. */
  stand(up) {
    this.up = unit(up);
    const other = Math.abs(this.up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
    this.a = unit(add(other, this.up, -dot3(other, this.up)));
    this.b = cross(this.up, this.a);
  }

  /** Look at everything between two corners; this is also what a reset returns to. */
  fit(low, high) {
    const size = Math.hypot(high[0] - low[0], high[1] - low[1], high[2] - low[2]) || 1;
    const target = low.map((value, i) => (value + high[i]) / 2);
    this.home = { ...this.home, target, distance: size * 1.1 };
    this.reset();
  }

  reset() {
    Object.assign(this, this.home, { target: [...this.home.target] });
    this.changed();
  }

  changed() {
    for (const listener of this.listeners) listener(this);
  }

  orbit(yaw, pitch) {
    this.yaw += yaw;
    this.pitch = Math.max(-1.55, Math.min(1.55, this.pitch + pitch));
    this.changed();
  }

  zoom(factor) {
    this.distance = Math.max(0.1, Math.min(1e4, this.distance * factor));
    this.changed();
  }

  /** Move the target in the plane of the picture, by shares of the distance. */
  pan(x, y) {
    const { right, over } = this.frame();
    this.target = add(add(this.target, right, -x * this.distance), over, y * this.distance);
    this.changed();
  }

  /** Go to another target, smoothly where that is welcome. */
  fly(target, distance) {
    cancelAnimationFrame(this.flight);
    const from = { target: this.target, distance: this.distance, begun: performance.now() };
    const step = () => {
      const t = still() ? 1 : Math.min(1, (performance.now() - from.begun) / 350);
      const s = t * t * (3 - 2 * t);
      this.target = from.target.map((value, i) => value + s * (target[i] - value));
      this.distance = from.distance * (distance / from.distance) ** s;
      this.changed();
      if (t < 1) this.flight = requestAnimationFrame(step);
    };
    step();
  }

  /** Return the axes of the picture and the place of the eye. */
  frame() {
    const [c, s] = [Math.cos(this.yaw), Math.sin(this.yaw)];
    const [cp, sp] = [Math.cos(this.pitch), Math.sin(this.pitch)];
    const flat = add(
      this.a.map((value) => value * s),
      this.b,
      c,
    );
    const ahead = add(
      flat.map((value) => value * cp),
      this.up,
      -sp,
    );
    const right = unit(cross(ahead, this.up));
    return { right, over: cross(right, ahead), ahead, eye: add(this.target, ahead, -this.distance) };
  }

  /** Write down where one stands, for an address; `read` returns there. */
  text() {
    return [this.yaw, this.pitch, this.distance, ...this.target].map((value) => +value.toFixed(3)).join(",");
  }

  read(text) {
    const values = String(text).split(",").map(Number);
    if (values.length !== 6 || !values.every(Number.isFinite) || values[2] <= 0) return;
    [this.yaw, this.pitch, this.distance] = values;
    this.target = values.slice(3);
    this.orbit(0, 0);
  }
}

/** Return `[low, high]` corners of most of the points (n, 3), without the outermost half per cent of a sample. */
export function bounds(xyz) {
  const count = xyz.length / 3;
  const stride = Math.max(1, Math.floor(count / 4000));
  const sides = [0, 1, 2].map((axis) => {
    const values = [];
    for (let i = 0; i < count; i += stride) if (Number.isFinite(xyz[3 * i + axis])) values.push(xyz[3 * i + axis]);
    values.sort((a, b) => a - b);
    const cut = Math.floor(values.length / 200);
    return values.length ? [values[cut], values[values.length - 1 - cut]] : [0, 1];
  });
  return [sides.map((side) => side[0]), sides.map((side) => side[1])];
}

/** Return the largest of 1, 2 or 5 times a power of ten that is not above a length. */
export function round(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  return power * [5, 2, 1].find((factor) => factor * power <= length * (1 + 1e-9));
}
