/**
 * Bodies that move: the true one (solid) and what systems made of it (dashed), in the frame of the sensor, over a bar
 * of the error in time. Space plays, comma and full stop step, n and p go to the next and previous of the worst frames.
 */

import { Scrub } from "./motion_scrub.js";
import { Stage } from "./space.js";
import { Camera, bounds, dot3, dressed, mix, node, palette, still } from "./space_camera.js";

const RATES = [5, 10, 15, 30, 60];
const UPS = { "+x": [1, 0, 0], "-x": [-1, 0, 0], "+y": [0, 1, 0], "-y": [0, -1, 0], "+z": [0, 0, 1], "-z": [0, 0, -1] };
const USUAL = [0, -1, 0]; // a camera's y axis points down
const DASHES = [
  [7, 4],
  [2, 3],
  [10, 3, 2, 3],
  [4, 2],
];
const PEAKS = 12;

const mm = (value) => (Number.isFinite(value) ? `${value.toFixed(1)} mm` : "dropped");

/** Return the frames with the largest errors, the worst first, no two of them close together. */
export function peaks(errors, apart = Math.max(2, Math.floor(errors.length / 20)), most = PEAKS) {
  const order = Array.from(errors.keys())
    .filter((i) => Number.isFinite(errors[i]))
    .sort((p, q) => errors[q] - errors[p] || p - q);
  const found = [];
  for (const index of order) {
    if (found.length === most) break;
    if (found.every((other) => Math.abs(other - index) >= apart)) found.push(index);
  }
  return found;
}

class Motion {
  constructor(host, view, state) {
    Object.assign(this, { view, state, playing: false });
    this.count = view.frames.length;
    this.size = view.joints.length;
    this.names = view.predictions.map((item) => item.system);
    const asked = this.names.indexOf(state.get("system", ""));
    this.first = Math.max(0, asked);
    const hidden = [state.get("hidden", "")].flat();
    this.seen = this.names.map((name) => !hidden.includes(name));
    this.on = {
      truth: state.get("truth", "1") !== "0",
      links: state.get("links", "1") !== "0",
      follow: state.get("follow", "0") === "1",
    };
    this.rate = RATES.includes(+state.get("rate", 15)) ? +state.get("rate", 15) : 15;
    const frame = Number(state.get("frame", view.worst));
    this.frame = Math.max(0, Math.min(this.count - 1, Number.isFinite(frame) ? Math.round(frame) : view.worst));
    this.colours = palette();
    this.camera = new Camera(view.up ?? USUAL);
    this.root = node("div", { class: "space" });
    host.append(this.root);
    this.build();
    this.look(UPS[state.get("up", "")] ?? view.up ?? USUAL);
    this.select();
    if (state.get("cam", "")) this.camera.read(state.get("cam", ""));
    else this.include();
    this.camera.listeners.add(() => state.set({ cam: this.camera.text() }));
    this.retheme = () => {
      this.colours = palette();
      this.scrub.draw();
      this.colourBars();
    };
    document.addEventListener("gnomon-theme", this.retheme);
  }

  build() {
    this.status = node("p", { class: "space-status", role: "status", "aria-live": "polite" });
    const figure = node("figure", { class: "space-pane" });
    const panes = node("div", { class: "space-panes single" }, figure);
    this.root.append(this.player(), this.switches(), panes);
    this.stage = new Stage(figure, this.camera, {
      label: `true and predicted skeletons of ${this.view.case} in three dimensions`,
      paint: (stage) => this.paint(stage),
      keys: (event) => this.keys(event),
    });
    this.scrub = new Scrub(this.root, this.view, {
      colours: () => this.colours,
      state: () => ({
        frame: this.frame,
        first: this.first,
        seen: this.seen,
        worst: this.order?.[0] ?? this.view.worst,
      }),
      go: (frame) => {
        this.stop();
        this.go(frame);
      },
      keys: (event) => this.keys(event),
    });
    this.bars = this.view.joints.map((name) => {
      const bar = node("i");
      const value = node("span");
      return { bar, value, row: node("li", {}, node("span", { text: name, title: name }), bar, value) };
    });
    const list = node("ul", { class: "space-joints" }, ...this.bars.map(({ row }) => row));
    this.title = node("h3");
    this.root.append(this.status, node("section", {}, this.title, list));
    const text =
      "Space plays, comma and full stop step, n and p go through the worst frames; " +
      "drag or arrow keys turn, shift moves, wheel or + and − zoom, 0 resets.";
    this.root.append(node("p", { class: "space-keys", text }));
  }

  player() {
    this.button = node("button", { type: "button", onclick: () => this.toggle() });
    const button = (text, label, action) =>
      node("button", { type: "button", text, "aria-label": label, title: label, onclick: action });
    const rate = node("select", {
      onchange: () => {
        this.rate = +rate.value;
        this.state.set({ rate: this.rate });
      },
    });
    for (const value of RATES)
      rate.append(node("option", { value: String(value), text: `${value} frames/s`, selected: value === this.rate }));
    this.worst = button("Worst frame", "go to the worst frame, then to the next worst", () => this.next(1));
    return node(
      "div",
      { class: "space-bar" },
      this.button,
      button("◀", "one frame back", () => this.step(-1)),
      button("▶", "one frame on", () => this.step(1)),
      this.worst,
      node("label", { text: "Speed " }, rate),
      button("Reset view", "reset the view", () => this.camera.reset()),
    );
  }

  switches() {
    const bar = node("div", { class: "space-bar" });
    const box = (title, checked, act, key) => {
      const input = node("input", { type: "checkbox", checked });
      input.addEventListener("change", () => {
        act(input.checked);
        this.stage.ask();
        this.scrub.draw();
      });
      const label = node("label", {}, input, ...(key ? [key] : []), title);
      bar.append(label);
    };
    const toggle = (key) => (value) => {
      this.on[key] = value;
      this.state.set({ [key]: value ? "1" : "0" });
    };
    box("truth", this.on.truth, toggle("truth"), this.swatch("ink", []));
    this.names.forEach((name, i) =>
      box(
        name,
        this.seen[i],
        (value) => {
          this.seen[i] = value;
          this.state.set({ hidden: this.names.filter((_, k) => !this.seen[k]) });
        },
        this.swatch(`c${i % 10}`, DASHES[i % DASHES.length]),
      ),
    );
    box("error lines", this.on.links, toggle("links"));
    box("follow", this.on.follow, (value) => {
      toggle("follow")(value);
      this.go(this.frame);
    });
    if (this.names.length > 1) {
      const select = node("select", {
        onchange: () => {
          this.first = +select.value;
          this.state.set({ system: this.names[this.first] });
          this.select();
        },
      });
      this.names.forEach((name, i) =>
        select.append(node("option", { value: String(i), text: name, selected: i === this.first })),
      );
      bar.append(node("label", { text: "Errors of " }, select));
    }
    const up = node("select", {
      onchange: () => {
        this.state.set({ up: up.value });
        this.look(UPS[up.value] ?? this.view.up ?? USUAL);
      },
    });
    for (const name of ["", ...Object.keys(UPS)])
      up.append(node("option", { value: name, text: name || "as given", selected: name === this.state.get("up", "") }));
    bar.append(node("label", { text: "Up " }, up));
    return bar;
  }

  /** Return a short line as it is drawn: its colour by class name, its dashes. */
  swatch(colour, dash) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    svg.setAttribute("viewBox", "0 0 28 8");
    svg.setAttribute("class", "space-swatch");
    svg.setAttribute("aria-hidden", "true");
    line.setAttribute("d", "M0 4h28");
    line.setAttribute("stroke-dasharray", dash.join(" "));
    svg.style.setProperty("stroke", `var(--${colour})`);
    svg.append(line);
    return svg;
  }

  /** Stand the camera upright, on the side of the sensor, so that the whole clip is seen. */
  look(up) {
    const { truth, truth_valid: valid } = this.view;
    const kept = [];
    for (let i = 0; i < valid.length; i++) if (valid[i]) kept.push(truth[3 * i], truth[3 * i + 1], truth[3 * i + 2]);
    this.camera.stand(up);
    const [low, high] = bounds(kept);
    const middle = low.map((value, i) => (value + high[i]) / 2);
    const flat = [dot3(middle, this.camera.a), dot3(middle, this.camera.b)];
    const yaw = Math.hypot(...flat) > 0.5 ? Math.atan2(flat[0], flat[1]) + 0.35 : -0.6;
    Object.assign(this.camera.home, { yaw, pitch: 0.25 });
    const along = (axis) => {
      const values = [];
      for (let i = 0; i < kept.length; i += 3) values.push(dot3(kept.slice(i, i + 3), axis));
      values.sort((p, q) => p - q);
      return values.length ? [values[0], values[values.length - 1]] : [0, 1];
    };
    const [u, v] = [along(this.camera.a), along(this.camera.b)];
    this.stage.floor = {
      low: [u[0] - 0.5, v[0] - 0.5],
      high: [u[1] + 0.5, v[1] + 0.5],
      level: along(this.camera.up)[0],
    };
    this.camera.fit(low, high);
    this.camera.home.distance = this.camera.distance *= 1.1;
  }

  select() {
    this.order = peaks(this.view.predictions[this.first].error);
    this.title.textContent = `Error of each joint, ${this.names[this.first]}`;
    const all = this.view.predictions[this.first].joint_error;
    this.most = 1e-9;
    for (const value of all) if (value > this.most) this.most = value;
    this.colourBars();
    this.go(this.frame);
  }

  colourBars() {
    for (const { bar } of this.bars) bar.style.setProperty("background", `var(--c${this.first % 10})`);
  }

  go(frame) {
    this.frame = Math.max(0, Math.min(this.count - 1, frame));
    if (this.on.follow && this.view.truth_valid[this.frame * this.size])
      this.camera.target = this.joint(this.view.truth, 0);
    if (!this.playing) {
      this.state.set({ frame: this.frame });
      const said = this.view.predictions.map(({ system, error }) => `${system} ${mm(error[this.frame])}`).join(", ");
      this.status.textContent = `frame ${this.view.frames[this.frame]} (${this.frame + 1} of ${this.count}): ${said}`;
    }
    this.button.textContent = this.playing ? "Pause" : "Play";
    this.button.setAttribute("aria-pressed", String(this.playing));
    this.fill();
    this.scrub.draw();
    this.stage.ask();
  }

  fill() {
    const { joint_error: errors } = this.view.predictions[this.first];
    this.bars.forEach(({ bar, value }, i) => {
      const error = errors[this.frame * this.size + i];
      bar.style.setProperty("width", `${Number.isFinite(error) ? (100 * error) / this.most : 0}%`);
      value.textContent = Number.isFinite(error) ? `${error.toFixed(0)} mm` : "–";
    });
  }

  step(by) {
    this.stop();
    this.go((this.frame + by + this.count) % this.count);
  }

  /** Go through the worst frames: to the worst, and on from there. */
  next(by) {
    this.stop();
    if (!this.order.length) return;
    const at = this.order.indexOf(this.frame);
    this.go(this.order[at < 0 ? 0 : (at + by + this.order.length) % this.order.length]);
    this.include();
  }

  /** Step back where a body of this frame would be outside of the picture. */
  include() {
    const shown = [
      this.view.truth,
      ...this.view.predictions.filter((_, k) => this.seen[k]).map(({ joints }) => joints),
    ];
    const places = shown.flatMap((joints) => this.view.joints.map((_, i) => this.joint(joints, i)));
    const good = places.filter((place) => place.every(Number.isFinite));
    if (!good.length) return;
    const low = [0, 1, 2].map((axis) => Math.min(...good.map((place) => place[axis])));
    const high = [0, 1, 2].map((axis) => Math.max(...good.map((place) => place[axis])));
    const needed = 1.15 * Math.hypot(...high.map((value, axis) => value - low[axis]));
    if (needed <= this.camera.home.distance) return;
    this.camera.fly(
      low.map((value, axis) => (value + high[axis]) / 2),
      Math.min(needed, 10 * this.camera.home.distance),
    );
  }

  toggle() {
    if (this.playing) {
      this.stop();
      this.go(this.frame);
      return;
    }
    this.playing = true;
    let last = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      const steps = Math.floor(((now - last) * this.rate) / 1000);
      if (steps > 0) {
        last += (steps * 1000) / this.rate;
        this.go((this.frame + steps) % this.count);
      }
      this.ticking = requestAnimationFrame(tick);
    };
    this.go(this.frame);
    this.ticking = requestAnimationFrame(tick);
  }

  stop() {
    this.playing = false;
    cancelAnimationFrame(this.ticking);
  }

  keys({ key }) {
    const acts = {
      " ": () => this.toggle(),
      ",": () => this.step(-1),
      ".": () => this.step(1),
      n: () => this.next(1),
      p: () => this.next(-1),
    };
    if (!(key in acts)) return false;
    acts[key]();
    return true;
  }

  joint(joints, i) {
    const at = 3 * (this.frame * this.size + i);
    return [joints[at], joints[at + 1], joints[at + 2]];
  }

  /** Draw one body, far bones first. */
  body(stage, joints, look, ring) {
    const places = this.view.joints.map((_, i) => this.joint(joints, i));
    const good = places.map((place) => place.every(Number.isFinite));
    const away = places.map((place, i) => (good[i] ? stage.project(place)[2] : 0));
    const bones = this.view.bones.filter(([i, j]) => good[i] && good[j]);
    bones.sort(([a, b], [c, d]) => away[c] + away[d] - away[a] - away[b]);
    const size = Math.max(0.3, Math.min(1.4, stage.ratio / stage.dpr / 200));
    for (const [i, j] of bones) stage.line(places[i], places[j], { ...look, width: Math.max(1.8, look.width * size) });
    places.forEach((place, i) => {
      if (good[i]) stage.disc(place, (ring ? 2.6 : 3) * size, look.colour, ring);
    });
  }

  paint(stage) {
    const { truth, predictions } = this.view;
    const sensor = stage.project([0, 0, 0]);
    if (sensor[2] > 0) stage.label([0, 0, 0], "◇ sensor", this.colours.muted);
    if (this.on.links) {
      const look = { colour: mix(this.colours.muted, this.colours.paper, 0.4), width: 1 };
      predictions.forEach(
        ({ joints }, k) =>
          this.seen[k] &&
          this.view.joints.forEach((_, i) => {
            const [p, q] = [this.joint(truth, i), this.joint(joints, i)];
            if (p.every(Number.isFinite) && q.every(Number.isFinite)) stage.line(p, q, look);
          }),
      );
    }
    if (this.on.truth) this.body(stage, truth, { colour: this.colours.ink, width: 3.5 }, false);
    predictions.forEach(({ joints }, k) => {
      if (this.seen[k])
        this.body(
          stage,
          joints,
          { colour: this.colours[`c${k % 10}`], width: 2.5, dash: DASHES[k % DASHES.length] },
          true,
        );
    });
    if (!predictions[this.first].valid[this.frame]) stage.notice(`${this.names[this.first]}: this sample was dropped`);
  }

  /** Draw everything now. */
  draw() {
    this.stage.draw();
    this.scrub.draw();
  }

  destroy() {
    this.stop();
    document.removeEventListener("gnomon-theme", this.retheme);
    this.stage.destroy();
    this.scrub.destroy();
    this.root.remove();
  }
}

/**
 * Show a view of kind "motion".
 *
 * @param {HTMLElement} host an empty element
 * @param {object} view the view's data
 * @param {{get: function, set: function}} state the query of the address
 * @returns {{destroy: function, draw: function, motion: Motion}}
 */
export function mount(host, view, state) {
  dressed();
  const motion = new Motion(host, view, state);
  if (!still() && state.get("frame", null) === null && state.get("play", "0") === "1") motion.toggle();
  return { destroy: () => motion.destroy(), draw: () => motion.draw(), motion };
}
