// What the site does for its reader: a menu on small screens, buttons that copy code, and a search. Without a script
// every page is whole and the list of pages is open. The index of the search is loaded when somebody first searches.
(function () {
  "use strict";
  const MOST = 30, AROUND = 90;
  document.documentElement.classList.add("js");

  function menu() {
    const button = document.getElementById("site-menu"), side = document.getElementById("site-pages");
    button.hidden = false;
    button.addEventListener("click", () => {
      const open = side.classList.toggle("open");
      button.setAttribute("aria-expanded", String(open));
    });
    const current = side.querySelector("[aria-current]");
    if (current && side.scrollHeight > side.clientHeight) side.scrollTop = current.offsetTop - side.clientHeight / 2;
  }

  async function copy(button) {
    const text = button.dataset.text ?? button.parentElement.querySelector("code").textContent;
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      said = byHand(text) ? "Copied" : "Not allowed";
    }
    button.textContent = said;
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }

  function byHand(text) {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }

  function copying() {
    for (const button of document.querySelectorAll("button.copy")) {
      button.hidden = false;
      button.addEventListener("click", () => copy(button));
    }
  }

  let loading = null;
  function index() {
    loading ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = document.body.dataset.root + "assets/search-index.js";
      script.onload = () => resolve(window.gnomonIndex.map(([address, title, part, words]) => ({
        address, title, part, words, low: [part || title, title, words].map((text) => text.toLowerCase()),
      })));
      script.onerror = () => reject(new Error("the index of the search is missing"));
      document.head.append(script);
    });
    return loading;
  }

  function starts(text, word) {
    const place = text.indexOf(word);
    return place === 0 || (place > 0 && /[^\p{L}\p{N}]/u.test(text[place - 1]));
  }

  function worth(row, words) {
    let sum = 0;
    for (const word of words) {
      const [own, title, text] = row.low;
      let best = 0;
      if (own === word) best = 100;
      else if (starts(own, word)) best = 40;
      else if (own.includes(word)) best = 25;
      else if (starts(title, word)) best = 12;
      else if (starts(text, word)) best = 6;
      else if (text.includes(word) || title.includes(word)) best = 3;
      if (!best) return 0;
      sum += best;
    }
    return sum + (row.part ? 0 : 2) + (/^(reference|decisions|source)\//.test(row.address) ? 0 : 15);
  }

  function around(row, words) {
    const place = Math.max(0, row.low[2].indexOf(words[0]));
    const from = Math.max(0, place - AROUND / 2);
    return (from ? "…" : "") + row.words.slice(from, from + 2 * AROUND) + (from + 2 * AROUND < row.words.length ? "…" : "");
  }

  function shown(row, words) {
    const item = document.createElement("li"), link = document.createElement("a");
    const title = document.createElement("b"), more = document.createElement("small");
    link.href = document.body.dataset.root + row.address;
    title.textContent = row.part || row.title;
    more.textContent = (row.part ? row.title + ": " : "") + around(row, words);
    link.append(title, more);
    item.append(link);
    return item;
  }

  async function search(input, box) {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const count = document.getElementById("site-found-count"), list = document.getElementById("site-found-list");
    box.hidden = !words.length;
    if (!words.length) return;
    let rows;
    try { rows = await index(); } catch (error) { count.textContent = error.message; return; }
    if (words.join(" ") !== input.value.toLowerCase().split(/\s+/).filter(Boolean).join(" ")) return;
    const found = rows.map((row, place) => ({ row, place, worth: worth(row, words) })).filter((one) => one.worth);
    found.sort((a, b) => b.worth - a.worth || a.place - b.place);
    count.textContent = found.length > MOST ? `${found.length} places, the first ${MOST}` : `${found.length} places`;
    list.replaceChildren(...found.slice(0, MOST).map((one) => shown(one.row, words)));
  }

  function step(box, input, by) {
    const links = [...box.querySelectorAll("a")];
    const next = links.indexOf(document.activeElement) + by;
    (next < 0 ? input : links[Math.min(next, links.length - 1)] ?? input).focus();
  }

  function searching() {
    const input = document.getElementById("site-search"), box = document.getElementById("site-found");
    input.closest(".search").hidden = false;
    input.addEventListener("focus", () => { index().catch(() => {}); });
    input.addEventListener("input", () => search(input, box));
    input.closest(".search").addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        step(box, input, event.key === "ArrowDown" ? 1 : -1);
      } else if (event.key === "Enter" && event.target === input) {
        box.querySelector("a")?.click();
      } else if (event.key === "Escape") {
        box.hidden = true;
        input.focus();
      }
    });
    document.addEventListener("keydown", (event) => {
      const writing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
      if (event.key === "/" && !writing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        input.focus();
        input.select();
      }
    });
    document.addEventListener("click", (event) => { if (!event.target.closest(".search")) box.hidden = true; });
  }

  document.addEventListener("DOMContentLoaded", () => { menu(); copying(); searching(); });
})();
