/**
 * Three dimensions on a plain 2D canvas: an orbiting camera, points splatted through a depth buffer, lines that fade
 * where points hide them, a floor, a cross of axes and a scale. No WebGL, so that it works in any browser, also in
 * one without a graphics card.
 */

import { add, css, dot3, mix, node, palette, round } from "./space_camera.js";

const NEAR = 0.02;
const FIELD = 1.1; // focal length over the smaller side of the canvas
const SHADES = 16;
const BLOCK = 8; // device pixels of a cell of the coarse depths by which lines are hidden
const SLACK = 1.03; // a line is hidden by points that are nearer by more than this factor
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const GLYPHS = {
  dot: (x, y, r) => x >= 0 && y >= 0 && Math.max(x, y) < r,
  disc: (x, y, r) => x * x + y * y <= r * r,
  cross: (x, y, r) => Math.abs(Math.abs(x) - Math.abs(y)) <= r / 3,
  plus: (x, y, r) => Math.min(Math.abs(x), Math.abs(y)) <= r / 4,
  diamond: (x, y, r) => Math.abs(Math.abs(x) + Math.abs(y) - r) <= r / 3,
};

/** Return the pixels of a glyph as offsets from its middle in a picture of the given width. */
function stamp(glyph, radius, width) {
  const reach = Math.floor(radius);
  const offsets = [];
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) if (GLYPHS[glyph](x, y, radius)) offsets.push(y * width + x);
  }
  return { offsets: Int32Array.from(offsets.length ? offsets : [0]), reach };
}

const packed = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/**
 * A canvas that shows points and lines as a camera sees them, and lets people turn it.
 *
 * `options`: `label` (what it shows, for a screen reader), `paint(stage)` (draws lines and labels), `hover(index, x, y)`
 * (a point is under the pointer, -1 for none), `pick(x, y, index)` (a click), `keys(event)` (returns true where it has
 * used a key).
 */
export class Stage {
  constructor(host, camera, options) {
    this.camera = camera;
    this.options = options;
    this.points = null;
    this.floor = null;
    this.spent = 0;
    this.canvas = node("canvas", { class: "space-canvas", role: "application", tabindex: "0" });
    this.canvas.setAttribute(
      "aria-label",
      `${options.label}; drag or arrow keys turn, shift moves, + and - zoom, 0 resets`,
    );
    host.append(this.canvas);
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.pointers = new Map();
    this.redraw = () => this.ask();
    this.retheme = () => {
      this.colours = palette();
      this.styled = null;
      this.ask();
    };
    this.colours = palette();
    camera.listeners.add(this.redraw);
    document.addEventListener("gnomon-theme", this.retheme);
    this.observer = new ResizeObserver(this.redraw);
    this.observer.observe(this.canvas);
    for (const [name, handler] of Object.entries(this.handlers())) {
      this.canvas.addEventListener(name, handler, name === "wheel" ? { passive: false } : undefined);
    }
  }

  destroy() {
    cancelAnimationFrame(this.pending);
    this.observer.disconnect();
    this.camera.listeners.delete(this.redraw);
    document.removeEventListener("gnomon-theme", this.retheme);
    this.canvas.remove();
  }

  /**
   * Set the points: `xyz` (n, 3), `codes` (n,), and a style per code: `colour`, `glyph`, `radius`, `fade`, `hidden`,
   * `through` (it is seen through points that are not).
   */
  show(xyz, codes, styles) {
    this.points = { xyz, codes, styles };
    this.styled = null;
    this.ask();
  }

  ask() {
    if (!this.pending)
      this.pending = requestAnimationFrame(() => {
        this.pending = 0;
        this.draw();
      });
  }

  draw() {
    const begun = performance.now();
    if (!this.resize()) return;
    this.view = this.camera.frame();
    this.focal = FIELD * Math.min(this.width, this.height);
    this.ratio = this.focal / this.camera.distance; // pixels of a metre where one looks
    this.pixels.fill(packed(this.colours.paper));
    this.depth.fill(Infinity);
    this.coarse.fill(Infinity);
    this.index.fill(-1);
    if (this.points) this.splat();
    this.context.putImageData(this.image, 0, 0);
    this.labels = [];
    if (this.floor) this.grid();
    this.options.paint?.(this);
    this.instruments();
    this.spent = performance.now() - begun;
  }

  resize() {
    const dpr = Math.min(devicePixelRatio || 1, 2);
    const width = Math.round(this.canvas.clientWidth * dpr);
    const height = Math.round(this.canvas.clientHeight * dpr);
    if (!width || !height) return false;
    if (width === this.width && height === this.height && dpr === this.dpr) return true;
    Object.assign(this, { width, height, dpr });
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.depth = new Float32Array(width * height);
    this.index = new Int32Array(width * height);
    this.across = Math.ceil(width / BLOCK);
    this.coarse = new Float32Array(this.across * Math.ceil(height / BLOCK));
    this.styled = null;
    return true;
  }

  /** Prepare what each code looks like: two sizes of its glyph, and its colour at each of several depths. */
  style() {
    const { paper } = this.colours;
    return this.points.styles.map(({ colour, glyph, radius, fade, hidden, through }) => {
      const shades = new Uint32Array(SHADES);
      for (let i = 0; i < SHADES; i++) shades[i] = packed(mix(colour, paper, (fade * i) / (SHADES - 1)));
      const small = stamp(glyph, radius * this.dpr, this.width);
      return {
        hidden,
        shades,
        small,
        large: stamp(glyph, radius * 1.6 * this.dpr, this.width),
        nearer: through ? 0.5 : 1,
      };
    });
  }

  splat() {
    this.styled ??= this.style();
    const {
      points: { xyz, codes },
      styled,
      width,
      height,
      depth,
      pixels,
      index,
      coarse,
      across,
      focal,
    } = this;
    const {
      right: [rx, ry, rz],
      over: [ux, uy, uz],
      ahead: [fx, fy, fz],
      eye: [ex, ey, ez],
    } = this.view;
    const [cx, cy, close] = [width / 2, height / 2, this.camera.distance * 0.75];
    const nearest = Math.max(NEAR, this.camera.distance * 0.4);
    const shade = SHADES / (this.camera.distance * 1.6 - nearest);
    for (let i = 0, k = 0; i < codes.length; i++, k += 3) {
      const look = styled[codes[i]];
      if (!look || look.hidden) continue;
      const x = xyz[k] - ex;
      const y = xyz[k + 1] - ey;
      const z = xyz[k + 2] - ez;
      const away = x * fx + y * fy + z * fz;
      if (!(away > NEAR)) continue;
      const scale = focal / away;
      const sx = (cx + scale * (x * rx + y * ry + z * rz)) | 0;
      const sy = (cy - scale * (x * ux + y * uy + z * uz)) | 0;
      const form = away < close ? look.large : look.small;
      const reach = form.reach;
      if (sx < reach || sy < reach || sx >= width - reach || sy >= height - reach) continue;
      const level = ((away - nearest) * shade) | 0;
      const colour = look.shades[level < 0 ? 0 : level >= SHADES ? SHADES - 1 : level];
      const at = sy * width + sx;
      const shown = away * look.nearer;
      const cell = ((sy / BLOCK) | 0) * across + ((sx / BLOCK) | 0);
      if (away < coarse[cell]) coarse[cell] = away;
      const offsets = form.offsets;
      for (let j = 0; j < offsets.length; j++) {
        const place = at + offsets[j];
        if (shown < depth[place]) {
          depth[place] = shown;
          pixels[place] = colour;
          index[place] = i;
        }
      }
    }
  }

  /** Return where a place is in the picture and how far away: device pixels and metres. */
  project(place) {
    const { right, over, ahead, eye } = this.view;
    const from = add(place, eye, -1);
    const away = dot3(from, ahead);
    const scale = this.focal / Math.max(away, NEAR);
    return [this.width / 2 + scale * dot3(from, right), this.height / 2 - scale * dot3(from, over), away];
  }

  /** Say whether points are in front of a place of the picture. */
  hides(x, y, away) {
    if (x < 0 || y < 0 || x >= this.width || y >= this.height) return false;
    const found = this.coarse[((y / BLOCK) | 0) * this.across + ((x / BLOCK) | 0)];
    return away > found * SLACK;
  }

  /**
   * Draw a line between two places. `look`: `colour`, `width` and `dash` in pixels of the page, `ghost` (how much is
   * seen of what points hide, from 0 to 1).
   */
  line(from, to, { colour, width = 1.5, dash = [], ghost = 0.35 }) {
    let [p, q] = [this.project(from), this.project(to)];
    if (p[2] < NEAR && q[2] < NEAR) return;
    if (p[2] < NEAR || q[2] < NEAR) {
      const share = (NEAR - p[2]) / (q[2] - p[2]);
      const cut = this.project(add(from, add(to, from, -1), share + (p[2] < NEAR ? 1e-3 : -1e-3)));
      [p, q] = p[2] < NEAR ? [cut, q] : [p, cut];
    }
    const long = Math.hypot(q[0] - p[0], q[1] - p[1]);
    const pieces = Math.max(1, Math.min(200, Math.round(long / BLOCK)));
    const at = (t) => [p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1]), 1 / ((1 - t) / p[2] + t / q[2])];
    const ctx = this.context;
    ctx.lineWidth = width * this.dpr;
    ctx.setLineDash(dash.map((value) => value * this.dpr));
    let [start, hidden] = [0, this.points ? this.hides(...at(0.5 / pieces)) : false];
    for (let i = 1; i <= pieces; i++) {
      const next = i < pieces && this.points ? this.hides(...at((i + 0.5) / pieces)) : i === pieces ? !hidden : hidden;
      if (next === hidden) continue;
      ctx.strokeStyle = css(colour, hidden ? ghost : 1);
      ctx.lineDashOffset = (start / pieces) * long;
      if (!hidden || ghost > 0) this.stroke(at(start / pieces), at(i / pieces));
      [start, hidden] = [i, next];
    }
    ctx.setLineDash([]);
  }

  stroke(p, q) {
    this.context.beginPath();
    this.context.moveTo(p[0], p[1]);
    this.context.lineTo(q[0], q[1]);
    this.context.stroke();
  }

  /** Fill a disc, or draw a ring, about a place. */
  disc(place, radius, colour, ring = false) {
    const [x, y, away] = this.project(place);
    if (away < NEAR) return;
    const ctx = this.context;
    ctx.beginPath();
    ctx.arc(x, y, radius * this.dpr, 0, 2 * Math.PI);
    ctx.lineWidth = Math.min(1.5, radius / 1.5) * this.dpr;
    ctx.fillStyle = ring ? css(this.colours.paper) : css(colour);
    ctx.fill();
    ctx.strokeStyle = css(colour);
    ctx.stroke();
  }

  /** Write words beside a place, unless others are there already. */
  label(place, words, colour, { strong = false } = {}) {
    const [x, y, away] = this.project(place);
    if (away < NEAR || x < 0 || y < 0 || x > this.width || y > this.height) return;
    const size = 12 * this.dpr;
    const ctx = this.context;
    ctx.font = `${strong ? "bold " : ""}${size}px system-ui, sans-serif`;
    const wide = ctx.measureText(words).width;
    const left = Math.max(2, Math.min(this.width - wide - 2, x - wide / 2));
    const box = [left, y - size - 4 * this.dpr, left + wide, y - 2 * this.dpr];
    if (this.labels.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3])) return;
    this.labels.push(box);
    this.write(words, left, box[3] - 2 * this.dpr, colour);
  }

  /** Write words across the top. */
  notice(words) {
    this.context.font = `${13 * this.dpr}px system-ui, sans-serif`;
    this.write(words, (this.width - this.context.measureText(words).width) / 2, 22 * this.dpr, this.colours.ink);
  }

  write(words, x, y, colour) {
    const ctx = this.context;
    ctx.lineJoin = "round";
    ctx.lineWidth = 4 * this.dpr;
    ctx.strokeStyle = css(this.colours.paper, 0.85);
    ctx.strokeText(words, x, y);
    ctx.fillStyle = css(colour);
    ctx.fillText(words, x, y);
  }

  /** Draw squares of a round size on the floor, `{low, high}` along the two level axes and `level` along up. */
  grid() {
    const { low, high, level } = this.floor;
    const { a, b, up } = this.camera;
    const step = round(Math.max(high[0] - low[0], high[1] - low[1]) / 8);
    const [from, to] = [low.map((v) => Math.floor(v / step) * step), high.map((v) => Math.ceil(v / step) * step)];
    const place = (u, v) =>
      add(
        add(
          a.map((value) => value * u),
          b,
          v,
        ),
        up,
        level,
      );
    const look = { colour: this.colours.line, width: 1, ghost: 0 };
    for (let u = from[0]; u <= to[0] + step / 2; u += step) this.line(place(u, from[1]), place(u, to[1]), look);
    for (let v = from[1]; v <= to[1] + step / 2; v += step) this.line(place(from[0], v), place(to[0], v), look);
  }

  /** Draw the cross of axes and the scale. */
  instruments() {
    const { right, over, ahead } = this.view;
    const ctx = this.context;
    const [x, y, long] = [38 * this.dpr, this.height - 40 * this.dpr, 22 * this.dpr];
    ctx.font = `${11 * this.dpr}px system-ui, sans-serif`;
    ctx.lineWidth = 1.5 * this.dpr;
    const axes = ["x", "y", "z"].map((name, i) => ({ name, away: ahead[i], dx: right[i], dy: -over[i] }));
    for (const { name, dx, dy } of axes.sort((p, q) => q.away - p.away)) {
      ctx.strokeStyle = css(this.colours.muted);
      this.stroke([x, y], [x + dx * long, y + dy * long]);
      this.write(name, x + dx * long * 1.35 - 3 * this.dpr, y + dy * long * 1.35 + 4 * this.dpr, this.colours.ink);
    }
    const length = round((90 * this.dpr) / this.ratio);
    const end = this.width - 14 * this.dpr;
    const start = end - length * this.ratio;
    ctx.strokeStyle = css(this.colours.ink);
    ctx.lineWidth = 2 * this.dpr;
    for (const [p, q] of [
      [start, end],
      [start, start],
      [end, end],
    ]) {
      this.stroke([p, this.height - (p === q ? 18 : 14) * this.dpr], [q, this.height - (p === q ? 10 : 14) * this.dpr]);
    }
    this.write(
      length < 0.1 ? `${+(length * 1000).toPrecision(2)} mm` : `${+length.toPrecision(2)} m`,
      start,
      this.height - 22 * this.dpr,
      this.colours.ink,
    );
  }

  handlers() {
    const place = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    return {
      pointerdown: (event) => {
        this.canvas.setPointerCapture(event.pointerId);
        this.pointers.set(event.pointerId, place(event));
        this.moved = 0;
      },
      pointermove: (event) => this.move(event, place(event)),
      pointerup: (event) => {
        if (this.pointers.delete(event.pointerId) && this.moved < 4 && this.pointers.size === 0) {
          const [x, y] = place(event);
          this.options.pick?.(x * this.dpr, y * this.dpr, this.under(x, y));
        }
      },
      pointercancel: (event) => this.pointers.delete(event.pointerId),
      pointerleave: () => this.options.hover?.(-1, 0, 0),
      contextmenu: (event) => event.preventDefault(),
      wheel: (event) => {
        if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.canvas) return;
        event.preventDefault();
        this.camera.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.003));
      },
      keydown: (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (this.options.keys?.(event) || this.steer(event)) event.preventDefault();
      },
    };
  }

  move(event, [x, y]) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.options.hover?.(this.under(x, y), x * this.dpr, y * this.dpr);
      return;
    }
    const [dx, dy] = [x - before[0], y - before[1]];
    this.moved += Math.abs(dx) + Math.abs(dy);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, [x, y]);
    const share = this.dpr / (FIELD * Math.min(this.width, this.height));
    if (other) {
      const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      this.camera.zoom(apart(before) / apart([x, y]));
      this.camera.pan((dx / 2) * share, (dy / 2) * share);
    } else if (event.shiftKey || event.buttons & 6) this.camera.pan(dx * share, dy * share);
    else this.camera.orbit(dx * 0.008, dy * 0.008);
  }

  steer({ key, shiftKey }) {
    if (key in KEYS) {
      const [x, y] = KEYS[key];
      if (shiftKey) this.camera.pan(-x * 0.05, -y * 0.05);
      else this.camera.orbit(x * 0.1, y * 0.1);
    } else if (key === "+" || key === "=") this.camera.zoom(0.87);
    else if (key === "-") this.camera.zoom(1.15);
    else if (key === "0" || key === "Home") this.camera.reset();
    else return false;
    return true;
  }

  /** Return the number of the point at a place of the page within the canvas, or -1. */
  under(x, y) {
    const [px, py] = [Math.floor(x * this.dpr), Math.floor(y * this.dpr)];
    if (!this.index || px < 0 || py < 0 || px >= this.width || py >= this.height) return -1;
    return this.index[py * this.width + px];
  }
}
