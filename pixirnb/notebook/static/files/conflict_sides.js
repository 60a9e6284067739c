// Files in conflict, each with the choice whose version counts.

import { codeList, muted } from "../dom/content.js";
import { h, setText } from "../dom/elements.js";
import { pluralize } from "../dom/formatting.js";
import { FileChoice, pairNodes } from "./file_choice.js";

/** Files that a person was to solve and that nobody has touched. */
export function unchangedNote(files) {
  const are = files.length === 1 ? "is" : "are";
  return [codeList(files.map(({ path }) => path), 4), ` ${are} unchanged since the conflict was found.`];
}

/** Files in conflict, each with both versions and the choice between them. Nothing is chosen beforehand. */
export class ConflictSides {
  /** `chosen`: drafts by path; `changed` is called with each choice. */
  constructor(files, sides, chosen = {}, changed = () => {}) {
    this.files = files;
    this.changed = changed;
    this.choices = files.map((file) => new FileChoice(file, sides, chosen[file.value], () => this.onChange()));
    this.progress = h("p", { class: "pixirnb-mute", role: "status", "aria-live": "polite" });
    this.root = h(
      "div",
      {},
      this.choices.map(({ root }) => root),
      muted("To resolve a file by hand, edit it in your folder and choose nothing for it here."),
      this.progress,
    );
    this.showProgress();
  }

  onChange() {
    this.showProgress();
    this.changed();
  }

  showProgress() {
    const [all, made] = this.choices.reduce(([needed, chosen], { progress }) => [needed + progress[0], chosen + progress[1]], [0, 0]);
    setText(this.progress, made ? `${made.toLocaleString("en-US")} of ${pluralize(all, "choice")} made.` : "");
  }

  /** Whether a version of every file, or of its every hunk, is chosen. */
  get isComplete() {
    return this.choices.every((choice) => choice.read() !== undefined);
  }

  /** Drafts by path. */
  chosen() {
    return this.collect((choice) => choice.draft());
  }

  /** Choices by path as the kernel takes them; null where there is none. */
  read() {
    const made = this.collect((choice) => choice.read());
    return Object.keys(made).length ? made : null;
  }

  collect(pick) {
    return Object.fromEntries(this.files.map(({ value }, index) => [value, pick(this.choices[index])]).filter(([, choice]) => choice !== undefined));
  }
}

/** One file in conflict that cannot be decided here: why, and both versions. */
export function conflictNodes(file) {
  return [
    h("p", {}, h("code", {}, file.path), " ", h("span", { class: "pixirnb-mute" }, `${file.words}.`)),
    pairNodes(file),
    file.cut ? muted("The rest is not shown.") : null,
  ];
}
