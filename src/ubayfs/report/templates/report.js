"use strict";
const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
for (const button of all("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await copy(all(`#${button.dataset.copy} > *`).map(part => part.textContent).join("\n"));
    const words = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1500);
  });
}

const collator = new Intl.Collator(undefined, { numeric: true });
function number(cell) {
  const found = cell.textContent.replace(/,/g, "").match(/[-+]?\d+(\.\d+)?(e[-+]?\d+)?/i);
  return found ? parseFloat(found[0]) - (cell.textContent.trim()[0] === "<" ? 1e-9 : 0) : -Infinity;
}
function sortBy(table, place) {
  const heading = table.tHead.rows[0].cells[place], numeric = heading.classList.contains("number");
  const down = heading.getAttribute("aria-sort") ? heading.getAttribute("aria-sort") === "ascending" : numeric;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const order = (a, b) => numeric ? number(a) - number(b) : collator.compare(a.textContent, b.textContent);
  const rows = Array.from(table.tBodies[0].rows);
  rows.sort((a, b) => (down ? -1 : 1) * order(a.cells[place], b.cells[place]));
  table.tBodies[0].append(...rows);
}
for (const table of all("table.table")) {
  if (table.tBodies[0].rows.length < 2) continue;
  Array.from(table.tHead.rows[0].cells).forEach((heading, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortBy(table, place));
    heading.append(button);
  });
}

const folded = all("details.section");
const unfold = document.getElementById("unfold");
if (unfold) {
  unfold.hidden = folded.length === 0;
  unfold.addEventListener("click", () => {
    const open = folded.some(section => !section.open);
    for (const section of folded) section.open = open;
    unfold.textContent = open ? "Close all sections" : "Open all sections";
  });
}
function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const section = target && target.closest("details");
  if (section) {
    section.open = true;
    target.scrollIntoView();
  }
}
addEventListener("hashchange", openTarget);
openTarget();
