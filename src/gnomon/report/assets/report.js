// What a page does for its reader: tables that sort, a button for dark and light, folded notes that print. It works without: tables are whole
// and the system's choice of colours holds. The dashboard loads the same file; content that comes later is taken in on
// the event "gnomon-content" of the document, and "gnomon-theme" says that the colours have changed.
(function () {
  "use strict";
  const KEY = "gnomon-theme";
  const root = document.documentElement;

  function remembered() {
    try { return localStorage.getItem(KEY); } catch { return null; }
  }

  function remember(theme) {
    try { localStorage.setItem(KEY, theme); } catch { /* a page from a file may have no storage */ }
  }

  function dark() {
    const own = root.dataset.theme;
    return own ? own === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function label(button) {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", dark() ? "Use light colours" : "Use dark colours");
  }

  function changed() {
    document.querySelectorAll("button[data-action=theme]").forEach(label);
    document.dispatchEvent(new Event("gnomon-theme"));
  }

  function toggle() {
    root.dataset.theme = dark() ? "light" : "dark";
    remember(root.dataset.theme);
    changed();
  }

  function value(row, place) {
    const cell = row.cells[place];
    if (!cell) return { missing: true, text: "" };
    const number = cell.dataset.value === undefined ? NaN : Number(cell.dataset.value);
    return { missing: cell.classList.contains("undefined"), number, text: cell.textContent.trim() };
  }

  function compare(a, b) {
    if (!Number.isNaN(a.number) && !Number.isNaN(b.number)) return a.number - b.number;
    if (!Number.isNaN(a.number)) return -1;
    if (!Number.isNaN(b.number)) return 1;
    return a.text.localeCompare(b.text, undefined, { numeric: true });
  }

  // Return the group of every row: values of different measures have different units and directions, so they are
  // sorted within each measure, the measures in the order of the table. Other columns have one group.
  function grouped(rows, heading) {
    const place = heading.dataset.within;
    const names = rows.map((row) => (place === undefined ? "" : value(row, Number(place)).text));
    const order = [...new Set(names)];
    return new Map(rows.map((row, index) => [row, order.indexOf(names[index])]));
  }

  function sort(table, heading, groups) {
    const place = heading.cellIndex;
    const falling = heading.getAttribute("aria-sort") === "ascending";
    const rows = Array.from(table.tBodies[0].rows, (row) => ({ row, key: value(row, place), group: groups.get(row) }));
    rows.sort((a, b) => {
      if (a.group !== b.group) return a.group - b.group;
      if (a.key.missing !== b.key.missing) return a.key.missing ? 1 : -1;
      return falling ? compare(b.key, a.key) : compare(a.key, b.key);
    });
    table.tBodies[0].append(...rows.map((item) => item.row));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
  }

  function sortable(table) {
    if (table.dataset.ready || !table.tHead || !table.tBodies[0] || table.tBodies[0].rows.length < 2) return;
    table.dataset.ready = "yes";
    const rows = [...table.tBodies[0].rows];
    for (const heading of table.tHead.rows[0].cells) {
      const groups = grouped(rows, heading);
      if (new Set(groups.values()).size === rows.length) continue; // one row of each measure: nothing to compare
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading, groups));
      heading.append(button);
    }
  }

  function themed(button) {
    if (button.dataset.ready) return;
    button.dataset.ready = "yes";
    button.hidden = false;
    button.addEventListener("click", toggle);
    label(button);
  }

  function take() {
    document.querySelectorAll("table.sortable").forEach(sortable);
    document.querySelectorAll("button[data-action=theme]").forEach(themed);
  }

  function unfold() {
    document.querySelectorAll("details").forEach((item) => { item.open = true; });
  }

  const kept = remembered();
  if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  addEventListener("beforeprint", unfold);
  document.addEventListener("gnomon-content", take);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", take);
  else take();
})();
