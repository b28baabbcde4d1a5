/**
 * Fetches a view and mounts the module that draws its kind; says so while it loads and when it cannot. Before the page
 * is printed, a view that has not arrived is fetched at once, as a print does not wait, and all are drawn in the
 * colours of the print.
 */

import { mount as motion } from "./motion.js";
import { mount as scene } from "./scene.js";
import { addressed, element, refusal } from "./shell.js";
import { mount as timeline } from "./timeline.js";
import { decode } from "./wire.js";

const KINDS = { timeline, scene, motion };
const mounted = new Map();

function say(host, text, kind) {
  host.replaceChildren(element("p", { text, class: kind, role: kind === "failure" ? "alert" : "status" }));
}

function fail(host, error) {
  say(host, `This view cannot be shown: ${error.message}`, "failure");
  const again = element("button", { text: "Try again", type: "button" });
  again.addEventListener("click", () => show(host));
  host.append(again);
}

/** Mount the view that the server sent. */
function place(host, buffer) {
  const view = decode(buffer);
  const mount = KINDS[view.kind];
  if (!mount) throw new Error(`nothing here can draw a view of kind ${view.kind}`);
  host.replaceChildren();
  for (const note of view.notes ?? []) host.append(element("p", { text: note, class: "note" }));
  const inner = element("div", { class: `view ${view.kind}` });
  host.append(inner);
  mounted.set(host, mount(inner, view.data, addressed()));
  host.dataset.ready = "yes";
}

async function show(host) {
  host.setAttribute("aria-busy", "true");
  say(host, "Loading…", "loading");
  try {
    const answer = await fetch(host.dataset.source);
    if (!answer.ok) throw new Error(refusal(answer.status, await answer.text()));
    const buffer = await answer.arrayBuffer();
    if (!mounted.has(host)) place(host, buffer); // unless a print was faster
  } catch (error) {
    fail(host, error);
  } finally {
    host.removeAttribute("aria-busy");
  }
}

/** Fetch and mount a view while the page waits; such a request gives text only, each character a byte. */
function showNow(host) {
  try {
    const request = new XMLHttpRequest();
    request.open("GET", host.dataset.source, false);
    request.overrideMimeType("text/plain; charset=x-user-defined");
    request.send();
    if (request.status !== 200) throw new Error(refusal(request.status, request.responseText));
    const text = request.responseText;
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i) & 255;
    place(host, bytes.buffer);
  } catch (error) {
    fail(host, error);
  }
}

const hosts = [...document.querySelectorAll("[data-source]")];
for (const host of hosts) show(host);
window.addEventListener("beforeprint", () => {
  for (const host of hosts) {
    if (!mounted.has(host)) showNow(host);
    mounted.get(host)?.draw();
  }
});
