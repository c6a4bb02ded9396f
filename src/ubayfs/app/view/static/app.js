// Keys, drafts and uploads: what needs the browser itself.
"use strict";
window.ubayfs = {
  // Send a file as it is: the browser reads it from disk in pieces, the server writes each piece at once.
  upload(file, address, on_progress) {
    return new Promise((done) => {
      const request = new XMLHttpRequest();
      request.open("POST", `${address}?name=${encodeURIComponent(file.name)}`);
      request.upload.onprogress = (event) => on_progress(event.loaded, event.total || file.size);
      request.onload = () => {
        let answer = {};
        try { answer = JSON.parse(request.responseText); } catch (error) { answer = { error: request.statusText }; }
        done(request.status === 200 ? answer : { error: answer.error || answer.detail || `The server answered ${request.status}.` });
      };
      request.onerror = () => done({ error: "The connection was lost while the file was sent; choose it again." });
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.send(file);
    });
  },
  async may_upload(file, address) {
    try {
      return await (await fetch(`${address}?name=${encodeURIComponent(file.name)}&size=${file.size}`)).json();
    } catch (error) {
      return { error: "The server cannot be reached; choose the file again." };
    }
  },
  // Send the files of an input one after another; `emit` reports what became of each.
  async upload_all(input, files, address, emit) {
    const meter = input.closest(".drop").querySelector("progress");
    for (const file of files) {
      meter.hidden = false;
      const may = await this.may_upload(file, address);  // before anything is sent
      const answer = may.error ? may
        : await this.upload(file, address, (loaded, total) => { meter.max = total; meter.value = loaded; });
      meter.hidden = true;
      emit({ name: file.name, ...answer });
    }
    input.value = "";
  },
  // Give a box another value, unless somebody is typing there.
  show(id, value, force) {
    const box = document.getElementById(id);
    if (!box || (!force && box === document.activeElement && box.type !== "checkbox" && box.tagName !== "SELECT")) return;
    if (box.type === "checkbox") box.checked = value; else box.value = value;
    if (box.dataset.draft) sessionStorage.removeItem(draft_key(box));
  },
  // The tour is a matter of the browser: on or off in all of its pages.
  tour(state) {
    localStorage.setItem("ubayfs-tour", state);
    for (const step of document.querySelectorAll(".tour")) step.hidden = state !== "on";
  },
  forget(draft) { sessionStorage.removeItem(`draft:${location.pathname}:${draft}`); },
};

const draft_key = (box) => `draft:${location.pathname}:${box.dataset.draft}`;
const is_text = (box) => box && (box.matches?.("input:not([type=checkbox]), textarea, select") || box.isContentEditable);

document.addEventListener("input", (event) => {
  if (event.target.dataset?.draft) sessionStorage.setItem(draft_key(event.target), event.target.value);
});
// What was typed into a box of one line is handed on when it changes; a text of several lines by its own button.
document.addEventListener("change", (event) => {
  if (event.target.dataset?.draft && event.target.tagName === "INPUT") sessionStorage.removeItem(draft_key(event.target));
});
// A part that is drawn again keeps the focus: the new box with the same data-keep has it.
let kept = "";
document.addEventListener("focusin", (event) => { kept = event.target.dataset?.keep || ""; });
document.addEventListener("pointerdown", (event) => { if (!event.target.closest?.("[data-keep]")) kept = ""; });
new MutationObserver(() => {
  if (kept && document.activeElement === document.body) {
    document.querySelector(`[data-keep="${CSS.escape(kept)}"]`)?.focus({ preventScroll: true });
  }
  for (const step of document.querySelectorAll(".tour[hidden]")) step.hidden = localStorage.getItem("ubayfs-tour") !== "on";
  for (const box of document.querySelectorAll("[data-draft]:not([data-restored])")) {
    box.dataset.restored = "yes";
    const kept = sessionStorage.getItem(draft_key(box));
    if (kept !== null && box.value !== kept) {
      box.value = kept;
      box.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
}).observe(document.documentElement, { childList: true, subtree: true });

// On a narrow window the row of screens is longer than what is seen of it.
const shown = setInterval(() => {
  const current = document.querySelector("nav.screens a[aria-current]");
  if (current) { clearInterval(shown); current.parentElement.scrollLeft = current.offsetLeft - 40; }
}, 100);

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || is_text(event.target)) return;
  const key = event.key.toLowerCase();
  const wanted = key === "z" ? (event.shiftKey ? "redo" : "undo") : key === "y" ? "redo" : "";
  const button = wanted && document.getElementById(wanted);
  if (button) { event.preventDefault(); button.click(); }
});

// Keys of buttons, such as those of a question: not while somebody types.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || is_text(event.target)) return;
  const wanted = [...document.querySelectorAll(`[data-key="${CSS.escape(event.key)}"]`)];
  const button = wanted.find((each) => each.offsetParent && !each.disabled);
  if (button) { event.preventDefault(); button.click(); }
});
