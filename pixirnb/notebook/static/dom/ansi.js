// The styles of printed text: classes of a closed set, whatever the message says.

import { h } from "./elements.js";

const STYLES = new Set(["b", "d", "i", "u", "s", "r"]);
for (const colour of ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]) {
  for (const word of [colour, `bright-${colour}`]) STYLES.add(word).add(`bg-${word}`);
}

/** The classes of a segment's style: of a closed set, whatever the message says. */
function ansiClasses(style) {
  return style.split(" ").filter((word) => STYLES.has(word)).map((word) => `pixirnb-ansi-${word}`).join(" ");
}

/** Segments `[style, text]` as nodes. */
export function ansiNodes(segments) {
  return segments.map(([style, words]) => (style ? h("span", { class: ansiClasses(style) }, words) : document.createTextNode(words)));
}
