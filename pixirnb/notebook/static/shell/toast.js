// What is announced of a run: a quiet word at the corner of the page when it asks a person, fails, or ends after a while, and no view
// of it is in sight; a badge in the title of the browser's tab while it needs a person.

import { idOf, labelOf, workflowNameOf } from "../state/step_names.js";
import { noticeBoard } from "./notice_board.js";
import { titleBadge } from "./title_badge.js";

const LONG_MS = 30_000; // a run that took longer is announced however it ended
const QUIET_ENDS = new Set(["completed", "interrupted"]);
const ASKING = new Set(["needs_orchestrator", "permission"]);

export class Toast {
  constructor(store) {
    this.store = store;
    this.asking = new Set(); // steps that need a person
    this.countAsking(store.currentPlan.history.changes.keys());
  }

  onChange(what, detail) {
    const { store } = this;
    if (what === "reset") this.countAsking(store.currentPlan.history.changes.keys(), new Set());
    else if (what === "tape") this.onTape(detail);
    else if (what === "head") this.onHead(detail);
  }

  /** Steps that changed: one of them may ask now. Looked up at the end of the tape, wherever a view stands. */
  onTape(touched) {
    const before = new Set(this.asking);
    this.countAsking(touched);
    for (const step of this.asking) if (touched.has(step) && !before.has(step)) this.ask(step);
  }

  onHead(before) {
    const { store } = this;
    this.drawBadge();
    if (before.live !== "" && store.head.live === "") this.runEnded();
  }

  markOf(step) {
    const { history } = this.store.currentPlan;
    return this.store.vocabulary.marks[history.stepAt(step, history.length).mark];
  }

  countAsking(steps, asking = this.asking) {
    this.asking = asking;
    for (const step of steps) {
      if (ASKING.has(this.markOf(step).key)) asking.add(step);
      else asking.delete(step);
    }
    this.drawBadge();
  }

  drawBadge() {
    const { store, asking } = this;
    titleBadge().set(this, asking.size && !store.wasRunning ? workflowNameOf(store.scene) : null);
  }

  async ask(step) {
    const { scene } = this.store.currentPlan;
    const name = labelOf(scene, step);
    const notice = this.show(this.markOf(step), `${name} is waiting for a person`, step);
    if (!notice) return;
    const message = await this.store.ask({ ask: "step", step: idOf(scene, step), at: null });
    const asked = message.ok ? message.answer.permissions.find(({ is_open: isOpen }) => isOpen) : null;
    const words = asked ? `permission to use ${asked.name}: ${asked.about}` : message.ok ? message.answer.question?.text : "";
    if (words) noticeBoard().reword(notice, `${name} asks: ${words}`);
  }

  runEnded() {
    const { head, statusMark } = this.store;
    if (QUIET_ENDS.has(head.status) && head.elapsed_ms < LONG_MS) return;
    if (!(head.status === "needs_orchestrator" && noticeBoard().has(this))) this.show(statusMark, head.sentence);
  }

  get isInSight() {
    return !document.hidden && [...this.store.views].some((view) => view.isVisible);
  }

  /** Announce it, in the place of an earlier notice of the run; null where the run is in sight, or nowhere. */
  show(mark, words, step = -1) {
    if (this.isInSight || !this.store.views.size) return null;
    const workflow = workflowNameOf(this.store.scene);
    return noticeBoard().put({ owner: this, mark, workflow, words, isUrgent: ASKING.has(mark.key), show: () => this.showRun(step) });
  }

  showRun(step) {
    const views = [...this.store.views].filter((view) => view.root.isConnected);
    const view = views.find((each) => each.root.offsetParent !== null) ?? views[0];
    this.dismiss();
    if (!view) return;
    if (step >= 0) view.store.choose(step);
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    view.root.scrollIntoView({ block: "center", behavior: isCalm ? "auto" : "smooth" });
    view.takeFocus();
  }

  dismiss() {
    noticeBoard().remove(this);
  }

  dispose() {
    titleBadge().set(this, null);
    this.dismiss();
  }
}
