// What a step changed apart from the user's files: a line for each file, its diff behind it, and whether it is merged. The patch is
// asked for when somebody opens a file. Names and contents of files are data: they go in as text.

import { StatusMessage } from "../actions/status_message.js";
import { codeList, disclosure, muted, updateChildren } from "../dom/content.js";
import { button, h, setChildren } from "../dom/elements.js";
import { pluralize } from "../dom/formatting.js";
import { fileSummary, hunkBlock, plainRow } from "./diffs.js";
import { MergeCard } from "./merge_card.js";

const FILE_SIGNS = { added: "A", deleted: "D", modified: "M" };

export class Changes {
  constructor(panel) {
    this.panel = panel;
    this.store = panel.store;
    this.statusMessage = new StatusMessage();
    this.card = h("div", { class: "pixirnb-card-slot" });
    this.head = h("div", {});
    this.body = h("div", {});
    this.root = h("section", { class: "pixirnb-part", role: "group", "aria-label": "Changes", hidden: true }, this.head, this.card, this.statusMessage.root, this.body);
    this.shown = "";
  }

  /** From the panel's answer; `moment` is the event it is of, null for now. */
  draw({ step, files, attempt }, moment) {
    const shown = JSON.stringify([step, files, attempt]);
    if (shown === this.shown) return;
    if (step !== this.step) {
      this.statusMessage.clear();
      this.card.openCard?.close();
    } else {
      this.offer?.reload();
    }
    this.shown = shown;
    this.step = step;
    this.moment = moment;
    this.patch = null;
    this.bodies = new Map();
    this.root.hidden = !files;
    if (!files) {
      setChildren(this.head);
      setChildren(this.body);
      return;
    }
    updateChildren(this.head, h("div", { class: "pixirnb-flex-row" }, h("h4", {}, "Changes"), h("span", {}, files.phrase), h("span", { class: "pixirnb-right pixirnb-flex-row" }, this.mergeButtons(files.wishes))));
    updateChildren(
      this.body,
      files.sentence ? muted(files.sentence) : null,
      files.outside ? h("p", {}, h("b", { class: "pixirnb-ask" }, "Outside its write_set: "), codeList(files.outside.paths, 20, files.outside.count)) : null,
      files.files.length ? h("ul", { class: "pixirnb-changes" }, files.files.map((file) => h("li", {}, this.file(file, files.has_patch)))) : null,
      files.count > files.files.length ? muted(`${pluralize(files.count - files.files.length, "file")} more are not listed.`) : null,
      files.built_on.length ? muted("Based on the changes of ", codeList(files.built_on, 20), ".") : null,
      files.left_behind ? muted("Changed but not captured (ignored files and secrets): ", codeList(files.left_behind.paths, 20, files.left_behind.count)) : null,
    );
  }

  mergeButtons({ merge, undo }) {
    const open = (words, action) => button(words, () => this.openMerge(action), { title: "Preview the changes to your files first" });
    return [merge ? open("Merge …", merge) : null, undo ? open("Undo merge …", undo) : null];
  }

  openMerge(action) {
    // What opened the card may be gone when it closes: another button may stand there, or none.
    const fallbackFocus = () => this.head.querySelector("button") ?? this.statusMessage.root.querySelector("button") ?? this.panel.root;
    this.offer = new MergeCard(this.panel.view, action, { statusMessage: this.statusMessage, fallbackFocus });
    this.offer.open(this.card);
  }

  file(file, hasPatch) {
    const head = fileSummary(FILE_SIGNS[file.change] ?? "?", file);
    if (!hasPatch) return plainRow(head);
    const body = h("div", {});
    this.bodies.set(file.path, body);
    const element = disclosure(head, { kind: "pixirnb-file" }, body);
    element.addEventListener("toggle", () => element.open && this.load(file.path));
    return element;
  }

  async load(path) {
    const body = this.bodies.get(path);
    if (!body || body.firstChild) return;
    setChildren(body, muted("Loading …"));
    const asked = this.shown;
    this.patch ??= this.store.ask({ ask: "changes", step: this.step, at: this.moment });
    const message = await this.patch;
    if (asked !== this.shown) return; // another step, or it changed meanwhile
    if (!message.ok) {
      this.patch = null;
      setChildren(body);
      this.statusMessage.showError(message.error);
      return;
    }
    const found = message.answer.files.filter((file) => file.path === path);
    const nodes = found.flatMap((file) => (file.hunks.length ? hunkBlock(file) : [muted(file.note || "No lines of text changed.")]));
    updateChildren(body, nodes.length ? nodes : muted("Not in the part that is shown."), message.answer.sentence ? muted(message.answer.sentence) : null);
  }
}
