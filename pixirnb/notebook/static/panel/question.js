// A question to a person: what is asked, the answers there are, and what was said. The form is built once for a question and left
// alone while someone types.

import { sendAction } from "../actions/action_buttons.js";
import { StatusMessage } from "../actions/status_message.js";
import { inlineCode, noteField, radioGroup, updateChildren } from "../dom/content.js";
import { button, h, setChildren } from "../dom/elements.js";
import { markIcon } from "../dom/marks.js";

const MAX_RADIO_CHOICES = 6; // choices that stand open; more are a list to pick from

export class Question {
  constructor(panel) {
    this.panel = panel;
    this.store = panel.store;
    this.statusMessage = new StatusMessage();
    this.root = h("section", { class: "pixirnb-part pixirnb-question", role: "group", "aria-label": "Question", hidden: true });
    this.shown = "";
    this.fields = null; // the form, once there was one
    this.at = -1; // the field of it that has the focus
  }

  /** From the panel's answer. */
  draw({ step, question, can, wishes }) {
    const shown = JSON.stringify([step, question, can.decide]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.wishes = wishes;
    this.statusMessage.clear();
    this.root.hidden = !question;
    if (!question) {
      setChildren(this.root);
      return;
    }
    this.root.classList.toggle("pixirnb-asking", question.is_open);
    updateChildren(
      this.root,
      h("p", { class: "pixirnb-asked" }, markIcon(this.store, { key: "needs_orchestrator", tone: "ask", symbol: "◆" }), h("b", {}, inlineCode(question.text))),
      question.said ? this.answerNodes(question.said) : null,
      question.is_open && can.decide ? this.form(step, question) : null,
      this.statusMessage.root,
    );
  }

  answerNodes({ verdict, value, note, by, is_acted_on: isActedOn }) {
    return h(
      "p",
      {},
      h("b", {}, verdict === "accept" ? "Accepted" : verdict === "reject" ? "Rejected" : verdict),
      value ? [" with ", h("code", {}, value)] : null,
      by ? ` by ${by}` : null,
      note ? [": ", h("span", { class: "pixirnb-quote" }, note)] : null,
      isActedOn ? null : h("span", { class: "pixirnb-mute" }, " (recorded; resume the run to apply it)"),
    );
  }

  form(step, question) {
    const value = question.choices.length ? this.choices(question.choices) : question.takes_value ? this.freeField() : null;
    const { note, label } = noteField();
    const accept = button("Accept", () => this.send("accept", accept, value, note), { kind: "pixirnb-primary" });
    const reject = button("Reject", () => this.send("reject", reject, value, note));
    this.buttons = [accept, reject];
    this.key = JSON.stringify([step, question.text]);
    this.fields = h(
      "form",
      { class: "pixirnb-form", "aria-label": `Decide ${step}`, on: { submit: (event) => event.preventDefault(), input: () => this.saveDraft(), focusin: (event) => this.onFocusIn(event), focusout: () => this.onFocusOut() } },
      value?.root,
      label,
      h("div", { class: "pixirnb-flex-row" }, accept, reject),
    );
    this.restoreDraft();
    return this.fields;
  }

  /** An output may be redrawn under the hands of whoever types: what stands in the form is kept in the store. */
  saveDraft() {
    const fields = [...this.fields.elements].map(({ value, checked, selectedIndex }) => ({ value, checked, selectedIndex }));
    this.store.draft = { key: this.key, fields, at: this.at };
  }

  restoreDraft() {
    const { draft } = this.store;
    if (draft?.key !== this.key) return;
    [...this.fields.elements].forEach((element, index) => {
      const { value, checked, selectedIndex } = draft.fields[index] ?? {};
      if (element.localName === "select") element.selectedIndex = selectedIndex;
      else if (element.type === "radio") element.checked = checked;
      else if (element.localName !== "button" && element.localName !== "fieldset") element.value = value;
    });
    const held = this.fields.elements[draft.at];
    requestAnimationFrame(() => {
      if (document.activeElement === document.body) held?.focus({ preventScroll: true });
    });
  }

  onFocusIn(event) {
    this.at = [...this.fields.elements].indexOf(event.target);
    this.saveDraft();
  }

  /** Who is taken off the page loses the focus too; that is not to be taken for a person who went on. */
  onFocusOut() {
    setTimeout(() => {
      if (!this.fields.isConnected || this.fields.contains(document.activeElement)) return;
      this.at = -1;
      if (this.store.draft?.key === this.key) this.saveDraft();
    });
  }

  choices(choices) {
    if (choices.length > MAX_RADIO_CHOICES) {
      const list = h("select", { class: "pixirnb-field" }, h("option", {}, "choose …"), choices.map(({ text }) => h("option", {}, text)));
      return {
        root: h("label", { class: "pixirnb-label" }, h("span", {}, "Answer"), list),
        read: () => choices[list.selectedIndex - 1]?.value,
      };
    }
    return radioGroup("Answer", choices);
  }

  freeField() {
    const field = h("textarea", { class: "pixirnb-field", rows: 2, spellcheck: "false" });
    const read = () => {
      const words = field.value.trim();
      if (!words) return undefined;
      try {
        return JSON.parse(words);
      } catch {
        return field.value;
      }
    };
    return { root: h("label", { class: "pixirnb-label" }, h("span", {}, "Value", h("i", {}, " – JSON or plain text")), field), read };
  }

  async send(verdict, trigger, value, note) {
    const given = verdict === "accept" ? value?.read() : undefined;
    const action = {
      ...this.wishes[verdict],
      ...(given === undefined ? {} : { value: given }),
      ...(note.value.trim() ? { note: note.value.trim() } : {}),
    };
    const doing = verdict === "accept" ? "Accepting …" : "Rejecting …";
    const answer = await sendAction(this.store, action, { trigger, doing, statusMessage: this.statusMessage, others: this.buttons });
    if (!answer) return;
    this.store.draft = null;
    this.panel.requestRefresh();
  }
}
