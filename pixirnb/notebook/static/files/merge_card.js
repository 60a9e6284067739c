// Bringing changes into the user's files: first what it would come to, then one button.

import { sendAction } from "../actions/action_buttons.js";
import { ConfirmCard } from "../actions/confirm_card.js";
import { codeList, muted } from "../dom/content.js";
import { button, h } from "../dom/elements.js";
import { markBadge } from "../dom/marks.js";
import { conflictNodes, ConflictSides, unchangedNote } from "./conflict_sides.js";
import { fileDiff } from "./diffs.js";

/** What a merge would do to the user's files. `wish` is the message that does it. */
export class MergeCard extends ConfirmCard {
  constructor(view, action, { statusMessage, fallbackFocus }) {
    const { do: _, ...asked } = action;
    super(view, { ask: "merge", ...asked }, { name: action.undo ? "Undo the last merge" : "Merge into your files", statusMessage, fallbackFocus });
    this.action = action;
    this.recorded = new Set(); // a preview is recorded nowhere: once the merge was asked for, the log has how these files were
    this.isSent = false;
  }

  /** Ask again, where it is still open: what it shows may be out of date. */
  reload() {
    if (this.root.isConnected && !this.isSent) this.ask();
  }

  draw(answer, remarks = null) {
    const { undo } = this.action;
    const isClash = answer.status === "conflict";
    const choice = (this.choice = isClash && !undo ? new ConflictSides(answer.conflicts, answer.sides, this.choice?.chosen()) : null);
    const words = undo ? "Undo merge" : isClash ? "Merge with these choices" : "Merge";
    const primary = answer.status === "nothing" ? null : button(words, () => this.send(primary), { kind: "pixirnb-primary" });
    const summary = [
      h("p", { role: "status" }, markBadge(this.store, answer.mark), " · ", answer.sentence),
      choice?.root,
      isClash ? h("p", { role: remarks ? "status" : null }, remarks ?? this.advice()) : null,
    ];
    const details = [
      choice ? null : answer.conflicts.map((file) => h("div", { class: "pixirnb-clash" }, conflictNodes(file))),
      answer.patch.files.map((file) => fileDiff(file)),
      answer.patch.sentence ? muted(answer.patch.sentence) : null,
    ];
    this.showResult(primary, primary ? "Cancel" : "Close", { summary, details, first: isClash && !remarks ? this.root : primary });
  }

  /** What to do about a conflict that was looked at. */
  advice() {
    return this.action.undo
      ? "These files changed after the merge. Undo merge records the conflict; then fix the files in your folder and undo again. Files that you edit in between keep your edits."
      : null;
  }

  /** The same of one that was met: nothing was done, since these files are not solved. */
  unsolved(files) {
    const others = files.length === 1 ? "it" : "them";
    const edit = [" Edit ", others, " in your folder"];
    const what = this.action.undo ? ", then undo again." : ", or choose a version, then merge again.";
    const known = files.filter(({ path }) => this.recorded.has(path));
    if (known.length) return [...unchangedNote(known), ...edit, what];
    return ["The conflict is recorded; no file was changed. These files count as resolved once you edit them: ", codeList(files.map(({ path }) => path), 4), ".", ...edit, what];
  }

  async send(trigger) {
    const sides = this.choice?.read() ?? null;
    this.isSent = true;
    const done = await sendAction(this.store, sides ? { ...this.action, sides } : this.action, { trigger, doing: this.action.undo ? "Undoing …" : "Merging …", statusMessage: this.statusMessage });
    this.isSent = false;
    if (!done) return;
    if (done.merge?.status === "conflict") {
      this.draw(done.merge, this.unsolved(done.merge.conflicts));
      this.recorded = new Set(done.merge.conflicts.map(({ path }) => path));
      return;
    }
    this.statusMessage.show(done.merge?.sentence ?? done.sentence);
    this.close();
  }
}
