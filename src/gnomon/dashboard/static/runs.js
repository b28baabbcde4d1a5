/** The list of runs: it follows what is typed and what is published, and keeps what was chosen. */

import { element } from "./shell.js";

const form = document.getElementById("filter");
const choice = document.getElementById("choice");
const box = document.getElementById("listed");
const failed = document.getElementById("failed");
const chosen = new Set();
let asked = 0;

function address() {
  const url = new URL(form.action);
  for (const [key, value] of new FormData(form)) if (value) url.searchParams.append(key, value);
  return url;
}

async function refresh() {
  const mine = ++asked;
  const url = address();
  box.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(url, { headers: { accept: "text/html" } });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== asked) return;
    box.replaceChildren(...page.getElementById("listed").childNodes);
    window.history.replaceState(window.history.state, "", url);
    failed.textContent = "";
  } catch (error) {
    failed.textContent = `The list could not be brought up to date: ${error.message}.`;
  } finally {
    if (mine === asked) box.removeAttribute("aria-busy");
    shown();
  }
}

/** Keep the choice with this entry of the history: Back and a reload bring it back, also what is not listed. */
function remember() {
  window.history.replaceState({ ...window.history.state, chosen: [...chosen] }, "");
}

/** Take up the choice that was kept, and make ticks, counts and buttons agree with it. */
function restore() {
  chosen.clear();
  for (const key of window.history.state?.chosen ?? []) chosen.add(key);
  shown();
}

function ticks() {
  return [...box.querySelectorAll("input[name=run]")];
}

/** Tick what is chosen; what is chosen but not listed now goes along unseen. */
function shown() {
  for (const tick of ticks()) tick.checked = chosen.has(tick.value);
  const listed = new Set(ticks().map((tick) => tick.value));
  for (const hidden of choice.querySelectorAll("input[type=hidden]")) hidden.remove();
  for (const key of chosen) {
    if (!listed.has(key)) choice.append(element("input", { type: "hidden", name: "run", value: key }));
  }
  document.getElementById("together").disabled = chosen.size < 1;
  document.getElementById("compare").disabled = chosen.size < 2;
  document.getElementById("clear").hidden = chosen.size === 0;
  const text = chosen.size === 0 ? "Tick runs to see them together." : `${chosen.size} chosen`;
  document.getElementById("chosen").textContent = text;
}

let timer = 0;
form.addEventListener("input", () => {
  window.clearTimeout(timer);
  timer = window.setTimeout(refresh, 200);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  refresh();
});
box.addEventListener("change", (event) => {
  if (event.target.name !== "run") return;
  if (event.target.checked) chosen.add(event.target.value);
  else chosen.delete(event.target.value);
  remember();
  shown();
});
box.addEventListener("click", (event) => {
  const link = event.target.closest("thead a");
  if (!link) return;
  event.preventDefault();
  const query = new URL(link.href).searchParams;
  for (const name of ["sort", "turned"]) form.elements[name].value = query.get(name) ?? "";
  refresh();
});
document.getElementById("clear").addEventListener("click", () => {
  chosen.clear();
  remember();
  shown();
});
document.addEventListener("gnomon-runs", refresh);
restore();
window.addEventListener("pageshow", restore);
