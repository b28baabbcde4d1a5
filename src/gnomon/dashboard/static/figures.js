/** Figures are drawn by the server when they come into sight, and put into the page as vectors. */

import { element } from "./shell.js";

async function draw(host) {
  const waiting = host.querySelector(".loading");
  try {
    const answer = await fetch(host.dataset.figure);
    if (!answer.ok) {
      const told = await answer.json().catch(() => ({}));
      throw new Error(told.error ?? `the server answered ${answer.status}`);
    }
    const parsed = new DOMParser().parseFromString(await answer.text(), "image/svg+xml");
    const root = parsed.documentElement;
    if (root.nodeName !== "svg") throw new Error("what came is no picture");
    host.replaceChildren(document.importNode(root, true));
    host.dataset.ready = "yes";
  } catch (error) {
    waiting?.replaceWith(element("p", { text: `This figure cannot be drawn: ${error.message}`, class: "failure" }));
    host.dataset.ready = "no";
  }
}

const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        seen.unobserve(entry.target);
        draw(entry.target);
      }
    }
  },
  { rootMargin: "400px" },
);
for (const host of document.querySelectorAll("[data-figure]")) seen.observe(host);
