/** Evaluations under way: told by the server as they go on. */

import { element } from "./shell.js";

const WORDS = {
  running: "running",
  ended: "ended",
  interrupted: "interrupted",
  quiet: "not heard of for a while: stopped?",
};
const host = document.getElementById("live");
let latest = [];
let ended = 0;

function ago(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s ago`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3600)} h ago`;
}

function left(work) {
  const spent = work.at - work.begun;
  const rest = work.total - work.done - work.failed;
  if (work.state !== "running" || work.done === 0 || spent <= 0 || rest <= 0) return "";
  const seconds = (spent / work.done) * rest;
  return seconds < 90 ? `about ${Math.round(seconds)} s left` : `about ${Math.round(seconds / 60)} min left`;
}

function card(work) {
  const name = work.folder === "" ? "this folder" : work.folder;
  const counts = `${work.done} of ${work.total} done${work.failed ? `, ${work.failed} failed` : ""}`;
  const said = [WORDS[work.state], counts, left(work), ago(Date.now() / 1000 - work.at)].filter(Boolean).join(" · ");
  const bar = element("progress", { max: Math.max(1, work.total), value: work.done, "aria-label": `${name}: ${counts}` });
  const now = [...work.now.map((item) => `now: ${item}`), work.said].filter(Boolean);
  const lines = now.map((text) => element("li", { text }));
  const children = [element("strong", { text: name }), bar, element("span", { text: said, class: "quiet" })];
  if (lines.length) children.push(element("ul", { children: lines }));
  return element("article", { class: `work ${work.state}`, children });
}

function show() {
  host.hidden = latest.length === 0;
  host.querySelector(".works").replaceChildren(...latest.map(card));
}

if (host) {
  const source = new EventSource("/live");
  source.addEventListener("work", (event) => {
    latest = JSON.parse(event.data);
    const over = latest.filter((work) => work.state === "ended").length;
    if (ended && over > ended) document.getElementById("filter")?.requestSubmit();
    ended = Math.max(1, over);
    show();
  });
  window.setInterval(show, 10000);
  window.addEventListener("pagehide", () => source.close());
}
