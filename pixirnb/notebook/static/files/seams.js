// Seams: places where the work of several steps must fit together. Open ones come first, each with a note to write and a button; what
// was typed is kept while lists are drawn again.

import { sendAction } from "../actions/action_buttons.js";
import { codeList } from "../dom/content.js";
import { button, h } from "../dom/elements.js";
import { pluralize } from "../dom/formatting.js";
import { KIND } from "../state/run_history.js";

const FILE_EVENTS = new Set(["merge_applied", "merge_conflicted", "seam_opened", "seam_resolved"]);

/** Whether some of these entries of the tape are about merges or seams: those concern steps that they do not name. */
export function concernsFiles(store, entries) {
  return entries.some((entry) => FILE_EVENTS.has(store.vocabulary.told[entry[KIND]]));
}

/** A list of seams. `choose` shows a step by its name; `requestRefresh` asks the kernel again once one is resolved. */
export function seamList(seams, store, { statusMessage, choose, requestRefresh }) {
  return h("ul", { class: "pixirnb-seams" }, seams.map((seam) => h("li", {}, seamNodes(seam, store, { statusMessage, choose, requestRefresh }))));
}

function seamNodes({ seam, is_open: isOpen, reason, between, paths, paths_count: count, note, aside, by, resolution, wish }, store, { statusMessage, choose, requestRefresh }) {
  const state = isOpen ? h("b", { class: "pixirnb-ask" }, "open") : h("b", { class: "pixirnb-ready" }, "resolved");
  const sides = between.flatMap((name, index) => [
    index ? " and " : "",
    store.stepOf.has(name) ? sideButton(name, choose) : h("span", {}, name === "workspace" ? "your files" : name),
  ]);
  return [
    h("div", {}, h("code", {}, seam), " ", state, " between ", sides, reason ? `: ${reason}` : ""),
    paths.length ? h("div", {}, codeList(paths, 8, count)) : null,
    note ? h("div", {}, h("span", { class: "pixirnb-quote" }, note)) : null,
    isOpen ? null : h("div", { class: "pixirnb-mute" }, by ? `By ${by}: ` : "", resolution),
    wish && aside ? h("div", { class: "pixirnb-mute" }, aside) : null,
    wish ? seamForm(seam, wish, store, { statusMessage, requestRefresh }) : null,
  ];
}

function sideButton(name, choose) {
  const link = button(name, () => choose(name), { kind: "pixirnb-slight", title: "Show this step" });
  link.setAttribute("aria-label", `Show ${name}`);
  return link;
}

function seamForm(seam, wish, store, { statusMessage, requestRefresh }) {
  const typed = (store.seamNotes ??= new Map());
  const note = h("input", { type: "text", class: "pixirnb-field pixirnb-grow", maxlength: 2000, autocomplete: "off", "aria-label": `Why the changes at seam ${seam} are compatible`, placeholder: "Why these changes are compatible", on: { input: () => typed.set(seam, note.value) } });
  note.value = typed.get(seam) ?? "";
  const send = h("button", { type: "submit", class: "pixirnb-button" }, "Resolve");
  send.setAttribute("aria-label", `Resolve seam ${seam}`);
  const submit = async (event) => {
    event.preventDefault();
    const words = note.value.trim();
    if (!words) {
      note.focus();
      return;
    }
    const answer = await sendAction(store, { ...wish, note: words }, { trigger: send, doing: "Resolving …", statusMessage });
    if (!answer) return;
    typed.delete(seam);
    requestRefresh();
  };
  return h("form", { class: "pixirnb-flex-row", on: { submit } }, note, send);
}

/** What was merged, newest first, and the button that takes the last back. */
export function mergeList(merges, undo) {
  return h("ul", { class: "pixirnb-next" }, merges.map(({ merge, step, by, undoes, steps, phrase, undone, wish }) => h(
    "li",
    {},
    h(
      "span",
      { class: "pixirnb-grow" },
      h("b", {}, merge),
      " ",
      undoes ? ["undid ", h("code", {}, undoes)] : codeList(steps, 8),
      h("span", { class: "pixirnb-mute" }, ` · ${phrase} · by ${step || by}${undone ? " · undone" : ""}`),
    ),
    wish ? button("Undo …", () => undo(wish), { title: "Preview the changes to your files first" }) : null,
  )));
}

export function seamsTitle(seams) {
  const open = seams.filter(({ is_open: isOpen }) => isOpen).length;
  return open ? `${pluralize(seams.length, "seam")}, ${open.toLocaleString("en-US")} open` : pluralize(seams.length, "seam");
}
