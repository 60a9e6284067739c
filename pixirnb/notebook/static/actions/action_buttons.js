// What a person asks for with a click: the button says that it is being done, and a line says what became of it.

import { button, h, isDisabled } from "../dom/elements.js";
import { copyText, insertOrCopy } from "./notebook_cells.js";

const RESTORE_MS = 4000; // after this a button stands as before, even if nothing about the run has changed

/**
 * Send an action to the kernel. Meanwhile `trigger` shows `doing`, and neither it nor `others` can be pressed; resolves to the answer, or to null where
 * it was refused or is under way already. They are not disabled: a button that is loses the focus, and nobody could give it back.
 */
export async function sendAction(store, action, { trigger, doing, statusMessage, others = [] }) {
  if (isDisabled(trigger)) return null;
  const words = [...trigger.childNodes];
  statusMessage.clear();
  for (const each of [trigger, ...others]) each.setAttribute("aria-disabled", "true");
  trigger.setAttribute("aria-busy", "true");
  trigger.textContent = doing;
  const settle = () => {
    for (const each of [trigger, ...others]) each.removeAttribute("aria-disabled");
    trigger.removeAttribute("aria-busy");
    trigger.replaceChildren(...words);
  };
  const message = await store.ask(action);
  if (!message.ok) {
    settle();
    statusMessage.showError(message.error);
    return null;
  }
  setTimeout(settle, RESTORE_MS);
  return message.answer;
}

/** A button that sends an action. */
export function actionButton(store, words, action, { doing, statusMessage, title = null, kind = "", done = null }) {
  const trigger = button(
    words,
    async () => {
      const answer = await sendAction(store, action, { trigger, doing, statusMessage });
      if (answer) done?.(answer);
    },
    { title, kind },
  );
  return trigger;
}

/** A button that puts a text into a cell, or where none can be reached on the clipboard, and says which. */
export function cellButton(store, view, words, source, { statusMessage, title = null }) {
  const insert = async () => {
    const where = await insertOrCopy(store.model, view.root, source);
    if (where) statusMessage.show(where);
    else statusMessage.show("Cannot insert a cell or use the clipboard here. Copy this text: ", h("code", {}, source));
  };
  return button(words, insert, { title });
}

/** A command that is copied by a click. */
export function copyChip(command, statusMessage) {
  const copy = async () => statusMessage.show((await copyText(command)) ? "Copied: " : "Cannot use the clipboard here. Copy this text: ", h("code", {}, command));
  const chip = button(command, copy, { kind: "pixirnb-id pixirnb-command", title: "Copy this command" });
  chip.setAttribute("aria-label", `Copy ${command}`);
  return chip;
}

/** Say so where an action began a run that is another than the one shown. */
export function announceNewRun(store, view, answer, statusMessage) {
  if (!answer.is_new) return;
  statusMessage.show(
    "Started a new run: ",
    h("code", {}, answer.run_id),
    ". ",
    cellButton(store, view, "Insert cell", answer.cell, { statusMessage }),
  );
}
