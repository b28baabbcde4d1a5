/**
 * A recording over time: lanes of truth, of what systems returned, of errors and zones, and the raw signal under them.
 *
 * Wheel or pinch zooms where the pointer is, dragging pans, the strip above shows the whole recording and what part of
 * it is seen. Every error can be reached: by a click, from the list, or with n and p.
 */

import { ErrorList, called, told } from "./timeline_errors.js";
import { at, ranked, summed, touching, worst, wrongFrom, wrongUpTo } from "./timeline_lod.js";
import { AXIS, GAP, SIGNALS, laid, rowNames } from "./timeline_layout.js";
import { Looks, axis, labelLane, outcomeLane, overview, signalLane, sized, strip } from "./timeline_paint.js";
import { brushing, lanes as pointing } from "./timeline_pointing.js";
import { clockOf, length, moment, precision } from "./timeline_time.js";

const STRIP = 40;
const NEAR = 4;
const SMALL = 20;
const SHORTEST = 1e-4;
const FLASH_MS = 900;
const KEYS = "Arrow keys move, + and − zoom, 0 shows all, n and p go to the next and previous error.";

function node(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") made.textContent = value;
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function dressed() {
  const href = new URL("timeline.css", import.meta.url).href;
  if (![...document.querySelectorAll("link")].some((link) => link.href === href)) {
    document.head.append(node("link", { rel: "stylesheet", href }));
  }
}

function rangeOf(signal) {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < signal.low.length; i++) {
    if (signal.low[i] < low) low = signal.low[i];
    if (signal.high[i] > high) high = signal.high[i];
  }
  return low <= high ? [low, high] : [0, 1];
}

class Timeline {
  constructor(host, view, state) {
    Object.assign(this, { host, view, state, clock: clockOf(view.clock) });
    this.whole = [view.window[0], view.window[1]];
    this.indices = view.lanes.map((lane) => this.indexed(lane));
    this.ranges = view.signals.map(rangeOf);
    this.groups = [...new Set([...view.lanes.map((lane) => lane.group || lane.name), ...(view.signals.length ? [SIGNALS] : [])])];
    const hidden = String(state.get("hide", "")).split(".").filter(Boolean).map(Number);
    this.hidden = new Set(hidden.filter((place) => this.groups[place] !== undefined).map((place) => this.groups[place]));
    this.faulty = view.lanes.map((lane, place) => place).filter((place) => view.lanes[place].kind === "outcomes");
    const asked = Number(state.get("lane", ""));
    this.current = this.faulty.includes(asked) && state.get("lane", "") !== "" ? asked : (this.faulty[0] ?? -1);
    this.chosen = -1;
    this.build();
    this.show(Number(state.get("t0", NaN)), Number(state.get("t1", NaN)), false);
    this.restore(state.get("error", ""));
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(this.root);
    this.retheme = () => { this.looks = null; this.drawn = null; this.request(); };
    document.addEventListener("gnomon-theme", this.retheme);
    this.resized();
    this.filling = window.setTimeout(() => this.fill(), 0);
  }

  indexed(lane) {
    if (lane.kind === "outcomes") return ranked(lane, this.view.outcomes);
    return summed(lane, Math.max(1, (lane.kind === "zones" ? this.view.zones : this.view.labels).length));
  }

  build() {
    const about = `Timeline of ${this.view.case}: ${this.view.lanes.map(called).join(", ")}. ${KEYS}`;
    this.root = node("div", { class: "timeline-view" });
    this.strip = node("canvas", { class: "timeline-strip", role: "img", "aria-label": "The whole recording with its errors" });
    this.canvas = node("canvas", { class: "timeline-lanes", role: "application", tabindex: "0", "aria-label": about });
    const hint = this.faulty.length ? "Point at a lane, or choose an error." : "Point at a lane.";
    this.status = node("p", { class: "timeline-status", role: "status", "aria-live": "polite", text: hint });
    this.errors = new ErrorList(this.view, this.clock, (i) => this.choose(i));
    const panes = [this.bar(), this.strip, this.canvas, this.status, this.legend()];
    if (this.faulty.length) panes.push(this.errors.root);
    this.root.append(...panes, node("p", { class: "timeline-keys", text: KEYS }));
    this.host.append(this.root);
    brushing(this.strip, () => this.span.map((t) => (t - this.whole[0]) / this.length), (from, to) => {
      this.show(this.whole[0] + from * this.length, this.whole[0] + to * this.length);
    });
    pointing(this.canvas, {
      pan: (pixels) => this.pan((pixels / this.box.width) * (this.span[1] - this.span[0])),
      zoom: (factor, x) => this.zoom(factor, this.time(x)),
      click: (x, y) => this.clicked(x, y),
      hover: (x, y) => this.hovered(x, y),
      leave: () => { this.pointer = null; this.request(); },
    });
    this.canvas.addEventListener("keydown", (event) => this.pressed(event));
  }

  bar() {
    const bar = node("div", { class: "timeline-bar" });
    const button = (text, label, act) => {
      const made = node("button", { type: "button", text, "aria-label": label, title: label });
      made.addEventListener("click", act);
      return made;
    };
    const middle = () => (this.span[0] + this.span[1]) / 2;
    const zooms = node("span", { class: "timeline-buttons" }, button("−", "zoom out", () => this.zoom(2, middle())),
      button("+", "zoom in", () => this.zoom(0.5, middle())), button("Fit", "show the whole recording", () => this.show(...this.whole)));
    bar.append(zooms);
    if (this.faulty.length) {
      bar.append(node("span", { class: "timeline-buttons" }, button("‹ Error", "previous error", () => this.step(-1)),
        button("Error ›", "next error", () => this.step(1))));
    }
    if (this.faulty.length > 1) bar.append(this.chooser());
    for (const group of this.groups.length > 1 ? this.groups : []) bar.append(this.toggle(group));
    return bar;
  }

  chooser() {
    this.select = node("select", { "aria-label": "whose errors" });
    for (const place of this.faulty) {
      this.select.append(node("option", { value: place, text: called(this.view.lanes[place]), selected: place === this.current }));
    }
    this.select.addEventListener("change", () => this.turn(Number(this.select.value)));
    return node("label", { text: "Errors of " }, this.select);
  }

  toggle(group) {
    const box = node("input", { type: "checkbox" });
    box.checked = !this.hidden.has(group);
    box.addEventListener("change", () => {
      if (box.checked) this.hidden.delete(group);
      else this.hidden.add(group);
      this.drawn = null;
      const hide = this.groups.map((name, place) => (this.hidden.has(name) ? place : -1)).filter((place) => place >= 0);
      this.state.set({ hide: hide.join(".") });
      this.resized();
    });
    return node("label", { class: "timeline-toggle" }, box, node("span", { text: group }));
  }

  legend() {
    const used = this.view.outcomes.map((_, code) => code).filter((code) => this.faulty.some((place) => this.indices[place].counts[code]));
    this.keys = used.map((code) => {
      const swatch = node("canvas", { class: "timeline-swatch", "aria-hidden": "true" });
      const { name, title } = this.view.outcomes[code];
      const words = name === title ? [node("b", { text: name })] : [node("b", { text: name }), node("span", { text: title })];
      return { code, swatch, item: node("li", {}, swatch, ...words) };
    });
    return node("ul", { class: "timeline-legend", "aria-label": "what errors look like", hidden: !this.keys.length }, ...this.keys.map(({ item }) => item));
  }

  get length() {
    return this.whole[1] - this.whole[0];
  }

  time(x) {
    return this.span[0] + ((x - this.box.x) / this.box.width) * (this.span[1] - this.span[0]);
  }

  /** Show a part of the recording; what is not a part of it shows all of it. */
  show(t0, t1, keep = true) {
    let [from, to] = t0 < t1 ? [t0, t1] : this.whole;
    const wide = Math.min(this.length, Math.max(to - from, Math.min(SHORTEST, this.length)));
    from = Math.min(Math.max((from + to - wide) / 2, this.whole[0]), this.whole[1] - wide);
    to = wide === this.length ? this.whole[1] : from + wide;
    this.span = [from, to];
    if (keep) this.state.set(wide === this.length ? { t0: null, t1: null } : { t0: +from.toFixed(6), t1: +to.toFixed(6) });
    this.request();
  }

  pan(seconds) {
    const wide = this.span[1] - this.span[0];
    const from = Math.min(Math.max(this.span[0] + seconds, this.whole[0]), this.whole[1] - wide);
    this.show(from, from + wide);
  }

  zoom(factor, t) {
    const wide = Math.min(this.length, Math.max(SHORTEST, (this.span[1] - this.span[0]) * factor));
    const share = Math.min(1, Math.max(0, (t - this.span[0]) / (this.span[1] - this.span[0])));
    const from = Math.min(Math.max(t - share * wide, this.whole[0]), this.whole[1] - wide);
    this.show(from, from + wide);
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const wide = this.span[1] - this.span[0];
    const middle = (this.span[0] + this.span[1]) / 2;
    const acts = {
      ArrowLeft: () => this.pan(-wide / (event.shiftKey ? 1 : 8)),
      ArrowRight: () => this.pan(wide / (event.shiftKey ? 1 : 8)),
      ArrowUp: () => this.zoom(1 / 1.5, middle),
      ArrowDown: () => this.zoom(1.5, middle),
      "+": () => this.zoom(1 / 1.5, middle),
      "=": () => this.zoom(1 / 1.5, middle),
      "-": () => this.zoom(1.5, middle),
      0: () => this.show(...this.whole),
      Home: () => this.show(...this.whole),
      n: () => this.step(1),
      p: () => this.step(-1),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
    if (event.key !== "n" && event.key !== "p") this.say(this.seen());
  }

  /** Say what part is shown. */
  seen() {
    const digits = precision((this.span[1] - this.span[0]) / 20);
    return `${moment(this.span[0], this.clock, digits)} – ${moment(this.span[1], this.clock, digits)} (${length(this.span[1] - this.span[0])})`;
  }

  say(text) {
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  turn(place) {
    this.current = place;
    this.chosen = -1;
    if (this.select) this.select.value = String(place);
    this.state.set({ lane: place, error: null });
    this.fill();
    this.request();
  }

  fill() {
    if (this.current < 0) return;
    const index = this.indices[this.current];
    const total = index.counts.reduce((sum, count, code) => sum + (this.view.outcomes[code].wrong ? count : 0), 0);
    this.errors.fill(this.view.lanes[this.current], index, total);
    this.errors.mark(this.chosen);
  }

  step(way) {
    if (this.current < 0) return;
    const index = this.indices[this.current];
    const [first, stop] = touching(index, this.span[0], this.span[1], true);
    const from = this.chosen >= 0 ? this.chosen + way : way > 0 ? first : stop - 1;
    const found = way > 0 ? wrongFrom(index, Math.max(0, from)) : wrongUpTo(index, from);
    if (found >= 0) this.choose(found);
    else this.say(way > 0 ? "No later error." : "No earlier error.");
  }

  /** Go to an error of the current lane: centred, large enough to be seen, marked and told. */
  choose(i) {
    const lane = this.view.lanes[this.current];
    const [start, end] = [lane.start[i], lane.end[i]];
    const wide = this.span[1] - this.span[0];
    const pixels = ((end - start) / wide) * this.box.width;
    const next = pixels < SMALL ? Math.max((end - start) * 8, SHORTEST) : Math.max(wide, (end - start) * 1.25);
    const middle = (start + end) / 2;
    this.chosen = i;
    this.flash = window.matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : performance.now();
    this.show(middle - next / 2, middle + next / 2);
    this.state.set({ error: i, lane: this.current });
    this.errors.mark(i);
    this.say(told(this.view, lane, i, this.clock));
  }

  restore(text) {
    const lane = this.view.lanes[this.current];
    const i = text === "" || text === null ? -1 : Number(text);
    if (!lane || !Number.isInteger(i) || i < 0 || i >= lane.start.length) return;
    this.chosen = i;
    this.say(told(this.view, lane, i, this.clock));
  }

  laneAt(y) {
    return this.rows?.find((row) => y >= row.y - GAP && y < row.y + row.height);
  }

  clicked(x, y) {
    this.canvas.focus({ preventScroll: true });
    const row = this.laneAt(y);
    const found = this.near(row, x);
    if (found < 0) { this.hovered(x, y); return; }
    if (row.place !== this.current) this.turn(row.place);
    this.choose(found);
  }

  /** Return the worst error within a few pixels of a place on a row, else -1; only lanes of outcomes have errors. */
  near(row, x) {
    if (!row || row.signal || this.view.lanes[row.place].kind !== "outcomes") return -1;
    const index = this.indices[row.place];
    const [i0, i1] = touching(index, this.time(x - NEAR), this.time(x + NEAR), true);
    const code = worst(index, this.time(x - NEAR), this.time(x + NEAR), 1)[0];
    if (code < 0 || !this.view.outcomes[code].wrong) return -1;
    let found = -1;
    for (let i = wrongFrom(index, i0); i >= 0 && i < i1; i = wrongFrom(index, i + 1)) {
      const longer = found < 0 || index.end[i] - index.start[i] > index.end[found] - index.start[found];
      if (index.code[i] === code && longer) found = i;
    }
    return found;
  }

  hovered(x, y) {
    this.pointer = x;
    const row = this.laneAt(y);
    this.canvas.style.setProperty("cursor", this.near(row, x) >= 0 ? "pointer" : "grab");
    if (x >= this.box.x) this.say(row ? this.under(row, x) : moment(this.time(x), this.clock, precision((this.span[1] - this.span[0]) / this.box.width)));
    this.request();
  }

  under(row, x) {
    const t = this.time(x);
    const when = moment(t, this.clock, precision((this.span[1] - this.span[0]) / this.box.width));
    if (row.signal) {
      const { name, unit, low, high, start, step } = row.signal;
      const bin = Math.floor((t - start) / step);
      const values = low[bin] === high[bin] ? [low[bin]] : [low[bin], high[bin]];
      const said = Number.isFinite(low[bin]) ? `${values.map((value) => +value.toPrecision(4)).join(" to ")} ${unit}` : "nothing recorded";
      return `${when}: ${name} ${said}`;
    }
    const lane = this.view.lanes[row.place];
    const wide = (this.span[1] - this.span[0]) / this.box.width;
    const [i0, i1] = touching(this.indices[row.place], t - wide / 2, t + wide / 2);
    if (i1 - i0 > 1) {
      const error = this.near(row, x);
      return `${when}: ${(i1 - i0).toLocaleString("en")} spans here${error >= 0 ? `; the worst is ${told(this.view, lane, error, this.clock)}` : `, ${called(lane)}`}`;
    }
    const i = at(lane, t);
    return i < 0 ? `${when}: nothing, ${called(lane)}` : told(this.view, lane, i, this.clock);
  }

  resized() {
    const width = this.root.clientWidth;
    if (!width) return;
    const { rows, box, height } = laid(this.view, this.hidden, width);
    Object.assign(this, { rows, box });
    this.canvas.style.setProperty("height", `${height}px`);
    this.size = { width, height };
    this.drawn = null;
    this.request();
  }

  request() {
    this.frame ??= window.requestAnimationFrame(() => { this.frame = null; this.draw(); });
  }

  /** Draw everything now. */
  draw() {
    if (!this.size) return;
    const { width, height } = this.size;
    const context = sized(this.canvas, width, height);
    this.looks ??= this.dress(context);
    context.clearRect(0, 0, width, height);
    axis(context, this.looks, this.span, this.clock, this.box);
    for (const row of this.rows) {
      rowNames(context, this.looks, row, this.box, width);
      this.drawRow(context, row);
    }
    this.drawChosen(context);
    if (this.pointer >= this.box.x) {
      context.fillStyle = this.looks.colours.ink;
      context.fillRect(Math.round(this.pointer), AXIS - 8, 1, height);
    }
    const above = sized(this.strip, width, STRIP);
    const visible = this.faulty.filter((place) => !this.hidden.has(this.view.lanes[place].group || this.view.lanes[place].name));
    this.drawn ??= strip(this.looks, visible.slice(0, 8).map((place) => this.indices[place]), this.whole, width, STRIP);
    overview(above, this.looks, this.drawn, this.whole, this.span, width, STRIP);
  }

  dress(context) {
    const looks = new Looks(context, this.view, Math.max(1, window.devicePixelRatio || 1));
    for (const { code, swatch } of this.keys) {
      const pen = sized(swatch, 26, 14);
      pen.globalAlpha = looks.outcomes[code].wrong ? 1 : 0.28;
      pen.fillStyle = looks.outcomes[code].fill;
      pen.fillRect(0, 0, 26, 14);
    }
    return looks;
  }

  drawRow(context, row) {
    const box = { x: this.box.x, y: row.y, width: this.box.width, height: row.height };
    const { kind } = row.signal ? {} : this.view.lanes[row.place];
    if (row.signal) signalLane(context, this.looks, row.signal, this.ranges[row.place], this.span, box);
    else if (kind === "outcomes") outcomeLane(context, this.looks, this.indices[row.place], this.span, box);
    else labelLane(context, this.looks, this.indices[row.place], kind, this.span, box);
  }

  drawChosen(context) {
    const row = this.rows.find(({ place, signal }) => !signal && place === this.current);
    if (this.chosen < 0 || !row) return;
    const lane = this.view.lanes[this.current];
    const x = (t) => this.box.x + ((t - this.span[0]) / (this.span[1] - this.span[0])) * this.box.width;
    const [left, right] = [Math.max(this.box.x, x(lane.start[this.chosen])), Math.min(this.box.x + this.box.width, x(lane.end[this.chosen]))];
    if (right < this.box.x || left > this.box.x + this.box.width) return;
    const age = this.flash ? (performance.now() - this.flash) / FLASH_MS : 1;
    const grow = age < 1 ? (1 - age) * 14 : 0;
    context.strokeStyle = this.looks.colours.ink;
    context.lineWidth = 2;
    context.strokeRect(left - 2 - grow, row.y - 3 - grow / 3, Math.max(2, right - left) + 4 + 2 * grow, row.height + 6 + (2 * grow) / 3);
    if (age < 1) this.request();
  }

  destroy() {
    this.observer.disconnect();
    window.clearTimeout(this.filling);
    if (this.frame) window.cancelAnimationFrame(this.frame);
    document.removeEventListener("gnomon-theme", this.retheme);
    this.root.remove();
  }
}

/**
 * Mount a timeline.
 *
 * @param {HTMLElement} host an empty element
 * @param {object} view the data of a view of kind timeline
 * @param {{get(key, fallback), set(values)}} state the query of the address
 * @returns {{destroy(), show(t0, t1), draw()}}
 */
export function mount(host, view, state) {
  dressed();
  const timeline = new Timeline(host, view, state);
  return { destroy: () => timeline.destroy(), show: (t0, t1) => timeline.show(t0, t1), draw: () => timeline.draw() };
}
