/** Fetches a view and mounts the module that draws its kind; says so while it loads and when it cannot. */

import { addressed, element } from "./shell.js";
import { decode } from "./wire.js";

const KINDS = { timeline: "./timeline.js", scene: "./scene.js", motion: "./motion.js" };

function say(host, text, kind) {
  host.replaceChildren(element("p", { text, class: kind, role: kind === "failure" ? "alert" : "status" }));
}

async function fetched(address) {
  const answer = await fetch(address);
  if (answer.ok) return decode(await answer.arrayBuffer());
  const told = await answer.json().catch(() => ({}));
  throw new Error(told.error ?? `the server answered ${answer.status}`);
}

async function show(host) {
  host.setAttribute("aria-busy", "true");
  say(host, "Loading…", "loading");
  try {
    const view = await fetched(host.dataset.source);
    const module = KINDS[view.kind];
    if (!module) throw new Error(`nothing here can draw a view of kind ${view.kind}`);
    const { mount } = await import(module);
    host.replaceChildren();
    for (const note of view.notes ?? []) host.append(element("p", { text: note, class: "note" }));
    const inner = element("div", { class: `view ${view.kind}` });
    host.append(inner);
    mount(inner, view.data, addressed());
    host.dataset.ready = "yes";
  } catch (error) {
    say(host, `This view cannot be shown: ${error.message}`, "failure");
    const again = element("button", { text: "Try again", type: "button" });
    again.addEventListener("click", () => show(host));
    host.append(again);
  } finally {
    host.removeAttribute("aria-busy");
  }
}

for (const host of document.querySelectorAll("[data-source]")) show(host);
