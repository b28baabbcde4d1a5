/** A board follows its choices at once. */

const form = document.querySelector("form.filter");
form?.addEventListener("change", () => form.requestSubmit());
