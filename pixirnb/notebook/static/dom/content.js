// Words of the kernel as nodes: names as code, text that opens or scrolls; and children that change under the focus.

import { h, isDisabled, setChildren } from "./elements.js";

/** A sentence of the kernel, its names between backticks as code. */
export function inlineCode(sentence) {
  return sentence.split(/`([^`\n]+)`/).map((words, index) => (index % 2 ? h("code", {}, words) : words)).filter((part) => part !== "");
}

/** A list of names as code, the first `most` of them; `count` is of all there are. */
export function codeList(names, most = 8, count = names.length) {
  const shown = names.slice(0, most).map((name) => h("code", {}, name));
  const parts = shown.flatMap((name, index) => (index ? [" ", name] : [name]));
  return count > shown.length ? [...parts, ` and ${(count - shown.length).toLocaleString("en-US")} more`] : parts;
}

/** A paragraph of less weight. */
export function muted(...children) {
  return h("p", { class: "pixirnb-mute" }, children);
}

/** How much of a text is left out; null where it is whole. */
export function truncationNote(cut) {
  return cut ? muted(`${cut.toLocaleString("en-US")} more characters are not shown.`) : null;
}

/** A field for a note, and the label it stands in. */
export function noteField(hint = "optional") {
  const note = h("input", { type: "text", class: "pixirnb-field", maxlength: 2000, autocomplete: "off" });
  return { note, label: h("label", { class: "pixirnb-label" }, h("span", {}, "Note", h("i", {}, ` – ${hint}`)), note) };
}

let radioGroups = 0; // their names tie radios together and say nothing of the run

/** Radios for `options`, each `{text, value}`: `{root, read}`, where `read()` is the chosen value or undefined. */
export function radioGroup(legend, options, { chosen, kind = "" } = {}) {
  const name = `pixirnb-radios-${++radioGroups}`;
  const radios = options.map(({ value }) => h("input", { type: "radio", name, checked: chosen !== undefined && value === chosen }));
  const labels = options.map(({ text }, index) => h("label", { class: "pixirnb-choice" }, radios[index], h("span", {}, text)));
  return {
    root: h("fieldset", { class: `pixirnb-choices ${kind}`.trim() }, h("legend", {}, legend), labels),
    read: () => options[radios.findIndex((radio) => radio.checked)]?.value,
  };
}

/** Words that can be opened: `body` is what stands behind them. */
export function disclosure(words, { open = false, toggled = null, kind = "" } = {}, ...body) {
  // A click of a person, by mouse or keys: the event "toggle" tells of ours too.
  const click = () => toggled?.(!element.open);
  const element = h("details", { class: `pixirnb-fold ${kind}`.trim() }, h("summary", { on: { click } }, words), body);
  element.open = open;
  return element;
}

/** The same, open or not as a person left it under that `name`, while the page is open. */
export function keptDisclosure(store, name, words, open, ...body) {
  const kept = (store.openDisclosures ??= new Map());
  return disclosure(words, { open: kept.get(name) ?? open, toggled: (isOpen) => kept.set(name, isOpen) }, body);
}

/** A block of text that scrolls by itself and can be reached by Tab. */
export function textBlock(words, name, kind = "") {
  return h("pre", { class: `pixirnb-block ${kind}`.trim(), tabindex: 0, role: "group", "aria-label": name }, words);
}

const FOCUSABLE = "button,input,select,textarea,summary,[tabindex]";

/** Put new children into an element; whoever had the focus there has it again on what took its place. */
export function updateChildren(element, ...children) {
  const held = element.contains(document.activeElement) && document.activeElement !== element ? document.activeElement : null;
  const nameOf = (each) => each.getAttribute("aria-label") ?? each.textContent;
  const index = held ? [...element.querySelectorAll(FOCUSABLE)].indexOf(held) : -1;
  const name = held ? nameOf(held) : "";
  setChildren(element, ...children);
  if (!held) return element;
  const all = [...element.querySelectorAll(FOCUSABLE)].filter((each) => !isDisabled(each) && (each.checkVisibility?.() ?? true));
  const next = all.find((each) => nameOf(each) === name) ?? all[Math.min(Math.max(index, 0), all.length - 1)];
  (next ?? element.closest("[tabindex]"))?.focus({ preventScroll: true });
  return element;
}
