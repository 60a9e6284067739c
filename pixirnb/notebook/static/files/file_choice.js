// The choice of a version for one file in conflict: hunk by hunk where its text allows that, or for the whole file. Nothing is chosen
// beforehand. Names and contents are data: they go in as text.

import { muted, textBlock } from "../dom/content.js";
import { button, h, setChildren } from "../dom/elements.js";

const WORKSPACE = "workspace"; // the version that is the user's own files

export class FileChoice {
  /** `chosen`: a draft of before; `changed` is called with each choice. */
  constructor(file, sides, chosen, changed) {
    const met = file.sides.length ? file.sides : sides;
    const count = file.of ? file.pieces.filter(({ both }) => !both).length : 0;
    this.file = file;
    this.changed = changed;
    this.switches = [];
    this.versions = [met[0], met.at(-1)];
    this.whole = typeof chosen === "string" ? chosen : null;
    this.hunks = chosen?.of && chosen.of === file.of && chosen.hunks.length === count ? [...chosen.hunks] : Array(count).fill(null);
    this.result = textBlock("", `Result in ${file.path}`, "pixirnb-diff");
    this.preview = h("div", { hidden: true }, h("h4", {}, "Result"), this.result);
    const whole = [...sides.filter(({ name }) => name === WORKSPACE), ...met.filter(({ name }) => name !== WORKSPACE)];
    this.root = h(
      "div",
      { class: "pixirnb-clash" },
      h("p", {}, h("code", {}, file.path), " ", h("span", { class: "pixirnb-mute" }, `${file.words}.`)),
      count ? file.pieces.map((piece, index) => this.pieceNodes(piece, index)) : pairNodes(file),
      file.cut ? muted("The rest is not shown. Choose one version for the whole file.") : null,
      this.preview,
      this.group(`Version of ${file.path}`, "Whole file", whole.map((side) => this.wholeSwitch(side))),
    );
    this.refresh();
  }

  /** The version for the whole file, or `{hunks, of}` with one for each; undefined where some is not chosen. */
  read() {
    return this.whole ?? (this.hunks.length && this.hunks.every(Boolean) ? { hunks: this.hunks, of: this.file.of } : undefined);
  }

  /** The same, whatever is chosen so far. */
  draft() {
    return this.whole ?? (this.hunks.some(Boolean) ? { hunks: this.hunks, of: this.file.of } : undefined);
  }

  /** How many choices it takes, and how many are made. */
  get progress() {
    if (this.whole || !this.hunks.length) return [1, this.whole ? 1 : 0];
    return [this.hunks.length, this.hunks.filter(Boolean).length];
  }

  wholeSwitch({ name, words }) {
    const title = name === WORKSPACE ? "Keep your current file" : `Take the file of ${words}`;
    return this.switch(versionName({ name, words }), title, () => this.whole === name, () => {
      this.whole = this.whole === name ? null : name;
      this.hunks.fill(null);
    });
  }

  hunkSwitch(index, name, text) {
    return this.switch(text, null, () => this.hunks[index] === name, () => {
      this.hunks[index] = this.hunks[index] === name ? null : name;
      this.whole = null;
    });
  }

  switch(text, title, isOn, turn) {
    const element = button(text, () => {
      turn();
      this.refresh();
      this.changed();
    }, { kind: "pixirnb-slight", pressed: false, title });
    this.switches.push([element, isOn]);
    return element;
  }

  group(name, legend, switches) {
    return h("div", { class: "pixirnb-flex-row", role: "group", "aria-label": name }, h("span", { class: "pixirnb-mute" }, legend), switches);
  }

  pieceNodes(piece, index) {
    if (piece.both) return h("pre", { class: "pixirnb-block pixirnb-diff" }, rowsOf(piece.both, "remark"));
    const hunk = this.file.pieces.slice(0, index).filter(({ both }) => !both).length;
    const [ours, theirs] = this.versions;
    const name = `hunk ${hunk + 1} of ${this.file.path}`;
    const side = (version, rows, kind) => h("div", {}, h("h4", {}, versionName(version)), textBlock(rowsOf(rows, kind), `${name}, ${versionName(version)}`, "pixirnb-diff"));
    return [
      h("div", { class: "pixirnb-pair" }, side(ours, piece.ours, "ours"), side(theirs, piece.theirs, "theirs")),
      this.group(`Version of ${name}`, `Hunk ${hunk + 1} of ${this.hunks.length}`, [
        this.hunkSwitch(hunk, ours.name, versionName(ours)),
        this.hunkSwitch(hunk, theirs.name, versionName(theirs)),
        this.hunkSwitch(hunk, `${ours.name}+${theirs.name}`, "both"),
      ]),
    ];
  }

  refresh() {
    for (const [element, isOn] of this.switches) element.setAttribute("aria-pressed", String(isOn()));
    this.preview.hidden = !this.hunks.some(Boolean);
    let hunk = -1;
    setChildren(this.result, this.file.pieces.map((piece) => {
      if (piece.both) return rowsOf(piece.both, "remark");
      hunk += 1;
      const chosen = this.hunks[hunk]?.split("+") ?? [];
      if (!chosen.length) return h("span", { class: "pixirnb-hunk" }, `── hunk ${hunk + 1}: not chosen ──\n`);
      return chosen.map((name) => (name === this.versions[0].name ? rowsOf(piece.ours, "ours", "") : rowsOf(piece.theirs, "theirs", "")));
    }));
  }
}

function versionName({ name, words }) {
  return name === WORKSPACE ? "yours" : words;
}

/** Both versions of a file side by side, or one above the other where it is narrow. */
export function pairNodes({ path, sides, pieces }) {
  if (!pieces.length) return null;
  const names = sides.map(({ words: name }) => name);
  const columns = [["ours", names[0] ?? "first version"], ["theirs", names.at(-1) ?? "second version"]];
  const rows = (key) => pieces.map((piece) => (piece.both ? rowsOf(piece.both, "remark") : rowsOf(piece[key], key)));
  return h("div", { class: "pixirnb-pair" }, columns.map(([key, name]) => h("div", {}, h("h4", {}, name), textBlock(rows(key), `${path}, version of ${name}`, "pixirnb-diff"))));
}

function rowsOf(rows, kind, nothing = "(nothing)\n") {
  return h("span", { class: `pixirnb-line-${kind}` }, rows.length ? rows.map((row) => `${row}\n`).join("") : nothing);
}
