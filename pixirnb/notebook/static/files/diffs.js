// Files of a patch and their hunks as nodes. Names and contents are data: they go in as text.

import { disclosure, textBlock } from "../dom/content.js";
import { h } from "../dom/elements.js";

const LINE_SIGNS = { both: " ", added: "+", deleted: "-", remark: "\\" };
const SIGN_LABELS = { A: "added", D: "deleted", M: "changed" };
const SIGN_TONES = { A: "ready", D: "bad", M: "half" };

/** What stands on the line of a file: what became of it, its name, how many lines. */
export function fileSummary(sign, { path, added, deleted, mode }) {
  const word = SIGN_LABELS[sign] ?? "changed";
  const isText = added !== null || deleted !== null;
  return [
    h("b", { class: `pixirnb-sign pixirnb-${SIGN_TONES[sign] ?? "half"}`, title: word }, sign, h("span", { class: "pixirnb-hidden" }, ` ${word}: `)),
    h("code", { class: "pixirnb-path" }, path),
    h("span", { class: "pixirnb-mute pixirnb-nowrap" }, isText ? `+${(added ?? 0).toLocaleString("en-US")} -${(deleted ?? 0).toLocaleString("en-US")}` : "not text"),
    mode ? h("span", { class: "pixirnb-mute" }, mode) : null,
  ];
}

/** The line of a file that has no diff to open; it begins where the others do. */
export function plainRow(head) {
  return h("div", { class: "pixirnb-bare" }, head);
}

/** A file of a patch that is known already, its diff folded. */
export function fileDiff(file) {
  const head = fileSummary(file.sign, { ...file, mode: file.added === null ? "" : file.note });
  return file.hunks.length ? disclosure(head, { kind: "pixirnb-file" }, hunkBlock(file)) : plainRow(head);
}

const DIFF = /^(?:--- .*\n\+\+\+ |@@ -\d)/m;
const KINDS_BY_SIGN = { "+": "added", "-": "deleted", "\\": "remark" };

/** The lines of a text that is a unified diff, coloured; null for any other text. */
export function diffNodes(text) {
  if (!DIFF.test(text)) return null;
  return text.split("\n").map((row, index, rows) => {
    const isHead = /^(?:@@ |--- .*|\+\+\+ )/.test(row);
    return h("span", { class: isHead ? "pixirnb-hunk" : `pixirnb-line-${KINDS_BY_SIGN[row[0]] ?? "both"}` }, index < rows.length - 1 ? `${row}\n` : row);
  });
}

/** The hunks of a file, one block that scrolls by itself. */
export function hunkBlock({ path, hunks }) {
  const rows = hunks.flatMap(({ head, lines }) => [
    h("span", { class: "pixirnb-hunk" }, `── ${head} ──\n`),
    lines.map(([kind, words]) => h("span", { class: `pixirnb-line-${LINE_SIGNS[kind] ? kind : "both"}` }, `${LINE_SIGNS[kind] ?? " "}${words}\n`)),
  ]);
  return [textBlock(rows, `Diff of ${path}`, "pixirnb-diff")];
}
