/** A board follows its choices at once. */

const form = document.querySelector("form.filter");
form?.addEventListener("change", () => form.requestSubmit());
// Back to a page that the browser kept: its choices still show where it was left for, not what it shows.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) form?.reset();
});
