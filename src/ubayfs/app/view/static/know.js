// The table of features: rows come over HTTP, edits of any tab as transactions; keys give words.
"use strict";
window.ubayfs.features = {
  words: ["very likely", "likely", "neutral", "unlikely"],
  needle: "", shown: "all", narrow: false, votes: false, blocks: true, layout: "false false true", early: null, missed: null,
  ready(api, address) {
    this.api = api;
    this.box = document.querySelector(".features");
    this.box.addEventListener("keydown", (event) => this.key(event), true);
    for (const type of ["modelUpdated", "selectionChanged"]) api.addEventListener(type, () => this.count());
    const narrow = window.matchMedia("(max-width: 40rem)");
    narrow.addEventListener("change", () => this.fit(narrow.matches));
    this.fit(narrow.matches);
    this.load(address);
  },
  async load(address) {
    this.address = address || this.address;
    const early = this.early, missed = this.missed = [];
    this.early = null;  // what was asked for while the page was being drawn
    const answer = await (early || this.fetch(this.address));
    if (missed !== this.missed) return;  // it is asked for anew
    this.missed = null;
    const { names = [], blocks, stated = {}, votes } = answer;
    this.votes = Boolean(votes);
    this.blocks = Boolean(blocks);
    this.fit(window.matchMedia("(max-width: 40rem)").matches);
    const rows = names.map((n, i) => {
      const [w, y] = stated[i] || [null, ""];
      return { i, n, b: blocks ? blocks[i] : "", w, y, v: votes ? votes[i] : null };
    });
    // What is stated comes first; a row that is edited later stays where it is.
    this.api.setGridOption("rowData", [...rows.filter((row) => row.w !== null), ...rows.filter((row) => row.w === null)]);
    missed.forEach((rows) => this.change(rows));  // the answer may be older
  },
  async fetch(address) { return (await fetch(address)).json(); },
  // Rows that changed: position, votes or word, why.
  change(rows) {
    this.missed?.push(rows);
    const update = rows.filter(([i]) => this.api.getRowNode(String(i))).map(([i, w, y]) => {
      return { ...this.api.getRowNode(String(i)).data, w, y, f: undefined };
    });
    this.api.applyTransaction({ update });
  },
  // Control characters could hide or reverse the text beside them.
  visible(text) {
    return String(text ?? "").replace(/[\p{C}\u2028\u2029]/gu, (c) => {
      const hex = c.codePointAt(0).toString(16);
      return hex.length < 3 ? `\\x${hex.padStart(2, "0")}` : `\\u${hex.padStart(4, "0")}`;
    });
  },
  filter(needle, shown) {
    this.needle = needle === null ? this.needle : needle.trim().toLowerCase();
    this.shown = shown === null ? this.shown : shown;
    this.api.onFilterChanged();
  },
  filtering() { return Boolean(this.needle) || this.shown !== "all"; },
  passes(row) {
    const stated = row.w !== null && row.w !== undefined;
    if (this.shown !== "all" && stated !== (this.shown === "stated")) return false;
    row.f ??= `${row.n}\n${row.b}\n${row.y || ""}`.toLowerCase();
    return !this.needle || row.f.includes(this.needle);
  },
  // Columns on a wide window, cards on a narrow one.
  fit(narrow) {
    const layout = `${narrow} ${this.votes} ${this.blocks}`;
    if (layout === this.layout) return;
    if (this.narrow !== narrow) {
      this.api.setColumnsVisible(["n", "b", "w", "y"], !narrow);
      this.api.setColumnsVisible(["card"], narrow);
      this.api.setGridOption("rowHeight", narrow ? 92 : 38);
      this.api.resetRowHeights();
    }
    this.api.setColumnsVisible(["b"], !narrow && this.blocks);
    this.api.setColumnsVisible(["v"], !narrow && Boolean(this.votes));
    this.layout = layout;
    this.narrow = narrow;
  },
  count() {
    const of = this.api.getGridOption("rowData")?.length || 0;
    const chosen = this.api.getSelectedNodes().length;
    const place = document.querySelector(".features-count");
    const text = `${this.api.getDisplayedRowCount().toLocaleString("en-US")} of ${of.toLocaleString("en-US")} shown`
      + (chosen ? `, ${chosen.toLocaleString("en-US")} selected` : "");
    if (place && place.textContent !== text) place.textContent = text;
  },
  // From the search to the first row.
  enter(event) {
    if (!["ArrowDown", "Enter"].includes(event.key) || !this.api.getDisplayedRowCount()) return;
    event.preventDefault();
    this.api.ensureIndexVisible(0);
    this.api.setFocusedCell(0, this.api.getColumn("card").isVisible() ? "card" : "n");
  },
  // State something of the selected features, or else of the one in focus.
  state(word, why) {
    let nodes = this.api.getSelectedNodes();
    const cell = this.api.getFocusedCell();
    if (!nodes.length && cell) nodes = [this.api.getDisplayedRowAtIndex(cell.rowIndex)];
    this.send(nodes.filter(Boolean).map((node) => node.data), word, why);
    this.api.deselectAll();
  },
  send(rows, word, why) {
    const detail = { rows: rows.map((row) => row.i), first: rows.length ? rows[0].n : "", word, why };
    this.box.dispatchEvent(new CustomEvent("stated", { detail }));
  },
  edited(event) {
    const { data, colDef, newValue, oldValue } = event;
    const text = String(newValue ?? "").trim();
    if (text === String(oldValue ?? "")) return;
    if (colDef.field === "w") this.send([data], text === "" ? null : text, null);
    else this.send([data], data.w ?? null, text);
  },
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
    const word = { 1: 0, 2: 1, 3: 2, 4: 3 }[event.key];
    if (word === undefined && !["0", "Delete", "Backspace"].includes(event.key)) return;
    event.preventDefault(); event.stopPropagation();
    this.state(word === undefined ? null : this.words[word], null);
  },
  // A feature as a card, for narrow screens.
  card({ data }) {
    const box = document.createElement("div");
    box.className = "card";
    const parts = [["name", data.n], ["word", data.w === null ? "nothing stated" : String(data.w)],
      ["why", [data.b, data.y, data.v === null ? "" : `${data.v} vote${data.v === 1 ? "" : "s"}`].filter(Boolean).join(" · ")]];
    for (const [kind, text] of parts) {
      const line = document.createElement("div");
      line.className = kind; line.dir = "auto"; line.textContent = this.visible(text);
      box.append(line);
    }
    return box;
  },
};
if (/\/know$/.test(location.pathname)) {
  window.ubayfs.features.early = window.ubayfs.features.fetch(location.pathname.replace(/know$/, "features.json") + location.search);
}
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const search = document.querySelector("[data-search]");
  if (search) { event.preventDefault(); search.focus(); search.select(); }
});
