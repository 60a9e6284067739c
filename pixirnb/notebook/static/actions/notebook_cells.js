// A text for a code cell: put into a new one below the cell that shows the view, or, where the front-end's notebook is out of
// reach, on the clipboard. The notebook is reached through the widgets' manager, which no one promises: every step is guarded.

import { h } from "../dom/elements.js";

const WIDGET_VIEW = "application/vnd.jupyter.widget-view+json";

/** Hand `source` over; resolves to a sentence that says where it is now, or to an empty one where it is nowhere. */
export async function insertOrCopy(model, root, source) {
  if (await insertBelowOutput(model, root, source)) return "Inserted into a new cell below.";
  if (await copyText(source)) return "Copied to the clipboard; paste it into a cell.";
  return "";
}

async function insertBelowOutput(model, root, source) {
  try {
    const notebook = model.widget_manager?.context?.model;
    const shared = notebook?.sharedModel;
    if (typeof shared?.insertCell !== "function" || !notebook.cells || notebook.readOnly) return false;
    const index = await cellIndexOf(model, root, notebook.cells);
    if (index < 0) return false;
    shared.insertCell(index + 1, { cell_type: "code", source });
    return true;
  } catch {
    return false; // another front-end, or another version of this one: the clipboard will do
  }
}

/** The index of the cell that shows `root`; of one that shows the same run, where the page does not tell; -1 for none. */
async function cellIndexOf(model, root, cells) {
  const listIndex = root.closest("[data-windowed-list-index]")?.getAttribute("data-windowed-list-index");
  const guess = listIndex === undefined || listIndex === null ? -1 : Number(listIndex);
  const places = [...Array(cells.length).keys()].sort((a, b) => (b === guess) - (a === guess));
  for (const index of places) if (await showsWidget(model, cells.get(index))) return index;
  return -1;
}

/** Whether a cell has an output of this widget. A model does not know its own id, but its scene, or plan, is one object. */
async function showsWidget(model, cell) {
  const { outputs } = cell;
  for (let number = 0; number < (outputs?.length ?? 0); number += 1) {
    const id = outputs.get(number).data?.[WIDGET_VIEW]?.model_id;
    if (!id || !model.widget_manager.has_model(id)) continue;
    const found = await model.widget_manager.get_model(id);
    if (["scene", "plan"].every((name) => found.get(name) === model.get(name))) return true;
  }
  return false;
}

/** Put text on the clipboard; false where the page may not. */
export async function copyText(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    const carrier = h("textarea", { class: "pixirnb-carrier", "aria-hidden": "true" });
    carrier.value = words;
    const before = document.activeElement;
    document.body.append(carrier);
    carrier.select();
    const isCopied = document.execCommand("copy");
    carrier.remove();
    before?.focus?.({ preventScroll: true });
    return isCopied;
  }
}
