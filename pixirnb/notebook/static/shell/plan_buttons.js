// The buttons of a plan that was not run yet. A click starts the run; the widget is the run's from then on, and its view takes this place.

import { cellButton, sendAction } from "../actions/action_buttons.js";
import { StatusMessage } from "../actions/status_message.js";
import { codeList } from "../dom/content.js";
import { button, h } from "../dom/elements.js";
import { Questions } from "../state/questions.js";

const KERNEL_RESTARTED = { message: "The kernel was restarted.", fix: "Run this cell again to run the plan." };

export class PlanButtons {
  constructor(model, host) {
    this.model = model;
    this.plan = model.get("plan");
    this.questions = new Questions(model, () => this.onKernelGone());
    this.statusMessage = new StatusMessage();
    const { workflow, steps, missing } = this.plan;
    this.run = button("Run", () => this.start(this.run), { kind: "pixirnb-primary", title: `Start a run of ${workflow}` });
    this.until = h("select", { class: "pixirnb-field", on: { change: () => this.drawUntil() } }, h("option", { value: "" }, "last step"), steps.map((step) => h("option", { value: step }, step)));
    this.runUntil = button("Run until here", () => this.start(this.runUntil, this.until.value), { title: "Run this step and the steps that it needs" });
    this.runUntil.hidden = true;
    this.root = h(
      "div",
      { class: "pixirnb-view pixirnb-window pixirnb-plan", role: "group", "aria-label": `Run ${workflow}` },
      h(
        "div",
        { class: "pixirnb-flex-row" },
        this.run,
        steps.length > 1 ? h("label", { class: "pixirnb-flex-row" }, h("span", { class: "pixirnb-mute" }, "Until"), this.until) : null,
        this.runUntil,
        missing.length ? h("span", { class: "pixirnb-mute" }, missing.length > 1 ? "Needs inputs " : "Needs input ", codeList(missing)) : null,
      ),
      this.statusMessage.root,
    );
    // Keys typed here are not the notebook's.
    this.root.addEventListener("keydown", (event) => event.stopPropagation());
    host.append(this.root);
    model.on("msg:custom", (message) => this.questions.take(message));
    model.on("comm_live_update", () => this.questions.send({ ask: "plan" })); // a kernel that is restarted
  }

  drawUntil() {
    this.runUntil.hidden = !this.until.value;
  }

  async start(trigger, until = null) {
    const { questions, statusMessage, plan, model } = this;
    const others = [this.run, this.runUntil].filter((each) => each !== trigger);
    const refused = await sendAction(questions, { do: "run", until }, { trigger, doing: "Starting …", statusMessage, others });
    if (refused === null && !this.isGone && plan.missing.length) statusMessage.root.append(cellButton({ model }, this, "Insert cell", plan.command, { statusMessage }));
  }

  onKernelGone() {
    this.isGone = true;
    for (const each of [this.run, this.runUntil, this.until]) each.disabled = true;
    this.statusMessage.showError(KERNEL_RESTARTED);
  }

  /** Leave the page to the view of the run; whether the focus was here. */
  dispose() {
    const hadFocus = this.root.contains(document.activeElement);
    this.root.remove();
    return hadFocus;
  }
}
