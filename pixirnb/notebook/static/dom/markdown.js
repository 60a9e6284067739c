// The Markdown that agents write, as nodes: fenced code, headings, bold, code. All else, links too, stays the text that it is.

import { textBlock } from "./content.js";
import { h } from "./elements.js";

const FENCE = /^ *```[\w+.#-]*\s*$/;
const INLINE = /(\*\*[^*\n]+\*\*|`[^`\n]+`|^#{1,6} .+$)/m;

/** A text as paragraphs and blocks of code; a fence that is not closed reaches to the end. */
export function markdownNodes(text) {
  const nodes = [];
  let lines = [];
  let isCode = false;
  const flush = () => {
    const words = lines.join("\n");
    if (isCode) nodes.push(textBlock(words, "Code"));
    else if (words.trim()) nodes.push(h("div", { class: "pixirnb-spoken" }, inlineNodes(words)));
    lines = [];
  };
  for (const line of text.split("\n")) {
    if (!FENCE.test(line)) {
      lines.push(line);
      continue;
    }
    flush();
    isCode = !isCode;
  }
  if (lines.length) flush();
  return nodes;
}

function inlineNodes(words) {
  return words.split(INLINE).map((part, index) => {
    if (index % 2 === 0) return part;
    if (part.startsWith("`")) return h("code", {}, part.slice(1, -1));
    return h("b", {}, part.startsWith("#") ? part.replace(/^#+ /, "") : part.slice(2, -2));
  });
}
