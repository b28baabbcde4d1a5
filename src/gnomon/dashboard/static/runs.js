/** The list of runs: it follows what is typed, and says how many are chosen for a comparison. */

const form = document.getElementById("filter");
const box = document.getElementById("listed");
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
    const chosen = new Set(keys());
    box.replaceChildren(...page.getElementById("listed").childNodes);
    for (const tick of ticks()) tick.checked = chosen.has(tick.value);
    window.history.replaceState(null, "", url);
  } catch (error) {
    document.getElementById("failed").textContent = `The list could not be brought up to date: ${error.message}.`;
  } finally {
    if (mine === asked) box.removeAttribute("aria-busy");
    counted();
  }
}

function ticks() {
  return [...box.querySelectorAll("input[name=run]")];
}

function keys() {
  return ticks().filter((tick) => tick.checked).map((tick) => tick.value);
}

function counted() {
  const chosen = keys().length;
  const together = document.getElementById("together");
  const compare = document.getElementById("compare");
  const said = document.getElementById("chosen");
  together.disabled = chosen < 1;
  compare.disabled = chosen < 2;
  said.textContent = chosen === 0 ? "Tick runs to see them together." : `${chosen} chosen`;
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
box.addEventListener("change", counted);
counted();
