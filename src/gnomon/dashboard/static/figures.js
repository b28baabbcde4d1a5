/**
 * Figures are drawn by the server when they come into sight, and put into the page as vectors. Before the page is
 * printed, those that have not been in sight yet are fetched at once: a print does not wait for an answer that comes
 * later, so this is the one place where a request blocks the page.
 */

import { element, refusal } from "./shell.js";

/** Put a drawing into the page; `text` is the answer of the server. */
function place(host, text) {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (root.nodeName !== "svg") throw new Error("what came is no picture");
  host.replaceChildren(document.importNode(root, true));
  host.dataset.ready = "yes";
}

function fail(host, error) {
  host.replaceChildren(element("p", { text: `This figure cannot be drawn: ${error.message}`, class: "failure" }));
  host.dataset.ready = "no";
}

async function draw(host) {
  try {
    const answer = await fetch(host.dataset.figure);
    const text = await answer.text();
    if (host.dataset.ready === "yes") return; // a print was faster
    if (!answer.ok) throw new Error(refusal(answer.status, text));
    place(host, text);
  } catch (error) {
    fail(host, error);
  }
}

function drawNow(host) {
  try {
    const request = new XMLHttpRequest();
    request.open("GET", host.dataset.figure, false);
    request.send();
    if (request.status !== 200) throw new Error(refusal(request.status, request.responseText));
    place(host, request.responseText);
  } catch (error) {
    fail(host, error);
  }
}

const hosts = [...document.querySelectorAll("[data-figure]")];
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
for (const host of hosts) seen.observe(host);
window.addEventListener("beforeprint", () => {
  for (const host of hosts.filter((item) => item.dataset.ready !== "yes")) {
    seen.unobserve(host);
    drawNow(host);
  }
});
