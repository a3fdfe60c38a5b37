"use strict";
const root = document.documentElement, told = document.getElementById("told");
const dark = matchMedia("(prefers-color-scheme:dark)"), theme = document.getElementById("theme");
const kept = (value) => {
  try {
    if (value) localStorage.setItem("tidepool-theme", value);
    return localStorage.getItem("tidepool-theme");
  } catch { return null; } // a file that may keep nothing
};
const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
const name = () => { theme.textContent = isDark() ? "Light colours" : "Dark colours"; };
if (["light", "dark"].includes(kept())) root.dataset.theme = kept();
theme.hidden = false;
theme.addEventListener("click", () => { root.dataset.theme = kept(isDark() ? "light" : "dark") || (isDark() ? "light" : "dark"); name(); });
dark.addEventListener("change", name);
name();

const number = (text) => {
  const found = text.replace(/[$,%]/g, "").match(/^-?\d+(\.\d+)?$/);
  return found ? Number(found[0]) : null;
};
const compare = (one, other) => {
  const [a, b] = [number(one), number(other)];
  return a !== null && b !== null ? a - b : one.localeCompare(other, "en", { numeric: true });
};
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const way = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      const sign = way === "ascending" ? 1 : -1;
      const text = (row) => row.cells[column].textContent.trim();
      body.append(...[...body.rows].sort((a, b) => sign * compare(text(a), text(b))));
      heads.forEach((each) => each.setAttribute("aria-sort", each === head ? way : "none"));
      told.textContent = `${table.caption.textContent}: sorted by ${button.textContent}, ${way}`;
    });
  });
}

const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries.filter((each) => each.isIntersecting)) {
    links.forEach((link) => link.removeAttribute("aria-current"));
    links.get(entry.target.id)?.setAttribute("aria-current", "true");
  }
}, { rootMargin: "-10% 0px -80% 0px" });
document.querySelectorAll("main > section").forEach((section) => seen.observe(section));

let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  opened.forEach((each) => { each.open = true; });
});
addEventListener("afterprint", () => opened.forEach((each) => { each.open = false; }));
