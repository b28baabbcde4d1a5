/** Where the rows of a timeline stand: lanes by group, then signals; names beside them, or above where it is narrow. */

export const AXIS = 40;
export const GAP = 5;
export const SIGNALS = "signals";
const HEIGHTS = { labels: 24, outcomes: 24, zones: 16, signal: 64 };
const NARROW = 640;
const ABOVE = 16;
const TITLE = 27;

/** Return the rows that are not hidden, the box in which time runs, and the height of all. */
export function laid(view, hidden, width) {
  const narrow = width < NARROW;
  const gutter = narrow ? 0 : Math.round(Math.min(220, Math.max(110, width * 0.16)));
  const above = narrow ? ABOVE : 0;
  const rows = [];
  let y = AXIS;
  let before = null;
  const add = (row, height, group) => {
    const title = group && group !== before && group !== row.name ? group : "";
    if (title) y += TITLE;
    rows.push({ ...row, title, y: y + above, height });
    y += above + height + GAP;
    before = group;
  };
  view.lanes.forEach((lane, place) => {
    const height = HEIGHTS[lane.kind] ?? HEIGHTS.labels;
    if (!hidden.has(lane.group || lane.name)) add({ place, name: lane.name }, height, lane.group);
  });
  view.signals.forEach((signal, place) => {
    const name = signal.unit ? `${signal.name}, ${signal.unit}` : signal.name;
    if (!hidden.has(SIGNALS)) add({ place, signal, name }, HEIGHTS.signal, SIGNALS);
  });
  return { rows, box: { x: gutter, y: AXIS, width: Math.max(50, Math.floor(width - gutter)), height: y - AXIS }, height: y };
}

/** Write the title of a group and the name of a row, and lay the ground of the row. */
export function rowNames(context, looks, row, box, width) {
  if (row.title) {
    context.save();
    context.font = `600 ${context.font}`;
    context.fillStyle = looks.colours.ink;
    context.fillText(looks.fitted(context, row.title, (width - 8) / 1.1), 2, row.y - (box.x ? 10 : ABOVE + 8));
    context.restore();
  }
  context.fillStyle = looks.colours.muted;
  const room = box.x ? box.x - 10 : width - 8;
  context.fillText(looks.fitted(context, row.name, room), 2, box.x ? row.y + row.height / 2 : row.y - 8);
  context.fillStyle = looks.colours.line;
  context.globalAlpha = 0.35;
  context.fillRect(box.x, row.y, box.width, row.height);
  context.globalAlpha = 1;
}
