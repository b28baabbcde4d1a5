/** Drawing of a timeline on a canvas: lanes, signals, the axis of time, and the strip that shows the whole. */

import { AXIS } from "./timeline_layout.js";
import { dominant, envelope, runs, worst } from "./timeline_lod.js";
import { ticks } from "./timeline_time.js";

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
const NAMES = ["ink", "paper", "muted", "line", "accent", "right", "missed", "false", "confused", "timing"];
const BY_RANK = ["right", "timing", "timing", "confused", "missed"];
const HATCH = 8;
const GAP_OF_SIGNAL = 4;
const SEPARATE = 8;
const SPACING = 90;
const APART = 16;

/** Read the colours of the page. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const names = [...NAMES, ...Array.from({ length: 10 }, (_, i) => `c${i}`)];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim() || "#888888"]));
}

/** Return red, green and blue of a colour as the browser understands it. */
function channels(colour) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
}

/** Return a colour with a share of another in it. */
function mixed(colour, other, share) {
  const [one, two] = [channels(colour), channels(other)];
  return `rgb(${[0, 1, 2].map((i) => Math.round(one[i] * (1 - share) + two[i] * share)).join(" ")})`;
}

/** Return black or white, whichever can be read on a colour. */
function readable(colour) {
  const [r, g, b] = Array.from(channels(colour), (value) => {
    const part = value / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.2 ? "#000000" : "#ffffff";
}

function hatched(context, colour, way, ratio) {
  const size = HATCH * ratio;
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const pen = tile.getContext("2d");
  pen.globalAlpha = 0.38;
  pen.fillStyle = colour;
  pen.fillRect(0, 0, size, size);
  pen.globalAlpha = 1;
  pen.strokeStyle = colour;
  pen.lineWidth = 2 * ratio;
  pen.beginPath();
  for (let k = -1; k <= 2; k++) {
    if (way === 0 || way === 2) { pen.moveTo((k - 1) * size, size); pen.lineTo(k * size, 0); }
    if (way === 1 || way === 2) { pen.moveTo((k - 1) * size, 0); pen.lineTo(k * size, size); }
    if (way === 3) { pen.moveTo((k + 0.5) * size, 0); pen.lineTo((k + 0.5) * size, size); }
  }
  pen.stroke();
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern;
}

/** Everything that depends on the colours of the page and the canvas: how codes of every kind of lane look. */
export class Looks {
  constructor(context, view, ratio) {
    this.colours = palette();
    const shades = [["paper", 0], ["ink", 0.45], ["paper", 0.5]];
    this.labels = view.labels.map((text, code) => this.solid(`c${code % 10}`, text, shades[Math.floor(code / 10) % 3]));
    const zones = ["c7", "c4", "c0", "c2", "c3", "c5"];
    this.zones = (view.zones ?? []).map((text, code) => this.solid(zones[code % zones.length], text));
    const seen = {};
    this.outcomes = view.outcomes.map((outcome) => {
      const role = outcome.role ?? (outcome.wrong ? BY_RANK[Math.min(outcome.rank, 4)] : "right");
      const colour = this.colours[role] ?? this.colours.missed;
      const way = outcome.wrong ? (seen[role] = (seen[role] ?? -1) + 1) % 4 : 0;
      const fill = outcome.wrong ? hatched(context, colour, way, ratio) : colour;
      return { text: outcome.name, colour, fill, ink: this.colours.ink, wrong: outcome.wrong, way };
    });
    this.widths = new Map();
  }

  solid(name, text, [other, share] = ["paper", 0]) {
    const colour = mixed(this.colours[name], this.colours[other], share);
    return { text, colour, fill: colour, ink: readable(colour) };
  }

  of(kind) {
    return this[kind] ?? this.labels;
  }

  /** Return how wide a text is; measured once. */
  width(context, text) {
    if (!this.widths.has(text)) this.widths.set(text, context.measureText(text).width);
    return this.widths.get(text);
  }

  /** Return a text that fits a width. */
  fitted(context, text, room) {
    if (this.width(context, text) <= room) return text;
    let cut = Math.floor((text.length * room) / this.width(context, text));
    while (cut > 1 && context.measureText(`${text.slice(0, cut)}…`).width > room) cut--;
    return cut > 1 ? `${text.slice(0, cut)}…` : "";
  }
}

/** Make a canvas as large as it is shown, in the pixels of the device. */
export function sized(canvas, width, height) {
  const ratio = Math.max(1, window.devicePixelRatio || 1);
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = FONT;
  context.textBaseline = "middle";
  return context;
}

function written(context, look, looks, box, x, right) {
  const from = Math.max(x, box.x);
  const room = Math.min(right, box.x + box.width) - from - 8;
  if (room < 12) return;
  const text = looks.fitted(context, look.text, room);
  if (!text) return;
  if (look.wrong) {
    const width = context.measureText(text).width + 6;
    context.fillStyle = looks.colours.paper;
    context.fillRect(from + 2, box.y + 3, width, box.height - 6);
  }
  context.fillStyle = look.wrong === false ? looks.colours.ink : look.ink;
  context.fillText(text, from + (look.wrong ? 5 : 4), box.y + box.height / 2 + 0.5);
}

/** Draw a lane of outcomes: what is right calmly, errors hatched and with their letters; none narrower than 2 pixels. */
export function outcomeLane(context, looks, index, span, box, plain = false) {
  const codes = worst(index, span[0], span[1], box.width);
  const wrong = [];
  context.globalAlpha = 0.28;
  runs(codes, (from, to, code) => {
    const look = looks.outcomes[code];
    if (look.wrong) { wrong.push(from, to, code); return; }
    context.fillStyle = look.fill;
    context.fillRect(box.x + from, box.y, to - from, box.height);
  });
  context.globalAlpha = 1;
  for (let k = 0; k < wrong.length; k += 3) {
    const look = looks.outcomes[wrong[k + 2]];
    const width = wrong[k + 1] - wrong[k];
    context.fillStyle = plain || width < 6 ? look.colour : look.fill;
    context.fillRect(box.x + wrong[k], box.y, Math.max(width, Math.min(2, box.width - wrong[k])), box.height);
  }
  if (plain) return;
  runs(codes, (from, to, code) => {
    if (to - from > 20) written(context, looks.outcomes[code], looks, box, box.x + from, box.x + to);
  });
}

/** Draw a lane of labels or zones: the one with the most time in a pixel; a tick where several share it. */
export function labelLane(context, looks, index, kind, span, box) {
  const { codes, shared } = dominant(index, span[0], span[1], box.width);
  const own = looks.of(kind);
  const wide = [];
  runs(codes, (from, to, code) => {
    context.fillStyle = own[code].fill;
    context.fillRect(box.x + from, box.y, to - from, box.height);
    if (to - from > SEPARATE) wide.push(from, to, code);
  });
  context.fillStyle = looks.colours.ink;
  runs(shared, (from, to) => context.fillRect(box.x + from, box.y + box.height - 3, to - from, 3));
  context.fillStyle = looks.colours.paper;
  for (let k = 0; k < wide.length; k += 3) {
    if (wide[k] && codes[wide[k] - 1] >= 0) context.fillRect(box.x + wide[k] - 0.5, box.y, 1, box.height);
  }
  for (let k = 0; k < wide.length; k += 3) written(context, own[wide[k + 2]], looks, box, box.x + wide[k], box.x + wide[k + 1]);
}

/** Draw the envelope of a signal between its least and greatest value of the whole recording. */
export function signalLane(context, looks, signal, range, span, box) {
  const { low, high } = envelope(signal, span[0], span[1], box.width);
  const scale = (box.height - 4) / (range[1] - range[0] || 1);
  const y = (value) => box.y + 2 + (range[1] - value) * scale;
  context.strokeStyle = context.fillStyle = looks.colours.accent;
  context.lineWidth = 1;
  const gap = Math.max(GAP_OF_SIGNAL, (3 * signal.step * box.width) / (span[1] - span[0]));
  context.beginPath();
  let last = -1;
  for (let x = 0; x < box.width; x++) {
    if (Number.isNaN(low[x])) continue;
    const middle = y((low[x] + high[x]) / 2);
    if (last >= 0 && x - last <= gap) context.lineTo(box.x + x + 0.5, middle);
    else context.moveTo(box.x + x + 0.5, middle);
    const top = y(high[x]);
    context.fillRect(box.x + x, top, 1, Math.max(1, y(low[x]) - top));
    last = x;
  }
  context.stroke();
  context.fillStyle = looks.colours.muted;
  [[range[1], 8], [range[0], box.height - 7]].forEach(([value, down]) => {
    const text = brief(value, range[1] - range[0]);
    context.fillText(text, box.x ? box.x - 6 - looks.width(context, text) : 3, box.y + down);
  });
}

/** Write a value with as many digits as tell the ends of a range apart. */
function brief(value, range) {
  const digits = range > 0 && value ? 2 + Math.ceil(Math.log10(Math.abs(value) / range)) : 3;
  return String(+value.toPrecision(Math.min(8, Math.max(3, digits)))).replace("-", "−");
}

/** Return ticks that are further apart than their texts are wide; a wider step can have shorter texts. */
function spacedTicks(context, span, clock, width) {
  const found = ticks(span[0], span[1], width, clock, SPACING);
  const widest = Math.max(...found.map(({ text }) => context.measureText(text).width), 0);
  return widest + APART <= SPACING ? found : ticks(span[0], span[1], width, clock, widest + APART);
}

/**
 * Draw the axis of time on top, with faint lines down to the end of the lanes. A text that would touch the one before
 * it is left out (those at the ends are moved inwards), and so is a date, which then stands at the next tick of its
 * day.
 */
export function axis(context, looks, span, clock, box) {
  context.strokeStyle = looks.colours.line;
  context.lineWidth = 1;
  const end = box.x + box.width;
  let [taken, dated, before] = [-Infinity, -Infinity, ""];
  for (const { t, text, day } of spacedTicks(context, span, clock, box.width)) {
    const x = Math.round(box.x + ((t - span[0]) / (span[1] - span[0])) * box.width) + 0.5;
    context.beginPath();
    context.moveTo(x, AXIS - 8);
    context.lineTo(x, box.y + box.height);
    context.stroke();
    context.fillStyle = looks.colours.muted;
    const wide = context.measureText(text).width;
    const left = Math.min(Math.max(x - wide / 2, box.x), end - wide);
    if (left < taken + APART / 2) continue;
    context.fillText(text, left, AXIS - 16);
    taken = left + wide;
    if (day === before) continue;
    const date = clock.zone ? `${day} ${clock.zone}` : day;
    const room = looks.width(context, date);
    if (left < dated + APART / 2 || left + room > end) continue;
    context.fillText(date, left, 8);
    [dated, before] = [left + room, day];
  }
}

/** Draw the whole recording with its errors, one row for each lane of outcomes, on a canvas of its own. */
export function strip(looks, lanes, whole, width, height) {
  const canvas = document.createElement("canvas");
  const context = sized(canvas, width, height);
  context.fillStyle = looks.colours.line;
  context.globalAlpha = 0.35;
  context.fillRect(0, 0, width, height);
  context.globalAlpha = 1;
  const row = Math.max(3, Math.floor((height - 4) / Math.max(lanes.length, 1)));
  lanes.forEach((index, place) => {
    const box = { x: 0, y: 2 + place * row, width, height: row - (row > 5 ? 2 : 1) };
    outcomeLane(context, looks, index, whole, box, true);
  });
  return canvas;
}

/** Draw the strip, and what part of the recording is shown. */
export function overview(context, looks, drawn, whole, shown, width, height) {
  context.clearRect(0, 0, width, height);
  context.drawImage(drawn, 0, 0, width, height);
  const x = (t) => ((t - whole[0]) / (whole[1] - whole[0])) * width;
  brush(context, looks, x(shown[0]), x(shown[1]), width, height);
}

function brush(context, looks, from, to, width, height) {
  const [left, right] = to - from < 3 ? [(from + to) / 2 - 1.5, (from + to) / 2 + 1.5] : [from, to];
  context.fillStyle = looks.colours.paper;
  context.globalAlpha = 0.55;
  context.fillRect(0, 0, left, height);
  context.fillRect(right, 0, width - right, height);
  context.globalAlpha = 1;
  context.strokeStyle = looks.colours.accent;
  context.lineWidth = 2;
  context.strokeRect(Math.max(1, left), 1, Math.max(2, Math.min(right, width - 1) - Math.max(1, left)), height - 2);
}
