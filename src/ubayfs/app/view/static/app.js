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
  // Give a box another value instead of the one that the server knows. What has been sent since then stays: the server
  // will hear of it; and so does what is being typed, unless it is taken back.
  show(id, value, before) {
    const box = document.getElementById(id);
    if (!box || known(box) !== before) return;
    box.known = value;
    if (value_of(box) === before) put(box, value); else box.typed_over = before;
  },
  // Text that was not accepted comes back, to be corrected.
  put_back(id, text) {
    const box = document.getElementById(id);
    if (box && !box.value) box.value = text;
  },
  // The tour is a matter of the browser: the address of the study that it leads through, or nothing.
  tour(study) { localStorage.setItem("ubayfs-tour", study); },
  forget(drafts) {
    const begin = `draft:${location.pathname}:${drafts}`;
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(begin)) sessionStorage.removeItem(key);
    for (const box of document.querySelectorAll(".aside")) if (draft_key(box).startsWith(begin)) box.value = "";
  },
  // Names that are chosen for a form are a draft: the one that was typed comes to those before, or one is taken out.
  put_aside(source, adds) {
    const control = source.closest(".control"), aside = control.querySelector(".aside");
    const others = [...control.querySelectorAll(".chips button")].filter((chip) => chip !== source).map((chip) => chip.textContent);
    const typed = adds ? source.value.trim() : "";
    aside.value = (adds ? [aside.value, typed] : others).filter(Boolean).join("\n");
    if (aside.dataset.draft) sessionStorage.setItem(draft_key(aside), aside.value);
    if (adds) source.value = "";
    return typed;
  },
};

const draft_key = (box) => `draft:${location.pathname}:${box.dataset.draft}`;
// Where Ctrl+Z takes back what is typed; a list takes keys, too.
const is_text = (box) => box && (box.matches?.("input:not([type=checkbox], [type=range]), textarea") || box.isContentEditable);
const value_of = (box) => (box.type === "checkbox" ? box.checked : box.value);
// The value of a box that the server knows: what it was drawn with, what was sent, or what the server has put there.
const known = (box) => box.known
  ?? (box.type === "checkbox" ? box.defaultChecked : box.querySelector?.("option[selected]")?.value ?? box.defaultValue ?? "");
const tell = (box) => { if (box.type === "range") box.nextElementSibling.textContent = box.value; };
const put = (box, value) => {
  if (box.type === "checkbox") box.checked = value; else box.value = value;
  tell(box);
  if (box.dataset.draft) sessionStorage.removeItem(draft_key(box));
};

document.addEventListener("input", (event) => {
  tell(event.target);
  if (event.target.dataset?.draft) sessionStorage.setItem(draft_key(event.target), event.target.value);
});
// A list that is pasted into a line is one with commas: a browser would glue its lines together.
document.addEventListener("paste", (event) => {
  const box = event.target, lines = event.clipboardData.getData("text").trim().split(/\s*[\r\n]+\s*/);
  if (box.tagName !== "INPUT" || lines.length < 2) return;
  event.preventDefault();
  document.execCommand("insertText", false, lines.join(", "));  // as if it were typed
});
// What is typed is sent when the box is left; if a button needs it (data-held), it is a draft until that is done.
// A browser takes it for a change, too, if the server has put another text there, as when it empties a box that is done.
document.addEventListener("change", (event) => {
  const box = event.target, is_typed = is_text(box) && !["file", "hidden"].includes(box.type);
  if (is_typed && box.closest(".field") && known(box) === box.value) event.stopPropagation();
}, true);
document.addEventListener("change", ({ target }) => {
  target.known = value_of(target);
  if (!target.dataset?.draft || "held" in target.dataset) return;
  const is_sent = () => target.isConnected && sessionStorage.getItem(draft_key(target)) === target.known;
  setTimeout(() => { if (is_sent()) sessionStorage.removeItem(draft_key(target)); });  // else it is drawn again, or more is typed
});
// A box whose text was taken back shows what is true by now; a draft of an earlier visit is sent as if it had been typed now.
const left = (box) => {
  const draft = box.dataset?.draft && sessionStorage.getItem(draft_key(box)) === box.value;
  if (box.typed_over !== undefined && box.typed_over === value_of(box)) put(box, box.known);
  else if (draft && known(box) !== box.value) box.dispatchEvent(new Event("change", { bubbles: true }));
  delete box.typed_over;
};
document.addEventListener("focusout", (event) => left(event.target));
// Enter is about what stood there: what is typed before a slow page comes to this is not sent yet.
document.addEventListener("keydown", ({ key, target }) => {
  if (key !== "Enter" || target.tagName !== "INPUT") return;
  const given = value_of(target);
  setTimeout(() => { if (value_of(target) === given) left(target); });
});
// A part that is drawn again keeps the focus: the new box with the same data-keep has it.
let kept = "";
document.addEventListener("focusin", (event) => { kept = event.target.dataset?.keep || ""; });
document.addEventListener("pointerdown", (event) => { if (!event.target.closest?.("[data-keep]")) kept = ""; });
new MutationObserver(() => {
  if (kept && document.activeElement === document.body) {
    document.querySelector(`[data-keep="${CSS.escape(kept)}"]`)?.focus({ preventScroll: true });
  }
  const study = localStorage.getItem("ubayfs-tour");
  for (const step of document.querySelectorAll(".tour[hidden]")) step.hidden = !study || !location.pathname.startsWith(study);
  for (const box of document.querySelectorAll("[data-draft]:not([data-restored])")) {
    box.dataset.restored = "yes";
    const kept = sessionStorage.getItem(draft_key(box));
    if (kept !== null && box.value !== kept) {
      box.value = kept;
      box.dispatchEvent(new Event("input", { bubbles: true }));
      if ("held" in box.dataset) box.dispatchEvent(new Event("change", { bubbles: true }));
    }
  }
}).observe(document.documentElement, { childList: true, subtree: true });

// Messages stay below the header, however many lines it has; on a narrow window it is scrolled away.
new ResizeObserver(([{ target }]) => {
  const header = target.querySelector(".top"), stays = header && getComputedStyle(header).position === "sticky";
  target.style.setProperty("--top", `${stays ? header.offsetHeight : 0}px`);
}).observe(document.documentElement);

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
  if (event.ctrlKey || event.metaKey || event.altKey || is_text(event.target) || event.target.tagName === "SELECT") return;
  const wanted = [...document.querySelectorAll(`[data-key="${CSS.escape(event.key)}"]`)];
  const button = wanted.find((each) => each.offsetParent && !each.disabled);
  if (button) { event.preventDefault(); button.click(); }
});
// The token opens this page once more, after the server was started anew; else nobody needs to see it.
addEventListener("hashchange", () => { if (location.hash.startsWith("#token=")) location.reload(); });
if (location.hash.startsWith("#token=")) history.replaceState(null, "", location.pathname + location.search);
