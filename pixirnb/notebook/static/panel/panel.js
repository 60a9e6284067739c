// The step panel: all that is known of the chosen step, at the moment that is shown. The kernel says what; the parts that changed
// are drawn again, the others are left as they are, so that nobody loses what they read or type.

import { actionButton, cellButton } from "../actions/action_buttons.js";
import { Forecast } from "../actions/forecast.js";
import { StatusMessage } from "../actions/status_message.js";
import { inlineCode, keptDisclosure, updateChildren } from "../dom/content.js";
import { button, h, icon, setChildren, setText } from "../dom/elements.js";
import { capitalize, formatClock, formatDuration } from "../dom/formatting.js";
import { Changes } from "../files/changes.js";
import { Conflict } from "../files/conflict.js";
import { concernsFiles } from "../files/seams.js";
import { Conversation } from "../session/conversation.js";
import { Permission } from "../session/permission.js";
import { STEP } from "../state/run_history.js";
import { idOf, labelOf, nameOf } from "../state/step_names.js";
import { ItemGrid } from "./item_grid.js";
import { Output } from "./output.js";
import { describeValue, previewNodes } from "./previews.js";
import { Question } from "./question.js";
import { SECTIONS } from "./sections.js";

const DRAG_MS = 90; // while the slider is dragged, the kernel is asked when it rests
const PANEL_REFRESH_MS = 300; // at most three times a second of a step that changes
const BUSY_AFTER_MS = 1200; // then the kernel is said to be busy

export class Panel {
  constructor(view) {
    this.view = view;
    this.store = view.store;
    this.step = -1;
    this.known = 0; // entries of the tape looked through
    this.shownAttempt = null; // the attempt whose output is shown; null: the last
    this.statusMessage = new StatusMessage();
    this.card = h("div", { class: "pixirnb-card-slot" });
    this.question = new Question(this);
    this.permission = new Permission(this);
    this.conflict = new Conflict(this);
    this.changes = new Changes(this);
    this.items = new ItemGrid(this.store);
    this.output = new Output(this.store);
    this.conversation = new Conversation(this);
    this.title = h("h3", { class: "pixirnb-title" });
    this.facts = h("p", { class: "pixirnb-mute pixirnb-sub" });
    this.progress = h("div", { class: "pixirnb-meter", hidden: true }, h("span", {}));
    this.timeNote = h("p", { class: "pixirnb-then", hidden: true });
    this.note = h("div", { class: "pixirnb-note", role: "status", hidden: true });
    this.actionBar = h("div", { class: "pixirnb-flex-row", role: "group", "aria-label": "Actions", hidden: true });
    this.value = h("section", { class: "pixirnb-part", role: "group", "aria-label": "Value", hidden: true });
    const own = { items: this.items.root, question: this.question.root, permission: this.permission.root, changes: this.changes.root, actionBar: [this.actionBar, this.card, this.statusMessage.root], conversation: this.conversation.root, output: this.output.root, value: this.value };
    this.parts = SECTIONS.map((section) => ({
      section,
      root: section.own ? null : h("section", { class: "pixirnb-part", role: "group", "aria-label": section.name, hidden: true }),
      shown: "",
    }));
    const column = (isFacts) => h("div", {}, this.parts.filter(({ section }) => Boolean(section.isFacts) === isFacts).map(({ section, root }) => root ?? own[section.own]));
    this.inner = h("div", { class: "pixirnb-inner" }, this.timeNote, this.note, this.conflict.root, h("div", { class: "pixirnb-columns" }, column(false), column(true)));
    const close = button("×", () => this.close(), { kind: "pixirnb-close", title: "Close (Esc)" });
    close.setAttribute("aria-label", "Close the panel");
    this.up = button("‹", () => this.store.choose(this.store.boxOf(this.step)), { kind: "pixirnb-close pixirnb-up" });
    this.head = h("header", { class: "pixirnb-panel-head" }, this.up, h("div", { class: "pixirnb-grow" }, this.title, this.facts, this.progress), close);
    this.root = h(
      "aside",
      { class: "pixirnb-panel", hidden: true, tabindex: -1, on: { keydown: (event) => this.onKey(event) } },
      this.head,
      this.inner,
    );
  }

  draw({ has, touched, touchedItems, counted }) {
    const { store } = this;
    const fresh = store.history.entries.slice(this.known);
    this.known = store.history.length;
    if (store.chosen < 0) {
      if (!this.root.hidden) this.hide();
      return;
    }
    const isOther = has("reset") || store.chosen !== this.step;
    if (isOther) this.open(store.chosen);
    this.drawHead();
    if (isOther || has("position", "head", "jump") || counted.has(this.step) || touched.has(this.step)) this.items.draw();
    if (isOther) this.requestRefresh(0);
    else if (has("position")) this.requestRefresh(DRAG_MS);
    else if (has("head") || (!store.isPast && this.concerns(new Set([...touched, ...touchedItems]), fresh))) this.requestRefresh();
    if (!store.isPast) this.output.poll(store.heartbeatOf(this.step)?.[1] ?? null);
    this.conversation.poll(has("stirred") ? store.stirred : null);
  }

  /** Whether steps that changed, or what happened, can be seen in this panel. */
  concerns(touched, fresh) {
    if (touched.has(this.step) || fresh.some((entry) => entry[STEP] === this.step) || concernsFiles(this.store, fresh)) return true;
    for (const neighbour of this.neighbours) if (touched.has(neighbour)) return true;
    return false;
  }

  open(step) {
    const { scene } = this.store;
    const wasHidden = this.root.hidden;
    this.step = step;
    this.neighbours = new Set(step < scene.ids.length ? [...scene.needs[step], ...this.view.graph.dependentsOf(step)] : []);
    const parent = this.store.boxOf(step);
    this.up.hidden = parent === step;
    if (parent !== step) this.up.setAttribute("aria-label", `Back to ${labelOf(scene, parent)}`);
    this.items.open(step);
    this.shownAttempt = null;
    this.loaded = null;
    this.answer = null;
    this.inner.classList.add("pixirnb-unknown");
    this.output.clear();
    this.conversation.clear();
    this.statusMessage.clear();
    this.card.openCard?.close();
    this.root.hidden = false;
    this.root.setAttribute("aria-label", `Step ${labelOf(scene, step)}`);
    this.inner.scrollTop = 0;
    if (this.view.tab === "graph") this.view.graph.reveal(step);
    this.isFresh = wasHidden;
  }

  hide() {
    this.root.hidden = true;
    this.step = -1;
    this.asked = null;
    clearTimeout(this.timer);
    this.timer = null;
    this.output.clear();
    this.conversation.clear();
  }

  close() {
    const { step } = this;
    const hadFocus = this.root.contains(document.activeElement);
    this.store.choose(-1);
    if (hadFocus && this.view.tab === "graph") this.view.graph.reveal(step, { focus: true });
  }

  choose(id) {
    const step = this.store.stepOf.get(id);
    if (step !== undefined) this.store.choose(step);
  }

  /** What the page knows by itself, at once. */
  drawHead() {
    const { store, step } = this;
    const mark = store.markAt(step);
    const stepState = store.stepStateOf(step);
    const isRunning = mark.key === "running" || mark.key === "permission";
    const heartbeat = isRunning ? store.heartbeatOf(step) : null;
    const { item } = this.answer ?? {};
    const name = item?.name || nameOf(store.scene, step);
    const shown = `${mark.key}|${labelOf(store.scene, step)}|${name}`;
    if (this.headShown !== shown) {
      this.headShown = shown;
      updateChildren(this.title, icon(mark, 16), h("span", { class: "pixirnb-grow" }, name), h("span", { class: `pixirnb-${mark.tone}` }, mark.word));
    }
    const limit = this.answer?.max_attempts > 1 ? ` of ${this.answer.max_attempts}` : "";
    const phase = this.answer?.phase && store.scene.phases.length ? `phase ${this.answer.phase}` : "";
    const span = isRunning ? formatClock(store.moment - store.history.startedAt(stepState)) : formatDuration(stepState.elapsed);
    const quiet = heartbeat?.[2] ? `stalled ${formatClock(store.moment - heartbeat[5])}` : "";
    const tries = stepState.attempt > 0 ? `attempt ${stepState.attempt}${stepState.attempt > 1 ? "" : limit}` : "";
    const box = store.boxOf(step);
    const id = store.scene.titles?.[step] || item ? idOf(store.scene, step) : "";
    const of = box === step ? "" : `item of ${nameOf(store.scene, box)}`;
    setText(this.facts, [id, store.scene.kinds[box], of, phase, tries, span, quiet, heartbeat?.[4]].filter(Boolean).join(" · "));
    this.facts.classList.toggle("pixirnb-late", Boolean(quiet));
    const fraction = heartbeat?.[3] ?? null;
    this.progress.hidden = fraction === null;
    if (fraction !== null) this.progress.firstChild.style.width = `${Math.max(0, Math.min(1, fraction)) * 100}%`;
  }

  // --- the kernel ---

  /** Ask again, soon: something about the step changed. */
  requestRefresh(wait = Math.max(0, (this.askedAt ?? -PANEL_REFRESH_MS) + PANEL_REFRESH_MS - performance.now())) {
    if (this.timer && wait === 0) clearTimeout(this.timer);
    else if (this.timer && wait === DRAG_MS) clearTimeout(this.timer);
    else if (this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      this.fetchState();
    }, wait);
  }

  get moment() {
    return this.store.isPast ? this.store.history.seqAt(this.store.at) : null;
  }

  async fetchState() {
    const { store, step, moment } = this;
    if (step < 0) return;
    const key = `${step}|${moment}`;
    if (this.asked?.key === key) {
      this.asked.isStale = true; // one is on its way; when it is there, the next goes out
      return;
    }
    const asked = { key, isStale: false };
    this.asked = asked;
    this.askedAt = performance.now();
    const slow = setTimeout(() => {
      if (this.asked === asked) this.showNote("The kernel is busy; the panel updates when it responds.");
    }, BUSY_AFTER_MS);
    const message = await store.ask({ ask: "step", step: idOf(store.scene, step), at: moment });
    clearTimeout(slow);
    if (this.asked !== asked) return; // another step or moment was asked about meanwhile
    this.asked = null;
    if (!message.ok) {
      this.showError(message.error);
      return;
    }
    this.note.hidden = true;
    this.onAnswer(message.answer);
    if (asked.isStale) this.requestRefresh();
  }

  showNote(words, again = false) {
    if (!this.note.hidden && this.noteText === words) return; // its button may have the focus
    this.note.hidden = false;
    this.noteText = words;
    setChildren(this.note, h("span", {}, words), again ? button("Reload", () => this.requestRefresh(0)) : null);
  }

  showError(error) {
    const isSilent = error.code === "kernel_silent";
    this.showNote(`${error.message} ${error.fix}`, true);
    if (this.store.wasRunning) {
      this.timeNote.hidden = false;
      setText(this.timeNote, "Last known state (kernel disconnected).");
      this.actionBar.hidden = true; // nobody is there to do them
    }
    if (isSilent) this.requestRefresh(2000); // it may be back
  }

  onAnswer(answer) {
    this.answer = answer;
    this.inner.classList.remove("pixirnb-unknown");
    this.drawHead();
    this.timeNote.hidden = !answer.is_past;
    setText(this.timeNote, answer.is_past ? `State at event ${answer.seq.toLocaleString("en-US")}.` : "");
    this.permission.draw(answer);
    this.question.draw(answer);
    this.conflict.draw(answer, this.moment);
    this.changes.draw(answer, this.moment);
    this.drawActionBar(answer);
    this.conversation.draw(answer, this.moment);
    this.drawOutput(answer);
    this.drawValue(answer);
    for (const part of this.parts) if (part.root) this.drawPart(part, answer);
    if (this.isFresh) this.root.scrollIntoView({ block: "nearest" });
    this.isFresh = false;
  }

  drawPart(part, answer) {
    const picked = part.section.pick(answer);
    const shown = JSON.stringify([answer.step, picked, part.section.name === "Attempts" ? this.shownAttempt : null]);
    if (shown === part.shown) return;
    part.shown = shown;
    part.root.hidden = !picked;
    const title = part.section.titled ? h("h4", {}, part.section.name) : null;
    if (picked) updateChildren(part.root, title, part.section.make(picked, this));
  }

  /** A part that folds; how it stands is kept while the page is open. */
  disclosure(...parts) {
    return keptDisclosure(this.store, ...parts);
  }

  // --- parts with a life of their own ---

  drawActionBar(answer) {
    const { can, wishes, actions, step, error, is_past: isPast } = answer;
    const shown = JSON.stringify([step, can, wishes, actions, error?.copy, isPast]);
    if (shown === this.actionBarShown) return;
    this.actionBarShown = shown;
    const { store, view, statusMessage } = this;
    const others = actions.filter(({ action, step: of, cell }) => !(action === "decide_step" && can.decide) && !(action === "rerun_step" && (of ?? step) === step && wishes.rerun) && !(action === "approve_request" && answer.permissions.some(({ wishes: words }) => words)) && cell);
    const buttons = isPast
      ? []
      : [
          wishes.rerun ? button("Rerun …", () => this.forecast(`Rerun ${step}`, { ask: "forecast", from: step }), { title: "Preview the reused and rerun steps first" }) : null,
          wishes.cancel ? actionButton(store, "Cancel step", wishes.cancel, { doing: "Cancelling …", statusMessage, title: "Stop this step; its dependents are held" }) : null,
          error ? cellButton(store, view, "Copy error to cell", error.copy, { statusMessage }) : null,
          others.map(({ phrase, cell, wish, forecast }) => {
            if (forecast && wish) return button(`${capitalize(phrase)} …`, () => this.forecast(capitalize(phrase), forecast));
            if (wish && wish.do !== "decide") return actionButton(store, capitalize(phrase), wish, { doing: "Sending …", statusMessage });
            return cellButton(store, view, ["Insert cell: ", inlineCode(phrase)], cell, { statusMessage, title: `Insert a new cell with: ${cell}` });
          }),
        ].flat().filter(Boolean);
    this.actionBar.hidden = !buttons.length;
    updateChildren(this.actionBar, buttons);
    if (isPast) this.card.openCard?.close();
  }

  forecast(name, ask) {
    new Forecast(this.view, ask, { name, statusMessage: this.statusMessage }).open(this.card);
  }

  toggleAttempt(attempt) {
    this.shownAttempt = this.shownAttempt === attempt ? null : attempt;
    this.drawOutput(this.answer);
    for (const part of this.parts) if (part.section.name === "Attempts") this.drawPart(part, this.answer);
    this.output.root.scrollIntoView({ block: "nearest" });
  }

  drawOutput(answer) {
    const isInConversation = this.shownAttempt === null && !this.conversation.root.hidden; // a conversation holds the same words
    if (!answer.attempts_count || isInConversation) {
      this.output.clear();
      return;
    }
    const last = answer.attempts.at(-1);
    const state = `${last.attempt}|${last.status}`;
    this.output.isQuiet = this.shownAttempt === null && answer.mark.key === "checkpoint_ready";
    this.output.watch({ step: answer.step, attempt: this.shownAttempt, at: this.moment }, this.outputState !== state);
    this.outputState = state;
  }

  drawValue(answer) {
    const { value, is_past: isPast, step } = answer;
    const stored = JSON.stringify([step, value, answer.attempt, isPast]);
    if (stored === this.valueStored) return;
    this.valueStored = stored;
    if (isAlreadyShown(answer)) {
      this.value.hidden = true;
      return;
    }
    const show = button("Load value", () => this.loadValue(step, show, stored));
    this.putValue(value, value.can_load && !isPast ? show : null);
  }

  putValue(value, show) {
    this.value.hidden = value.form === "none" || (value.form === "text" && !value.text);
    const kind = describeValue(value);
    updateChildren(
      this.value,
      h("div", { class: "pixirnb-flex-row" }, h("h4", {}, "Value"), kind ? h("span", { class: "pixirnb-mute" }, kind) : null, h("span", { class: "pixirnb-right" }, show)),
      previewNodes(value),
    );
  }

  async loadValue(step, trigger, stored) {
    trigger.disabled = true;
    setText(trigger, "Loading …");
    const message = await this.store.ask({ ask: "value", step, load: true });
    if (stored !== this.valueStored) return;
    if (message.ok) {
      this.putValue(message.answer, null);
      return;
    }
    trigger.disabled = false;
    setText(trigger, "Load value");
    this.statusMessage.showError(message.error);
  }

  // --- hands ---

  onKey(event) {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    this.close();
  }

  dispose() {
    clearTimeout(this.timer);
    this.output.clear();
    this.conversation.clear();
    this.items.dispose();
    this.step = -1;
    this.asked = null;
  }
}

/** Whether the value is nothing but what was printed or said, and stands above as the output or in the conversation. */
function isAlreadyShown({ kind, value, attempts }) {
  return (kind === "shell" || kind === "agent") && value.form === "text" && Boolean(attempts.at(-1)?.output?.bytes);
}
