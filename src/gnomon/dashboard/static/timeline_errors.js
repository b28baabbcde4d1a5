/** Errors of a timeline: which lanes have them, how one is told in words, and the list of the worst. */

import { at, worstSpans } from "./timeline_lod.js";
import { length, moment, precision } from "./timeline_time.js";

const MOST = 200;

/** Return what a lane is called away from its group. */
export function called(lane) {
  return lane.group && lane.group !== lane.name ? `${lane.group}: ${lane.name}` : lane.name;
}

/** Say which labels truth and the lane's own group have at a moment; one word where they agree. */
function labelsAt(view, lane, t) {
  const found = [];
  const whose = ({ name }) => (name.includes(": ") ? name.split(": ")[0] : "");
  for (const other of view.lanes) {
    if (other.kind !== "labels" || (other.group !== "truth" && other.group !== lane.group)) continue;
    if (other.group !== "truth" && whose(lane) && whose(other) && whose(other) !== whose(lane)) continue;
    const i = at(other, t);
    if (i >= 0) found.push([other.name.split(":")[0], view.labels[other.code[i]]]);
  }
  const different = new Set(found.map(([, label]) => label));
  if (different.size < 2) return [...different].join("");
  return found.slice(0, 4).map(([name, label]) => `${name} ${label}`).join(", ");
}

/** Say what a span of a lane is: its code, labels, from when to when, how long, and whose it is. */
export function told(view, lane, i, clock) {
  const [start, end] = [lane.start[i], lane.end[i]];
  const digits = precision(end - start);
  const when = `${moment(start, clock, digits)} – ${moment(end, clock, digits)} (${length(end - start)})`;
  if (lane.kind !== "outcomes") {
    const names = lane.kind === "zones" ? view.zones : view.labels;
    return [names[lane.code[i]], when, called(lane)].join(", ");
  }
  const outcome = view.outcomes[lane.code[i]];
  const name = outcome.name === outcome.title ? outcome.name : `${outcome.name} ${outcome.title}`;
  return [name, labelsAt(view, lane, (start + end) / 2), when, lane.group || lane.name].filter(Boolean).join(", ");
}

/** The list of the worst errors of a lane, by rank, then by length. */
export class ErrorList {
  constructor(view, clock, choose) {
    Object.assign(this, { view, clock, choose });
    this.root = document.createElement("section");
    this.root.className = "timeline-errors";
    this.title = document.createElement("h3");
    this.list = document.createElement("ol");
    this.list.tabIndex = 0;
    this.root.append(this.title, this.list);
  }

  /** Show the errors of a lane. */
  fill(lane, index, total) {
    const shown = worstSpans(index, this.view.outcomes, MOST);
    this.title.textContent = shown.length ? `Worst errors, ${called(lane)}` : `No errors, ${called(lane)}`;
    this.list.setAttribute("aria-label", this.title.textContent);
    this.list.replaceChildren(...shown.map((i) => this.row(lane, i)));
    this.list.hidden = !shown.length;
    if (total > shown.length) this.title.textContent += ` (${shown.length} of ${total.toLocaleString("en")})`;
  }

  row(lane, i) {
    const outcome = this.view.outcomes[lane.code[i]];
    const item = document.createElement("li");
    const button = document.createElement("button");
    const name = document.createElement("b");
    button.type = "button";
    button.dataset.span = String(i);
    name.textContent = outcome.name;
    button.append(name, ` ${this.words(lane, i)}`);
    button.addEventListener("click", () => this.choose(i));
    item.append(button);
    return item;
  }

  words(lane, i) {
    const digits = Math.min(3, precision(lane.end[i] - lane.start[i]));
    const label = labelsAt(this.view, lane, (lane.start[i] + lane.end[i]) / 2);
    const from = `at ${moment(lane.start[i], this.clock, digits)}`;
    return [label, length(lane.end[i] - lane.start[i]), from].filter(Boolean).join(", ");
  }

  /** Mark one of them as chosen. */
  mark(i) {
    for (const button of this.list.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.span === String(i)));
    }
  }
}
