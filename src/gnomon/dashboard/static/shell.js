/** What every page has: the theme, keys that work everywhere, and the state of a view in the address. */

const THEMES = ["auto", "light", "dark"];

/** Put a theme on the page and tell those who draw. */
function wear(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  if (button) button.textContent = `Theme: ${theme}`;
  announce();
}

function announce() {
  document.dispatchEvent(new CustomEvent("gnomon-theme"));
}

function stored() {
  try {
    const theme = localStorage.getItem("gnomon-theme");
    return THEMES.includes(theme) ? theme : "auto";
  } catch {
    return "auto";
  }
}

function turn() {
  const next = THEMES[(THEMES.indexOf(stored()) + 1) % THEMES.length];
  try {
    localStorage.setItem("gnomon-theme", next);
  } catch {
    /* A browser that keeps nothing wears the theme until the next page. */
  }
  wear(next);
}

function typing(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName));
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  const help = document.getElementById("keys");
  if (event.key === "/" && document.getElementById("search")) {
    event.preventDefault();
    document.getElementById("search").focus();
  } else if (event.key === "?" && help) {
    help.showModal();
  } else if (event.key === "g") {
    window.location.assign("/");
  }
}

/** Read and write the query of the address, so that a view can be shared and reloaded. */
export function addressed(pause = 150) {
  let pending = {};
  let timer = 0;
  const write = () => {
    const url = new URL(window.location.href);
    for (const [key, value] of Object.entries(pending)) {
      url.searchParams.delete(key);
      const values = value === null || value === undefined || value === "" ? [] : [value].flat();
      for (const one of values) url.searchParams.append(key, String(one));
    }
    pending = {};
    window.history.replaceState(null, "", url);
  };
  return {
    get(key, fallback = null) {
      const found = new URL(window.location.href).searchParams.getAll(key);
      return found.length === 0 ? fallback : found.length === 1 ? found[0] : found;
    },
    set(values) {
      Object.assign(pending, values);
      window.clearTimeout(timer);
      timer = window.setTimeout(write, pause);
    },
  };
}

/** Make an element with text, attributes and children; nothing is ever read as markup. */
export function element(name, { text, children = [], ...attributes } = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** Return why the server refused something: what it says as JSON, or its code. */
export function refusal(status, text) {
  try {
    return JSON.parse(text).error;
  } catch {
    return `the server answered ${status}`;
  }
}

wear(stored());
window.addEventListener("pageshow", (event) => {
  if (event.persisted) wear(stored()); // another page may have changed it meanwhile
});
document.getElementById("theme")?.addEventListener("click", turn);
document.getElementById("keys-close")?.addEventListener("click", () => document.getElementById("keys").close());
document.getElementById("keys-open")?.addEventListener("click", () => document.getElementById("keys").showModal());
document.addEventListener("keydown", pressed);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", announce);
// Paper is light: what is drawn on a canvas takes its colours before the print, and takes the own ones again after it.
window.addEventListener("beforeprint", () => {
  document.documentElement.dataset.theme = "light";
  announce();
});
window.addEventListener("afterprint", () => wear(stored()));
