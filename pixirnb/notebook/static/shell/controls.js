// The head: how the run stands, what needs a person, and what can be done. Everything stands where it stood; only what changed is
// touched.

import { actionButton, cellButton, copyChip, sendAction } from "../actions/action_buttons.js";
import { Card } from "../actions/confirm_card.js";
import { Forecast } from "../actions/forecast.js";
import { copyText } from "../actions/notebook_cells.js";
import { StatusMessage } from "../actions/status_message.js";
import { inlineCode, keptDisclosure, noteField, updateChildren } from "../dom/content.js";
import { button, h, icon, setChildren, setText } from "../dom/elements.js";
import { capitalize, formatClock, formatDuration, formatTimestamp, pluralize } from "../dom/formatting.js";
import { MergeCard } from "../files/merge_card.js";
import { concernsFiles, mergeList, seamList, seamsTitle } from "../files/seams.js";
import { idOf, nameOf, workflowNameOf } from "../state/step_names.js";
import { historyIndexOf } from "../timeline/history_index.js";
import { Attention } from "./attention.js";
import { StatusCounts } from "./status_counts.js";

const COPIED_MS = 1400;
const DECISIONS = { decide_step: "Decide …", approve_request: "Review request …" }; // actions of a person, and the button that shows what is asked
const OFFERED_ABOVE = new Set(["rerun_step", ...Object.keys(DECISIONS)]); // by what needs attention

export class Controls {
  constructor(view) {
    this.view = view;
    this.store = view.store;
    this.statusMessage = new StatusMessage();
    this.statusCounts = new StatusCounts(this.store, (key) => view.graph.highlight(key));
    this.attention = new Attention(view, (...asked) => this.forecast(...asked));
    this.status = h("span", { class: "pixirnb-status" });
    this.flow = h("span", { class: "pixirnb-flow" });
    this.id = button("", () => this.copyId(), { kind: "pixirnb-id", title: "Copy the run id" });
    this.rare = h("details", { class: "pixirnb-rare", on: { keydown: (event) => event.key === "Escape" && this.closeRare(), focusout: ({ relatedTarget }) => this.rare.contains(relatedTarget) || this.closeRare() } }, h("summary", { "aria-label": "More", title: "More" }, "⋯"), h("div", {}, this.id));
    this.elapsed = h("span", { class: "pixirnb-mute pixirnb-nowrap pixirnb-elapsed" });
    this.actionBar = h("div", { class: "pixirnb-run-actions", role: "group", "aria-label": "Run actions" });
    this.top = h("div", { class: "pixirnb-top" }, this.status, this.flow, this.statusCounts.chips, this.elapsed, this.actionBar, this.rare);
    this.sentence = h("p", { class: "pixirnb-sentence", role: "status", "aria-live": "polite", hidden: true });
    this.card = h("div", { class: "pixirnb-card-slot" });
    this.more = h("div", { class: "pixirnb-more" });
    this.root = h("div", { class: "pixirnb-controls" }, this.top, this.statusCounts.bar, this.sentence, this.attention.root, this.statusMessage.root, this.card, this.more);
  }

  draw(change) {
    const { store } = this;
    const { has } = change;
    this.drawTop();
    this.statusCounts.draw(change);
    if (has("reset", "head", "jump")) {
      const words = store.isPast || store.isLive ? "" : store.sentence;
      setText(this.sentence, words);
      this.sentence.hidden = !words;
      this.sentence.classList.toggle("pixirnb-hidden", !store.wasRunning && !store.head.has_note); // the counts show it
      if (words && !store.isPast) this.statusMessage.runEnded();
      this.drawActionBar();
      this.drawMore();
    }
    const fresh = store.history.entries.slice(this.known ?? store.history.length);
    this.known = store.history.length;
    if (has("reset", "head") || concernsFiles(store, fresh)) this.fetchState();
    this.attention.draw(change);
  }

  drawTop() {
    const { store } = this;
    const mark = store.statusMark;
    const shown = `${mark.key}|${workflowNameOf(store.scene)}|${store.scene.run_id}`;
    if (shown !== this.topShown) {
      this.topShown = shown;
      this.status.className = `pixirnb-status pixirnb-${mark.tone}`;
      setChildren(this.status, icon(mark, 18), mark.word);
      setText(this.flow, workflowNameOf(store.scene));
      this.flow.title = store.scene.workflow_title ? store.scene.workflow : "";
      setText(this.id, store.scene.run_id);
    }
    // A run that rested between two courses was not at work meanwhile.
    const worked = () => historyIndexOf(store).courses.activeAt(store.moment);
    const span = store.isPast ? formatDuration(worked()) : store.isLive || store.wasRunning ? formatClock(worked()) : formatDuration(store.head.elapsed_ms);
    setText(this.elapsed, store.head.live === "elsewhere" && !store.isPast && !store.isKernelGone ? `${span} · running in another process` : span);
  }

  closeRare() {
    this.rare.open = false;
  }

  toggleFullscreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.view.root.requestFullscreen();
  }

  /** The front-end opens it, where our extension of it hears the event. */
  openInTab() {
    this.view.root.dispatchEvent(new Event("pixirnb-open-in-tab", { bubbles: true }));
    this.closeRare();
  }

  async copyId() {
    const { run_id: id } = this.store.scene;
    const isCopied = await copyText(id);
    setText(this.id, isCopied ? "copied" : id);
    setTimeout(() => setText(this.id, id), COPIED_MS);
  }

  // --- what can be done ---

  /** What the kernel says of the run; until it answers, the head that came with the widget has to do. */
  async fetchState() {
    const asked = (this.asked = {});
    const message = await this.store.ask({ ask: "run", at: null });
    if (this.asked !== asked || !message.ok) return;
    this.answer = message.answer;
    this.drawActionBar();
    this.drawMore();
  }

  get can() {
    const { isLive, wasRunning } = this.store;
    if (wasRunning) return {};
    const isKnown = this.answer && Boolean(this.answer.live) === isLive;
    return isKnown ? this.answer.can : { cancel: isLive, drain: isLive, checkpoint: true, resume: !isLive };
  }

  drawActionBar() {
    const { store, can, statusMessage } = this;
    const checkpoints = store.isPast ? [] : (this.answer?.checkpoints ?? []);
    const shown = JSON.stringify([can, checkpoints, store.isPast, store.scene.run_id]);
    if (shown === this.actionBarShown) return;
    this.actionBarShown = shown;
    this.actionBar.hidden = store.isPast;
    updateChildren(this.actionBar, [
      can.cancel ? actionButton(store, "Cancel run", { do: "cancel" }, { doing: "Cancelling …", statusMessage, title: "Stop all running steps and end the run; it can be resumed" }) : null,
      can.drain ? actionButton(store, "Finish running steps", { do: "drain" }, { doing: "Draining …", statusMessage, title: "Drain the run: finish the running steps and start no new ones", done: () => statusMessage.showWhileLive("No new steps start; the run ends when its running steps finish.") }) : null,
      can.resume ? button("Resume …", () => this.forecast("Resume the run", { ask: "forecast" }), { title: "Preview the reused and rerun steps first" }) : null,
    ]);
    updateChildren(this.rare.lastChild, [
      this.id,
      can.checkpoint && !store.isPast ? button("Checkpoint …", () => this.nameCheckpoint(), { title: "Save a named checkpoint that a run can start from later" }) : null,
      checkpoints.length ? button(pluralize(checkpoints.length, "checkpoint"), () => this.listCheckpoints(checkpoints), { title: "List the saved checkpoints; start a run from one" }) : null,
      button("Open in a tab", () => this.openInTab(), { title: "Show the output of this cell in a tab next to the notebook", kind: "pixirnb-in-tab" }),
      document.fullscreenEnabled ? button("Full screen", () => this.toggleFullscreen(), { title: "Give the view the whole screen, or back" }) : null,
    ]);
    if (store.isPast) this.card.openCard?.close();
  }

  /** What a card needs to know: buttons are drawn again while a card is open, so the focus may find another button there. */
  get cardOptions() {
    return { statusMessage: this.statusMessage, fallbackFocus: () => this.actionBar.querySelector("button") };
  }

  forecast(name, ask) {
    new Forecast(this.view, ask, { name, ...this.cardOptions }).open(this.card);
  }

  nameCheckpoint() {
    const name = h("input", { type: "text", class: "pixirnb-field", maxlength: 64, spellcheck: "false", autocomplete: "off" });
    const { note, label } = noteField();
    const save = h("button", { type: "submit", class: "pixirnb-button pixirnb-primary" }, "Save");
    const submit = async (event) => {
      event.preventDefault();
      if (!name.value.trim()) {
        name.focus();
        return;
      }
      const wish = { do: "checkpoint", name: name.value.trim(), ...(note.value.trim() ? { note: note.value.trim() } : {}) };
      const answer = await sendAction(this.store, wish, { trigger: save, doing: "Saving …", statusMessage: this.statusMessage });
      if (!answer) return;
      this.statusMessage.show("Saved checkpoint ", h("b", {}, wish.name), ".");
      card.close();
      this.fetchState();
    };
    const form = h(
      "form",
      { class: "pixirnb-forecast pixirnb-form", "aria-label": "Save a checkpoint", on: { submit } },
      h("h4", {}, "Save a checkpoint"),
      h("label", { class: "pixirnb-label" }, h("span", {}, "Name"), name),
      label,
      h("div", { class: "pixirnb-flex-row" }, save, button("Cancel", () => card.close())),
    );
    const card = new Card(form, this.cardOptions);
    card.open(this.card, name);
  }

  listCheckpoints(checkpoints) {
    const list = h(
      "section",
      { class: "pixirnb-forecast", role: "group", "aria-label": "Checkpoints", tabindex: -1 },
      h("h4", {}, "Checkpoints"),
      h("ul", { class: "pixirnb-next" }, checkpoints.map((each) => this.checkpoint(each))),
      h("div", { class: "pixirnb-flex-row" }, button("Close", () => card.close())),
    );
    const card = new Card(list, this.cardOptions);
    card.open(this.card);
  }

  // --- what else there is to say ---

  drawMore() {
    const { store, answer } = this;
    const isNow = !store.isPast;
    const isResting = isNow && !store.isLive && !store.wasRunning;
    const reasons = isResting ? (answer?.reasons ?? store.head.reasons) : [];
    const warnings = isNow ? (answer?.warnings ?? store.head.warnings) : [];
    const [attended] = this.attention.steps().map((step) => idOf(store.scene, step));
    const actions = (isResting ? (answer?.actions ?? store.head.actions) : []).filter(({ action, step }) => step !== attended || !OFFERED_ABOVE.has(action));
    const seams = isNow ? (answer?.seams ?? []) : [];
    const merges = isNow ? (answer?.merges ?? []) : [];
    const isSaid = attended !== undefined;
    const shown = JSON.stringify([reasons, warnings, actions, seams, merges, isSaid]);
    if (shown === this.moreShown) return;
    this.moreShown = shown;
    const merged = JSON.stringify(merges);
    if (merged !== this.merged) this.offer?.reload();
    this.merged = merged;
    updateChildren(this.more, [
      reasons.length > (isSaid ? 1 : 0) ? this.disclosure("reasons", `Why not completed (${reasons.length})`, h("ul", {}, reasons.map((each) => h("li", {}, inlineCode(each)))), !isSaid) : null,
      seams.length ? this.disclosure("seams", seamsTitle(seams), seamList(seams, store, { statusMessage: this.statusMessage, choose: (name) => store.choose(store.stepOf.get(name)), requestRefresh: () => this.fetchState() })) : null,
      merges.length ? this.disclosure("merges", pluralize(merges.length, "merge"), mergeList(merges, (wish) => this.merge(wish))) : null,
      warnings.length ? this.disclosure("warnings", pluralize(warnings.length, "warning"), h("ul", {}, warnings.map((each) => h("li", {}, this.warning(each))))) : null,
      actions.length ? this.disclosure("next", `Actions (${actions.length})`, h("ul", { class: "pixirnb-next" }, actions.map((each) => this.action(each)))) : null,
    ]);
  }

  disclosure(name, words, body, isOpen = false) {
    return keptDisclosure(this.store, `run ${name}`, words, isOpen, body);
  }

  merge(wish) {
    this.offer = new MergeCard(this.view, wish, this.cardOptions);
    this.offer.open(this.card);
  }

  warning({ text, step }) {
    const index = this.store.stepOf.get(step);
    if (index === undefined) return inlineCode(text);
    const link = button(nameOf(this.store.scene, index), () => this.store.choose(index), { kind: "pixirnb-slight", title: "Show this step" });
    return [link, " ", inlineCode(text)];
  }

  action({ action, step, phrase, cell, wish, forecast }) {
    const { store, view, statusMessage } = this;
    const index = store.stepOf.get(step);
    const doIt = forecast
      ? button("Preview …", () => this.forecast(capitalize(phrase), forecast))
      : DECISIONS[action] && index !== undefined
        ? button(DECISIONS[action], () => store.choose(index))
        : wish?.do === "merge"
          ? button("Merge …", () => this.merge(wish), { title: "Preview the changes to your files first" })
          : action === "resolve_seam" && index !== undefined
          ? button("Show seam …", () => store.choose(index))
          : wish && wish.do !== "decide"
          ? actionButton(store, "Apply", wish, { doing: "Sending …", statusMessage })
          : null;
    return h("li", {}, h("span", { class: "pixirnb-grow" }, inlineCode(capitalize(phrase)), " ", cell ? copyChip(cell, statusMessage) : null), doIt, cell ? cellButton(store, view, "Insert cell", cell, { statusMessage }) : null);
  }

  checkpoint({ name, at, reason, note, ready, forecast }) {
    const facts = [pluralize(ready, "step") + " ready", reason.replaceAll("_", " "), formatTimestamp(at)].filter(Boolean).join(" · ");
    return h(
      "li",
      {},
      h("span", { class: "pixirnb-grow" }, h("b", {}, name), " ", h("span", { class: "pixirnb-mute" }, facts), note ? h("div", {}, note) : null),
      forecast ? button("Fork from here …", () => this.forecast(`Start a new run from ${name}`, forecast)) : null,
    );
  }
}
