/**
 * Two scans side by side under one camera, coloured by what a system made of each point, with true boxes (solid) and
 * predicted ones (dashed). Changed points are seen through unchanged ones, so that no wall hides an error. A box is
 * chosen from the list, by a click, or with n and p.
 */

import { Stage } from "./space.js";
import { Camera, bounds, dot3, dressed, mix, node, palette } from "./space_camera.js";

const LOOKS = {
  plain: { glyph: "dot", radius: 1.6, fade: 0.6 },
  right: { glyph: "disc", radius: 1.5, fade: 0.25, through: true },
  missed: { glyph: "cross", radius: 3, fade: 0.2, through: true },
  false: { glyph: "plus", radius: 3, fade: 0.2, through: true },
  confused: { glyph: "diamond", radius: 3, fade: 0.2, through: true },
};
const SIGNS = { matched: "✓", missed: "✕", false: "+" };
const ROLES = { matched: "right", missed: "missed", false: "false" };
const ORDER = { missed: 0, false: 1, matched: 2 };
const EDGES = [
  [0, 1],
  [1, 2],
  [2, 3],
  [3, 0],
  [4, 5],
  [5, 6],
  [6, 7],
  [7, 4],
  [0, 4],
  [1, 5],
  [2, 6],
  [3, 7],
];
const PATHS = {
  plain: "M11 8h2v1h-2z",
  right: "M10 8a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
  missed: "M8 4l8 8M16 4l-8 8",
  false: "M12 3v10M7 8h10",
  confused: "M12 3l5 5l-5 5l-5-5z",
  solid: "M1 8h22",
  dashed: "M1 8h6M10 8h6M19 8h4",
};

const TRUTH = "(truth)"; // in an address: no system

const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits));
const vertex = (box, i) => [box.corners[3 * i], box.corners[3 * i + 1], box.corners[3 * i + 2]];

function glyph(path, role) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 24 16");
  svg.setAttribute("class", role);
  svg.setAttribute("aria-hidden", "true");
  line.setAttribute("d", PATHS[path]);
  svg.append(line);
  return svg;
}

class Scene {
  constructor(host, view, state) {
    Object.assign(this, { view, state });
    this.systems = view.systems ?? [];
    const asked = state.get("system", "");
    this.system = this.systems.includes(asked) ? asked : asked === TRUTH ? "" : (this.systems[0] ?? "");
    this.on = {
      truth: state.get("truth", "1") !== "0",
      predicted: state.get("predicted", "1") !== "0",
      errors: state.get("errors", "0") === "1",
    };
    this.chosen = view.boxes[+state.get("box", -1)] ? +state.get("box", -1) : -1;
    this.colours = palette();
    this.camera = new Camera();
    this.root = node("div", { class: "space" });
    host.append(this.root);
    this.build();
    this.frame();
    this.refresh();
    if (this.chosen >= 0) this.say(view.boxes[this.chosen]);
    this.retheme = () => {
      this.colours = palette();
      this.refresh();
    };
    document.addEventListener("gnomon-theme", this.retheme);
  }

  build() {
    const { view } = this;
    this.legend = node("ul", { class: "space-legend", "aria-label": "what colours and shapes mean" });
    this.status = node("p", {
      class: "space-status",
      role: "status",
      "aria-live": "polite",
      text: "Point at a scan, or choose a box.",
    });
    const panes = node("div", { class: view.clouds.length > 1 ? "space-panes" : "space-panes single" });
    this.stages = view.clouds.map((cloud) => this.pane(panes, cloud));
    this.list = node("ul", { class: "space-boxes" });
    this.facts = node("dl", { class: "space-facts" });
    const boxes = node("section", {}, node("h3", { text: "Boxes" }), this.list);
    const lower = node(
      "div",
      { class: "space-lower" },
      boxes,
      node("section", {}, node("h3", { text: "Scene" }), this.facts),
    );
    this.root.append(this.bar(), this.legend, panes, this.status, lower);
    this.root.append(
      node("p", {
        class: "space-keys",
        text: "Drag or arrow keys turn, shift moves, wheel or + and − zoom, 0 resets, n and p go from box to box.",
      }),
    );
  }

  bar() {
    const bar = node("div", { class: "space-bar" });
    if (this.systems.length > 1) {
      const select = node("select", {
        onchange: () => {
          this.system = select.value;
          this.set({ system: this.system || TRUTH });
        },
      });
      for (const name of this.systems)
        select.append(node("option", { value: name, text: name, selected: name === this.system }));
      select.append(node("option", { value: "", text: "truth alone", selected: this.system === "" }));
      bar.append(node("label", { text: "System " }, select));
    }
    const titles = { truth: "true boxes", predicted: "predicted boxes", errors: "only errors" };
    for (const [key, title] of Object.entries(titles)) {
      const input = node("input", { type: "checkbox", checked: this.on[key] });
      input.addEventListener("change", () => {
        this.on[key] = input.checked;
        this.set({ [key]: input.checked ? "1" : "0" });
      });
      bar.append(node("label", {}, input, title));
    }
    bar.append(node("button", { type: "button", text: "Reset view", onclick: () => this.camera.reset() }));
    return bar;
  }

  pane(panes, cloud) {
    const count = (cloud.points.length / 3).toLocaleString("en");
    const caption = node("figcaption", {}, node("strong", { text: cloud.name }), ` scan, ${count} points`);
    const figure = node("figure", { class: "space-pane" }, caption);
    panes.append(figure);
    const stage = new Stage(figure, this.camera, {
      label: `${cloud.name} scan of ${this.view.case} in three dimensions`,
      paint: (stage) => this.paint(stage, cloud),
      hover: (index) => this.hover(cloud, index),
      pick: (x, y) => this.pick(stage, cloud, x, y),
      keys: (event) => this.keys(event),
    });
    return stage;
  }

  /** Look at both scans at once; then as the address says. */
  frame() {
    const ends = this.view.clouds.filter((cloud) => cloud.points.length).map((cloud) => bounds(cloud.points));
    const low = [0, 1, 2].map((axis) => Math.min(...ends.map(([p]) => p[axis])));
    const high = [0, 1, 2].map((axis) => Math.max(...ends.map(([, q]) => q[axis])));
    if (ends.length) {
      this.camera.fit(low, high);
      const { a, b } = this.camera;
      const span = [a, b].map((axis) => [dot3(low, axis), dot3(high, axis)].sort((p, q) => p - q));
      const floor = { low: span.map((s) => s[0]), high: span.map((s) => s[1]), level: low[2] };
      for (const stage of this.stages) stage.floor = floor;
    }
    this.camera.read(this.state.get("cam", ""));
    this.camera.listeners.add(() => this.state.set({ cam: this.camera.text() }));
  }

  set(values) {
    this.state.set(values);
    this.refresh();
  }

  codes(cloud) {
    return (this.system && cloud.by_system?.[this.system]) || cloud.code;
  }

  /** What became of a box: of a true one under the chosen system, where there are several. */
  fate(box) {
    return box.system === "" && box.by_system ? (box.by_system[this.system] ?? box) : box;
  }

  /** Whether a box is drawn and listed. */
  visible(box) {
    if (box.system === "" ? !this.on.truth : !this.on.predicted || box.system !== this.system) return false;
    return !this.on.errors || this.fate(box).status !== "matched";
  }

  refresh() {
    const { colours } = this;
    const styles = this.view.codes.map(({ role }) => {
      const colour = role === "plain" ? mix(colours.muted, colours.paper, 0.35) : colours[role];
      return { ...LOOKS[role], colour, hidden: this.on.errors && (role === "plain" || role === "right") };
    });
    this.stages.forEach((stage, i) => stage.show(this.view.clouds[i].points, this.codes(this.view.clouds[i]), styles));
    this.tell();
    this.know();
    this.listed();
  }

  /** Fill the legend: what there is of each kind of point, and the two kinds of boxes. */
  tell() {
    const counts = new Array(this.view.codes.length).fill(0);
    for (const cloud of this.view.clouds) for (const code of this.codes(cloud)) counts[code] += 1;
    const items = this.view.codes.map(({ name, role }, code) =>
      counts[code] ? node("li", {}, glyph(role, role), `${name} (${counts[code].toLocaleString("en")})`) : "",
    );
    const lines = [
      ["solid", "true box"],
      ["dashed", "predicted box"],
    ];
    this.legend.replaceChildren(...items, ...lines.map(([path, text]) => node("li", {}, glyph(path, "ink"), text)));
  }

  /** Fill the facts: those of the scene, and of the chosen system where names begin with that of one. */
  know() {
    const items = [];
    for (const [name, value] of Object.entries(this.view.facts ?? {})) {
      const owner = this.systems.length > 1 ? this.systems.find((system) => name.startsWith(`${system}: `)) : undefined;
      if (owner !== undefined && owner !== this.system) continue;
      const said =
        typeof value === "number" && !Number.isInteger(value) ? value.toFixed(3) : String(value ?? "not known");
      items.push(
        node("dt", { text: owner === undefined ? name : name.slice(owner.length + 2) }),
        node("dd", { text: said }),
      );
    }
    this.facts.replaceChildren(...items);
  }

  /** Fill the list of boxes, errors first. */
  listed() {
    this.shown = this.view.boxes
      .map((box, index) => ({ box, index, ...this.fate(box) }))
      .filter(({ box }) => this.visible(box));
    this.shown.sort((p, q) => ORDER[p.status] - ORDER[q.status] || p.index - q.index);
    const rows = this.shown.map(({ box, index, status, iou }) => {
      const what = box.system === "" ? `true ${box.class}` : `predicted ${box.class}`;
      const cells = [
        what,
        node("b", { text: status }),
        status === "matched" ? `IoU ${number(iou)}` : "",
        box.score === null ? "" : `score ${number(box.score)}`,
      ];
      const row = node("button", {
        type: "button",
        "aria-pressed": String(index === this.chosen),
        onclick: () => this.choose(index),
      });
      row.append(
        node("span", { text: SIGNS[status], "aria-hidden": "true" }),
        ...cells.map((cell) => node("span", {}, cell)),
      );
      return node("li", { class: status }, row);
    });
    const none = node("li", {}, node("p", { class: "space-empty", text: "No boxes to show here." }));
    this.list.replaceChildren(...(rows.length ? rows : [none]));
  }

  /** Choose a box and go there. */
  choose(index) {
    const box = this.view.boxes[index];
    this.chosen = index;
    const [p, q] = [vertex(box, 0), vertex(box, 6)];
    this.camera.fly(
      p.map((value, axis) => (value + q[axis]) / 2),
      Math.max(1.2, 3 * Math.hypot(...p.map((v, axis) => v - q[axis]))),
    );
    this.say(box);
    this.set({ box: index });
  }

  say(box) {
    const { status, iou } = this.fate(box);
    const sides = [
      [0, 1],
      [0, 3],
      [0, 4],
    ].map(([i, j]) => Math.hypot(...vertex(box, i).map((value, axis) => value - vertex(box, j)[axis])));
    const why = {
      missed: "no predicted box matches it",
      false: "no true box matches it",
      matched: `IoU ${number(iou)}`,
    }[status];
    const who = box.system === "" ? "true box" : `box of ${box.system}`;
    const size = sides.map((side) => side.toFixed(2)).join(" × ");
    this.status.textContent = `${box.class}, ${who}: ${status}, ${why}; ${size} m in the ${box.cloud} scan`;
  }

  paint(stage, cloud) {
    const drawn = this.view.boxes
      .map((box, index) => [box, index])
      .filter(([box]) => box.cloud === cloud.name && this.visible(box));
    drawn.sort((p, q) => (p[1] === this.chosen) - (q[1] === this.chosen));
    for (const [box, index] of drawn) {
      const { status } = this.fate(box);
      const width = index === this.chosen ? 3.5 : 2;
      const look = { colour: this.colours[ROLES[status]], width, dash: box.system === "" ? [] : [6, 4], ghost: 0.45 };
      for (const [i, j] of EDGES) stage.line(vertex(box, i), vertex(box, j), look);
    }
    const rank = ([box, index]) => (index === this.chosen ? -1 : ORDER[this.fate(box).status]);
    for (const [box, index] of drawn.sort((p, q) => rank(p) - rank(q))) {
      const { status, iou } = this.fate(box);
      if (box.system !== "" && status === "matched" && this.on.truth && index !== this.chosen) continue;
      const top = [0, 1, 2].map((axis) => [4, 5, 6, 7].reduce((sum, i) => sum + vertex(box, i)[axis] / 4, 0));
      const words = status === "matched" ? `✓ ${box.class} ${number(iou)}` : `${SIGNS[status]} ${status} ${box.class}`;
      stage.label(top, words, this.colours[ROLES[status]], { strong: index === this.chosen });
    }
  }

  hover(cloud, index) {
    if (index < 0) return;
    const place = [0, 1, 2].map((axis) => cloud.points[3 * index + axis].toFixed(2));
    const name = this.view.codes[this.codes(cloud)[index]].name;
    this.status.textContent = `${cloud.name} scan: ${name} at x ${place[0]}, y ${place[1]}, z ${place[2]} m`;
  }

  /** Choose the box whose middle is nearest to a click, where that is inside of its picture. */
  pick(stage, cloud, x, y) {
    let [best, least] = [-1, Infinity];
    this.view.boxes.forEach((box, index) => {
      if (box.cloud !== cloud.name || !this.visible(box)) return;
      const seen = Array.from({ length: 8 }, (_, i) => stage.project(vertex(box, i)));
      if (seen.some((p) => p[2] <= 0)) return;
      const [xs, ys] = [seen.map((p) => p[0]), seen.map((p) => p[1])];
      if (x < Math.min(...xs) || x > Math.max(...xs) || y < Math.min(...ys) || y > Math.max(...ys)) return;
      const area = (Math.max(...xs) - Math.min(...xs)) * (Math.max(...ys) - Math.min(...ys));
      if (area < least) [best, least] = [index, area];
    });
    if (best >= 0) this.choose(best);
  }

  keys(event) {
    if (event.key !== "n" && event.key !== "p") return false;
    if (!this.shown.length) return true;
    const at = this.shown.findIndex(({ index }) => index === this.chosen);
    const step = event.key === "n" ? 1 : -1;
    const next = at < 0 ? (step > 0 ? 0 : this.shown.length - 1) : (at + step + this.shown.length) % this.shown.length;
    this.choose(this.shown[next].index);
    return true;
  }

  destroy() {
    document.removeEventListener("gnomon-theme", this.retheme);
    for (const stage of this.stages) stage.destroy();
    this.root.remove();
  }
}

/**
 * Show a view of kind "scene".
 *
 * @param {HTMLElement} host an empty element
 * @param {object} view the view's data
 * @param {{get: function, set: function}} state the query of the address
 * @returns {{destroy: function, draw: function, scene: Scene}}
 */
export function mount(host, view, state) {
  dressed();
  const scene = new Scene(host, view, state);
  return { destroy: () => scene.destroy(), draw: () => scene.stages.forEach((stage) => stage.draw()), scene };
}
