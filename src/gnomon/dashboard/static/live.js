/** Evaluations under way: told by the server as they go on, as long as somebody looks. */

import { element } from "./shell.js";

const WORDS = {
  running: "running",
  ended: "ended",
  interrupted: "interrupted",
  quiet: "not heard of for a while: stopped?",
};
const host = document.getElementById("live");
let latest = [];
let states = new Map();
let listed = null;
let source = null;
let last = null;
let pass = null;

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

function named(work) {
  return work.folder === "" ? "this folder" : work.folder;
}

function card(work) {
  const counts = `${work.done} of ${work.total} done${work.failed ? `, ${work.failed} failed` : ""}`;
  const said = [WORDS[work.state], counts, left(work), ago(Date.now() / 1000 - work.at)].filter(Boolean).join(" · ");
  const label = `${named(work)}: ${counts}`;
  const bar = element("progress", { max: Math.max(1, work.total), value: work.done, "aria-label": label });
  const now = [...work.now.map((item) => `now: ${item}`), work.said].filter(Boolean);
  const children = [element("strong", { text: named(work) }), bar, element("span", { text: said, class: "quiet" })];
  if (now.length) children.push(element("ul", { children: now.map((text) => element("li", { text })) }));
  return element("article", { class: `work ${work.state}`, children });
}

function show() {
  host.hidden = latest.length === 0;
  host.querySelector(".works").replaceChildren(...latest.map(card));
}

/** Say what changed its state, and nothing else, to those who listen. */
function tell() {
  const before = states;
  states = new Map(latest.map((work) => [work.folder, work.state]));
  const changed = latest.filter((work) => before.get(work.folder) !== work.state);
  if (changed.length) {
    document.getElementById("told").textContent = changed.map((work) => `${named(work)}: ${WORDS[work.state]}`).join("; ");
  }
}

function take(text) {
  const found = JSON.parse(text);
  latest = found.works;
  if (listed !== null && listed !== found.runs) document.dispatchEvent(new CustomEvent("gnomon-runs"));
  listed = found.runs;
  tell();
  show();
}

/** Follow the server itself; `pass` hands on what it says to other pages. */
function follow() {
  source = new EventSource("/live");
  source.addEventListener("work", (event) => {
    last = event.data;
    take(last);
    pass(last);
  });
}

function stop() {
  source?.close();
  source = null;
}

/** A browser has few connections to one server: of all its pages one follows the server and tells the others. */
function share() {
  const channel = new BroadcastChannel("gnomon-live");
  channel.addEventListener("message", ({ data }) => {
    if (data.told) take(data.told);
    else if (source && last) channel.postMessage({ told: last });
  });
  channel.postMessage({ asked: true });
  navigator.locks.request("gnomon-live", () => {
    pass = (told) => channel.postMessage({ told });
    follow();
    return new Promise(() => {});
  });
}

/** Without that (not on loopback, no encryption) a page that nobody sees gives its connection back. */
function alone() {
  pass = () => {};
  if (document.visibilityState === "visible") source ?? follow();
  else stop();
}

if (host) {
  if (navigator.locks && window.BroadcastChannel) {
    share();
  } else {
    alone();
    document.addEventListener("visibilitychange", alone);
  }
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", (event) => {
    if (event.persisted && pass && !source) follow(); // back on a page that the browser kept
  });
  window.setInterval(() => latest.length && show(), 10000);
}
