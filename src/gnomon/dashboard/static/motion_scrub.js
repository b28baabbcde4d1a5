/** A bar of time with the error over it: one drags or clicks to a frame; the worst one and dropped ones are marked. */

import { css, node } from "./space_camera.js";

const DASHES = [[], [4, 3], [1, 2], [6, 2, 1, 2]];
const SIDE = 8; // pixels of the page left free at either end, so that the first and last frame can be hit

/** `options`: `colours()`, `state()` ({frame, first, seen, worst}), `go(frame)` and `keys(event)`. */
export class Scrub {
  constructor(host, view, options) {
    Object.assign(this, { view, options, count: view.frames.length });
    this.canvas = node("canvas", {
      class: "space-scrub",
      role: "slider",
      tabindex: "0",
      "aria-label": "frame; the area is the error over time",
    });
    this.canvas.setAttribute("aria-valuemin", "1");
    this.canvas.setAttribute("aria-valuemax", String(this.count));
    host.append(this.canvas);
    this.context = this.canvas.getContext("2d");
    this.largest = view.predictions.map(({ error }) =>
      error.reduce((most, value) => (value > most ? value : most), 1e-9),
    );
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.canvas);
    const drag = (event) => options.go(this.at(event.clientX - this.canvas.getBoundingClientRect().left));
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      drag(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (event.buttons) drag(event);
    });
    this.canvas.addEventListener("keydown", (event) => {
      if (this.key(event)) event.preventDefault();
    });
  }

  destroy() {
    this.observer.disconnect();
    this.canvas.remove();
  }

  /** Return the frame at a place of the page within the canvas. */
  at(x) {
    const wide = this.canvas.clientWidth - 2 * SIDE;
    return Math.max(0, Math.min(this.count - 1, Math.round(((x - SIDE) / wide) * (this.count - 1))));
  }

  place(frame) {
    return SIDE + ((this.canvas.clientWidth - 2 * SIDE) * frame) / Math.max(1, this.count - 1);
  }

  key(event) {
    const { frame } = this.options.state();
    const far = Math.max(1, Math.round(this.count / 20));
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -far, PageUp: far };
    if (event.key in steps) this.options.go(Math.max(0, Math.min(this.count - 1, frame + steps[event.key])));
    else if (event.key === "Home") this.options.go(0);
    else if (event.key === "End") this.options.go(this.count - 1);
    else return this.options.keys(event);
    return true;
  }

  draw() {
    const dpr = Math.min(devicePixelRatio || 1, 2);
    const [wide, high] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (!wide || !high) return;
    if (this.canvas.width !== Math.round(wide * dpr))
      [this.canvas.width, this.canvas.height] = [Math.round(wide * dpr), Math.round(high * dpr)];
    const { frame, first, seen, worst } = this.options.state();
    const colours = this.options.colours();
    const ctx = this.context;
    ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
    ctx.fillStyle = css(colours.paper);
    ctx.fillRect(0, 0, wide, high);
    const most = Math.max(...this.largest.filter((_, k) => seen[k] || k === first));
    const level = (value) => high - 4 - ((high - 26) * value) / most;
    this.dropped(ctx, this.view.predictions[first].valid, high, colours);
    this.view.predictions.forEach(({ error }, k) => {
      if (seen[k] || k === first)
        this.curve(ctx, error, level, colours[`c${k % 10}`], k === first, DASHES[k % DASHES.length]);
    });
    ctx.font = "11px system-ui, sans-serif";
    ctx.fillStyle = css(colours.muted);
    const top = `${most.toFixed(0)} mm`;
    ctx.fillText(top, this.place(worst) > wide / 2 ? SIDE : wide - SIDE - ctx.measureText(top).width, 12);
    this.marks(ctx, frame, worst, high, wide, colours);
    this.canvas.setAttribute("aria-valuenow", String(frame + 1));
    this.canvas.setAttribute("aria-valuetext", `frame ${this.view.frames[frame]}, ${frame + 1} of ${this.count}`);
  }

  /** Hatch the frames of which there is nothing. */
  dropped(ctx, valid, high, colours) {
    const half = (this.place(1) - this.place(0)) / 2;
    ctx.strokeStyle = css(colours.line);
    ctx.lineWidth = 1;
    for (let i = 0; i < valid.length; i++) {
      if (valid[i]) continue;
      const [left, right] = [this.place(i) - half, this.place(i) + half];
      ctx.fillStyle = css(colours.line, 0.5);
      ctx.fillRect(left, 18, Math.max(1, right - left), high - 22);
    }
  }

  curve(ctx, error, level, colour, filled, dash) {
    ctx.strokeStyle = css(colour);
    ctx.fillStyle = css(colour, 0.25);
    ctx.lineWidth = filled ? 1.75 : 1.25;
    ctx.setLineDash(dash);
    for (let i = 0; i < error.length;) {
      if (!Number.isFinite(error[i])) {
        i += 1;
        continue;
      }
      const start = i;
      while (i < error.length && Number.isFinite(error[i])) i += 1;
      ctx.beginPath();
      for (let k = start; k < i; k++) ctx.lineTo(this.place(k), level(error[k]));
      if (i - start === 1) ctx.lineTo(this.place(start) + 1, level(error[start]));
      ctx.stroke();
      if (!filled) continue;
      ctx.lineTo(this.place(i - 1), level(0));
      ctx.lineTo(this.place(start), level(0));
      ctx.fill();
    }
    ctx.setLineDash([]);
  }

  marks(ctx, frame, worst, high, wide, colours) {
    const x = this.place(worst);
    ctx.fillStyle = css(colours.missed);
    ctx.beginPath();
    ctx.moveTo(x - 5, 16);
    ctx.lineTo(x + 5, 16);
    ctx.lineTo(x, 23);
    ctx.fill();
    const text = "worst";
    const size = ctx.measureText(text).width;
    ctx.fillText(text, Math.max(SIDE, Math.min(wide - size - SIDE, x - size / 2)), 12);
    const here = this.place(frame);
    ctx.strokeStyle = css(colours.ink);
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(here, 16);
    ctx.lineTo(here, high);
    ctx.stroke();
  }
}
