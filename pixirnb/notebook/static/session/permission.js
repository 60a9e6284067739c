// What an agent asks to be allowed: exactly that, and two buttons. It is a text of the agent's, shown as such; nothing but a click on a
// button answers it. Answered elsewhere, the buttons go and it says by whom.

import { sendAction } from "../actions/action_buttons.js";
import { StatusMessage } from "../actions/status_message.js";
import { muted, noteField, updateChildren } from "../dom/content.js";
import { button, h } from "../dom/elements.js";
import { markIcon } from "../dom/marks.js";
import { argumentNodes } from "./entries.js";

const ANSWER_LABELS = { allow: ["Allowed", "ready"], deny: ["Denied", "bad"] };

export class Permission {
  constructor(panel) {
    this.panel = panel;
    this.store = panel.store;
    this.cards = new Map(); // by request: a card is left alone while someone writes a note in it
    this.statusMessage = new StatusMessage();
    this.list = h("div", {});
    this.root = h("section", { class: "pixirnb-part", role: "group", "aria-label": "Permission", hidden: true }, this.list, this.statusMessage.root);
  }

  /** From the panel's answer. */
  draw({ step, permissions }) {
    if (step !== this.step) this.statusMessage.clear();
    this.step = step;
    this.root.hidden = !permissions.length;
    const before = this.cards;
    this.cards = new Map();
    for (const asked of permissions) {
      const shown = JSON.stringify(asked);
      const known = before.get(asked.request);
      this.cards.set(asked.request, known?.shown === shown ? known : { shown, node: asked.is_open ? this.open(asked) : this.answered(asked) });
    }
    const nodes = [...this.cards.values()].map(({ node }) => node);
    const isSame = nodes.length === this.list.children.length && nodes.every((node, index) => node === this.list.children[index]);
    if (!isSame) updateChildren(this.list, nodes);
  }

  open({ request, name, about, why, wishes, ...asked }) {
    const { note, label } = noteField("optional, shown to the agent");
    const allow = button("Allow", () => this.send(request, wishes.allow, allow, note, "Allowing …"), { kind: "pixirnb-primary", title: "Allow once: only this call" });
    const deny = button("Deny", () => this.send(request, wishes.deny, deny, note, "Denying …"));
    this.buttons ??= new Map();
    this.buttons.set(request, [allow, deny]);
    return h(
      "form",
      { class: "pixirnb-form pixirnb-asking", "aria-label": `Permission for ${name}`, on: { submit: (event) => event.preventDefault() } },
      h("p", { class: "pixirnb-asked" }, markIcon(this.store, { key: "permission", tone: "ask", symbol: "◇" }), h("span", {}, h("b", {}, "The agent requests permission to use "), h("code", {}, name), " ", h("span", { class: "pixirnb-mute" }, request.split("/").pop()))),
      h("div", { class: "pixirnb-wanted" }, argumentNodes({ name, ...asked }) ?? muted(about || "No arguments.")),
      why ? h("p", {}, h("span", { class: "pixirnb-mute" }, "Agent's reason: "), h("span", { class: "pixirnb-quote" }, why)) : null,
      wishes
        ? [
            label,
            h("div", { class: "pixirnb-flex-row" }, allow, deny),
          ]
        : null,
    );
  }

  answered({ request, name, about, verdict, by, note, ...asked }) {
    const [words, tone] = ANSWER_LABELS[verdict] ?? [verdict, "idle"];
    return this.panel.disclosure(
      `permission ${request}`,
      [h("b", { class: `pixirnb-${tone}` }, words), by ? ` by ${by}` : "", ": ", h("code", {}, name), " ", about],
      false,
      note ? h("p", {}, h("span", { class: "pixirnb-quote" }, note)) : null,
      argumentNodes({ name, ...asked }),
    );
  }

  async send(request, action, trigger, note, doing) {
    const words = note.value.trim();
    const pair = this.buttons.get(request);
    await sendAction(this.store, words ? { ...action, note: words } : action, { trigger, doing, statusMessage: this.statusMessage, others: pair });
    this.panel.requestRefresh(0); // who was refused may have been too late: it says who was there before
  }
}
