// The Markdown that agents write, as nodes: fenced code, headings, lists with bullets, bold, code. All else, links too, stays the text that it is.

import { textBlock } from "./content.js";
import { h } from "./elements.js";

const FENCE = /^ *```[\w+.#-]*\s*$/;
const BULLETS = /((?:^ *[-*+] .*(?:\n|$))+)/m;
const BULLET = /^( *)[-*+] /;
const INLINE = /(\*\*[^*\n]+\*\*|`[^`\n]+`|^#{1,6} .+$)/m;

/** A text as paragraphs and blocks of code; a fence that is not closed reaches to the end. */
export function markdownNodes(text) {
  const nodes = [];
  let lines = [];
  let isCode = false;
  const flush = () => {
    const words = lines.join("\n");
    if (isCode) nodes.push(textBlock(words, "Code"));
    else if (words.trim()) nodes.push(h("div", { class: "pixirnb-spoken" }, words.split(BULLETS).map((part, index) => (index % 2 ? bulletList(part.replace(/\n$/, "").split("\n")) : inlineNodes(part)))));
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

function bulletList(lines) {
  const item = (line) => h("li", { style: `margin-left: ${Math.min(BULLET.exec(line)[1].length / 2, 8)}em` }, inlineNodes(line.replace(BULLET, "")));
  return h("ul", { class: "pixirnb-bullets" }, lines.map(item));
}

function inlineNodes(words) {
  return words.split(INLINE).map((part, index) => {
    if (index % 2 === 0) return part;
    if (part.startsWith("`")) return h("code", {}, part.slice(1, -1));
    return h("b", {}, part.startsWith("#") ? part.replace(/^#+ /, "") : part.slice(2, -2));
  });
}
