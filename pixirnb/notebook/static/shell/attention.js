// What a run needs of a person, below its head: the first step that asks, with its form; at rest without one, the first that failed,
// with its reason and what can be done. It gives way to the panel where that shows the same step.

import { cellButton } from "../actions/action_buttons.js";
import { StatusMessage } from "../actions/status_message.js";
import { inlineCode, keptDisclosure, updateChildren } from "../dom/content.js";
import { button, h } from "../dom/elements.js";
import { markIcon } from "../dom/marks.js";
import { Conflict } from "../files/conflict.js";
import { Question } from "../panel/question.js";
import { Permission } from "../session/permission.js";
import { idOf, nameOf } from "../state/step_names.js";

const ASKING_MARKS = new Set(["needs_orchestrator", "permission"]);
const MAX_NAMED = 6; // further steps that are named

export class Attention {
  /** `forecast(name, question)` opens the preview of a rerun. */
  constructor(view, forecast) {
    this.view = view;
    this.store = view.store;
    this.forecast = forecast;
    this.step = -1;
    this.statusMessage = new StatusMessage();
    this.line = h("div", { class: "pixirnb-flex-row" });
    this.forms = [new Permission(this), new Question(this), new Conflict(this)];
    // The panel has landmarks of these names.
    for (const { root } of this.forms) root.setAttribute("role", "group");
    this.root = h("section", { class: "pixirnb-attention", role: "group", "aria-label": "Needs attention", hidden: true, tabindex: -1 }, this.line, this.forms.map(({ root }) => root), this.statusMessage.root);
  }

  draw({ has, touched, touchedItems = new Set() }) {
    if (!has("reset", "head", "position", "chosen") && !touched.size && !touchedItems.size) return;
    const { store } = this;
    const steps = this.steps();
    const [step] = steps;
    this.others = steps.slice(1);
    this.isShown = steps.length > 0 && step !== store.chosen;
    if (!this.isShown) this.root.hidden = true;
    const isOther = step !== this.step || has("reset");
    this.step = step ?? -1;
    if (this.isShown && (isOther || this.root.hidden || has("head") || touched.has(step) || touchedItems.has(step))) this.requestRefresh();
  }

  /** The steps that ask; where none does and the run rests, those that failed. */
  steps() {
    const { store } = this;
    if (store.isPast || store.wasRunning) return [];
    // Items that failed are the matter of their step; those that ask have nobody else who asks for them.
    const those = (steps, wanted) => [...steps].filter((step) => wanted(store.markAt(step)));
    const asking = those(store.history.changes.keys(), ({ key }) => ASKING_MARKS.has(key));
    return asking.length || store.isLive ? asking : those(store.scene.ids.keys(), ({ tone }) => tone === "bad");
  }

  async requestRefresh() {
    const { store, step } = this;
    const asked = (this.asked = {});
    const message = await store.ask({ ask: "step", step: idOf(store.scene, step), at: null });
    if (this.asked !== asked || !this.isShown || !message.ok) return; // without an answer the graph says it
    const { answer } = message;
    this.root.hidden = false;
    this.root.classList.toggle("pixirnb-failing", !ASKING_MARKS.has(answer.mark.key));
    updateChildren(this.line, this.lineNodes(answer));
    for (const form of this.forms) form.draw(answer, null);
  }

  lineNodes({ step, mark, headline, error, wishes }) {
    const { store, view, statusMessage } = this;
    const link = (index) => button(nameOf(store.scene, index), () => store.choose(index), { kind: "pixirnb-slight", title: "Show this step" });
    const named = this.others.slice(0, MAX_NAMED);
    const more = this.others.length - named.length;
    const also = named.length ? h("span", { class: "pixirnb-flex-row pixirnb-mute" }, "also", named.map(link), more ? `and ${more.toLocaleString("en-US")} more` : null) : null;
    if (ASKING_MARKS.has(mark.key)) return [link(this.step), also];
    const title = store.scene.titles?.[this.step];
    const printed = error?.kind === "exit" ? lastLine(error.tail) : "";
    return [
      markIcon(store, mark),
      h("span", { class: "pixirnb-grow", role: "status", "aria-live": "polite" }, title ? [h("b", {}, title), " "] : null, inlineCode(headline), printed ? [" ", h("code", {}, printed)] : null),
      wishes.rerun ? button("Rerun …", () => this.forecast(`Rerun ${step}`, { ask: "forecast", from: step }), { title: "Preview the reused and rerun steps first" }) : null,
      error ? cellButton(store, view, "Copy error to cell", error.copy, { statusMessage }) : null,
      button("Details", () => this.choose(step), { title: "Show this step" }),
      also,
    ];
  }

  choose(id) {
    this.store.choose(this.store.stepOf.get(id));
  }

  disclosure(...parts) {
    return keptDisclosure(this.store, ...parts);
  }
}

/** The last line with words of printed `[style, text]` segments, in one line of a head. */
function lastLine(segments) {
  const words = segments.map(([, text]) => text).join("").trimEnd();
  return words.slice(words.lastIndexOf("\n") + 1).trim().slice(0, 200);
}
