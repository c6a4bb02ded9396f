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
  const words = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const parts = all(`#${button.dataset.copy} > *`).map(part => part.textContent);
    button.textContent = await copy(parts.join("\n")).then(() => "Copied", () => "Not copied: the browser does not allow it");
    setTimeout(() => { button.textContent = words; }, 1500);
  });
}

const collator = new Intl.Collator(undefined, { numeric: true });
// A hard constraint is stricter than any number; what has no number is not known.
function number(text) {
  const found = text.replace(/,/g, "").match(/[-+]?\d+(\.\d+)?(e[-+]?\d+)?/i);
  if (!found) return text === "hard" ? Infinity : null;
  return parseFloat(found[0]) - (text[0] === "<" ? 1e-9 : 0);
}
// Sorts a table by a column; what is not known is last. A third click gives the order of the report back.
function sortBy(table, place, report) {
  const heading = table.tHead.rows[0].cells[place], numeric = heading.classList.contains("number");
  const orders = numeric ? ["descending", "ascending"] : ["ascending", "descending"];
  const order = orders[orders.indexOf(heading.getAttribute("aria-sort")) + 1];
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  if (!order) return table.tBodies[0].append(...report);
  heading.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const keyed = report.map(row => {
    const text = row.cells[place].textContent.trim();
    return { row, key: numeric ? number(text) : text || null };
  });
  const [known, unknown] = [keyed.filter(({ key }) => key !== null), keyed.filter(({ key }) => key === null)];
  known.sort((a, b) => sign * (numeric ? (a.key > b.key) - (a.key < b.key) : collator.compare(a.key, b.key)));
  table.tBodies[0].append(...[...known, ...unknown].map(({ row }) => row));
}
for (const table of all("table.table")) {
  const report = Array.from(table.tBodies[0].rows);
  if (report.length < 2) continue;
  Array.from(table.tHead.rows[0].cells).forEach((heading, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sortBy(table, place, report));
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
