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
  // Send the files of an input one after another; what became of each is told by `emit`.
  async upload_all(input, files, address, emit) {
    const meter = input.closest(".drop").querySelector("progress");
    for (const file of files) {
      meter.hidden = false;
      const answer = await this.upload(file, address, (loaded, total) => { meter.max = total; meter.value = loaded; });
      meter.hidden = true;
      emit({ name: file.name, ...answer });
    }
    input.value = "";
  },
  forget(draft) { sessionStorage.removeItem(`draft:${location.pathname}:${draft}`); },
};

const draft_key = (box) => `draft:${location.pathname}:${box.dataset.draft}`;
const is_text = (box) => box && (box.matches?.("input:not([type=checkbox]), textarea, select") || box.isContentEditable);

document.addEventListener("input", (event) => {
  if (event.target.dataset?.draft) sessionStorage.setItem(draft_key(event.target), event.target.value);
});
new MutationObserver(() => {
  for (const box of document.querySelectorAll("[data-draft]:not([data-restored])")) {
    box.dataset.restored = "yes";
    const kept = sessionStorage.getItem(draft_key(box));
    if (kept !== null && box.value !== kept) {
      box.value = kept;
      box.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
}).observe(document.documentElement, { childList: true, subtree: true });

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || is_text(event.target)) return;
  const key = event.key.toLowerCase();
  const wanted = key === "z" ? (event.shiftKey ? "redo" : "undo") : key === "y" ? "redo" : "";
  const button = wanted && document.getElementById(wanted);
  if (button) { event.preventDefault(); button.click(); }
});
