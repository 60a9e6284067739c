// A conflict that holds a step up: its files hunk by hunk, and the buttons that let it go on.

import { sendAction } from "../actions/action_buttons.js";
import { StatusMessage } from "../actions/status_message.js";
import { muted, noteField, updateChildren } from "../dom/content.js";
import { button, h, setChildren } from "../dom/elements.js";
import { pluralize } from "../dom/formatting.js";
import { markIcon } from "../dom/marks.js";
import { conflictNodes, ConflictSides, unchangedNote } from "./conflict_sides.js";

const SETTLED_MARKS = new Set(["checkpoint_ready", "failed", "held", "skipped"]); // marks of a step whose conflict is over

/** A conflict that holds a step up: both sides of its files, and the words that let it go on. */
export class Conflict {
  constructor(panel) {
    this.panel = panel;
    this.store = panel.store;
    this.statusMessage = new StatusMessage();
    this.root = h("section", { class: "pixirnb-part", role: "group", "aria-label": "Conflict", hidden: true, on: { input: () => this.saveDraft() } });
    this.shown = "";
  }

  /** From the panel's answer; `moment` is the event it is of, null for now. */
  draw({ step, clash, attempt, mark }, moment) {
    const shown = JSON.stringify([step, clash, attempt, clash ? null : mark.key]);
    if (shown === this.shown) return;
    const hadFocus = this.root.contains(document.activeElement);
    this.shown = shown;
    this.step = step;
    this.attempt = attempt;
    this.statusMessage.clear();
    this.root.hidden = !clash;
    this.root.classList.toggle("pixirnb-asking", Boolean(clash?.is_open));
    if (!clash) {
      this.choice = null;
      setChildren(this.root);
      if (SETTLED_MARKS.has(mark.key)) this.drafts.delete(step);
      if (hadFocus) this.panel.root.focus({ preventScroll: true });
      return;
    }
    this.render(clash, clash.files);
    this.load(step, clash, moment);
  }

  /** What was typed and chosen, by step: it is kept while the step is tried again, and where an output is drawn again. */
  get drafts() {
    return (this.store.clashes ??= new Map());
  }

  saveDraft() {
    if (this.choice) this.drafts.set(this.step, { ...this.drafts.get(this.step), sides: this.choice.chosen(), note: this.note.value });
  }

  onChoice() {
    this.saveDraft();
    this.allowResolve();
  }

  /** There is something to resolve with once each file, or each of its hunks, has a version. */
  allowResolve() {
    if (this.choice) this.resolve.disabled = !this.choice.isComplete;
  }

  render(clash, files) {
    const draft = clash.is_open ? this.drafts.get(this.step) : null;
    const choice = (this.choice = clash.is_open ? new ConflictSides(files, clash.sides, draft?.sides, () => this.onChoice()) : null);
    const { note, label } = noteField();
    this.note = note;
    note.value = draft?.note ?? "";
    this.resolve = button("Resolve", () => this.send(clash.wishes.accept, this.resolve), { kind: "pixirnb-primary", title: "Merge with the versions chosen above" });
    const accept = button("Retry merge", () => this.send(clash.wishes.accept, accept), { title: "Retry with the files as you edited them, and the versions chosen above" });
    const reject = button("Abandon merge", () => this.send(clash.wishes.reject, reject), { title: "Fail the step; its seam stays open" });
    this.buttons = [this.resolve, accept, reject];
    const known = draft?.tried && this.attempt > draft.attempt ? files.filter(({ path }) => draft.tried.includes(path)) : [];
    updateChildren(
      this.root,
      h("p", { class: "pixirnb-asked" }, markIcon(this.store, { key: "needs_orchestrator", tone: "ask", symbol: "◆" }), h("b", {}, clash.sentence)),
      choice?.root ?? files.map((file) => h("div", { class: "pixirnb-clash" }, conflictNodes(file))),
      clash.count > files.length ? muted(`${pluralize(clash.count - files.length, "file")} more are not shown.`) : null,
      clash.is_open
        ? h(
            "form",
            { class: "pixirnb-form pixirnb-clash-form", "aria-label": `Resolve the conflict of ${this.step}`, on: { submit: (event) => event.preventDefault() } },
            known.length ? h("p", { role: "status" }, unchangedNote(known), ` Edit ${known.length === 1 ? "it" : "them"} in your folder, or choose a version, then retry.`) : null,
            label,
            h("div", { class: "pixirnb-flex-row" }, this.resolve, accept, reject),
          )
        : null,
      this.statusMessage.root,
    );
    this.allowResolve();
    const isHere = document.activeElement === this.panel.root || this.root.contains(document.activeElement);
    if (!clash.is_open || !this.isAwaited) return;
    this.isAwaited = false;
    if (isHere) accept.focus(); // who pressed the button goes on there
  }

  async load(step, clash, moment) {
    const asked = this.shown;
    const message = await this.store.ask({ ask: "conflict", step, at: moment });
    if (asked !== this.shown || !message.ok) return; // the files are named all the same
    if (message.answer.files.some(({ pieces }) => pieces.length)) this.render(clash, message.answer.files);
  }

  async send(action, trigger) {
    const isAccepted = action.verdict === "accept";
    const value = isAccepted ? this.choice.read() : null;
    const words = this.note.value.trim();
    const sent = { ...action, ...(value ? { value } : {}), ...(words ? { note: words } : {}) };
    // Before it is sent: the step may have met the same conflict again before the answer is here.
    if (isAccepted) this.drafts.set(this.step, { ...this.drafts.get(this.step), attempt: this.attempt, tried: this.choice.files.map(({ path }) => path) });
    this.isAwaited = isAccepted;
    const answer = await sendAction(this.store, sent, { trigger, doing: "Saving …", statusMessage: this.statusMessage, others: this.buttons });
    if (answer) this.panel.requestRefresh();
    else this.isAwaited = false;
  }
}
