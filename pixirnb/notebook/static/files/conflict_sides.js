// Files in conflict: both sides shown side by side, and the choice whose version counts.

import { codeList, muted, radioGroup, textBlock } from "../dom/content.js";
import { h } from "../dom/elements.js";

const WORKSPACE = "workspace"; // the side that is the user's own files

/** Files that a person was to solve and that nobody has touched. */
export function unchangedNote(files) {
  const are = files.length === 1 ? "is" : "are";
  return [codeList(files.map(({ path }) => path), 4), ` ${are} unchanged since the conflict was found.`];
}

/** Files in conflict, each with both sides and the choice whose version counts. Nothing is chosen beforehand. */
export class ConflictSides {
  /** `chosen`: sides by path that were chosen before. */
  constructor(files, sides, chosen = {}) {
    this.files = files;
    this.choices = files.map((file) => this.choice(file, sides, chosen[file.value]));
    this.root = h(
      "div",
      {},
      muted("To resolve a file by hand, edit it in your folder, then choose your current file."),
      files.map((file, index) => h("div", { class: "pixirnb-clash" }, conflictNodes(file), this.choices[index].root)),
    );
  }

  choice(file, sides, chosen) {
    const met = file.sides.length ? file.sides : sides;
    const options = [...sides.filter(({ name }) => name === WORKSPACE), ...met.filter(({ name }) => name !== WORKSPACE)];
    const labelled = options.map((side) => ({ text: sideLabel(side, met), value: side.name }));
    return radioGroup(["Version of ", h("code", {}, file.path), " to keep"], labelled, { chosen, kind: "pixirnb-sides" });
  }

  /** `{path: side}` of the files for which a side was chosen. */
  chosen() {
    return Object.fromEntries(this.files.map(({ value }, index) => [value, this.choices[index].read()]).filter(([, side]) => side !== undefined));
  }

  /** The same; null where there is none. */
  read() {
    const named = this.chosen();
    return Object.keys(named).length ? named : null;
  }
}

/** A side as a choice says it, and what it leaves out; `met` are the sides that clash. */
function sideLabel({ name, words }, met) {
  const others = met.filter((each) => each.name !== name).map((each) => (each.name === WORKSPACE ? "your file" : `the version of ${each.words}`));
  const without = others.length ? `, not ${others.join(" or ")}` : "";
  return name === WORKSPACE ? `your current file${without}` : `the version of ${words}${without}`;
}

/** One file in conflict: why, and both sides beside each other, or one above the other where it is narrow. */
export function conflictNodes({ path, words, sides, pieces, cut }) {
  const names = sides.map(({ words: name }) => name);
  const columns = [["ours", names[0] ?? "first version"], ["theirs", names.at(-1) ?? "second version"]];
  return [
    h("p", {}, h("code", {}, path), " ", h("span", { class: "pixirnb-mute" }, `${words}.`)),
    pieces.length
      ? h("div", { class: "pixirnb-pair" }, columns.map(([key, name]) => h("div", {}, h("h4", {}, name), textBlock(pieces.map((piece) => chunkNode(piece, key)), `${path}, version of ${name}`, "pixirnb-diff"))))
      : null,
    cut ? muted("The rest is not shown.") : null,
  ];
}

function chunkNode(piece, key) {
  if (piece.both) return h("span", { class: "pixirnb-line-remark" }, piece.both.map((row) => `${row}\n`).join(""));
  const rows = piece[key];
  return h("span", { class: "pixirnb-line-clash" }, rows.length ? rows.map((row) => `${row}\n`).join("") : "(nothing)\n");
}
