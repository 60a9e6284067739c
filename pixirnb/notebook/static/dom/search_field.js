// A field that finds: the first hit is shown at once, all are counted; Enter goes to the next and Shift-Enter to the one before.

import { button, h, setText } from "./elements.js";

export class SearchField {
  /** `find(words)` returns the hits; `show(hit, index)` brings one into view. `hasButtons`: next and previous are buttons too. */
  constructor({ name, find, show, hasButtons = false }) {
    this.find = find;
    this.show = show;
    this.hits = [];
    this.at = -1;
    this.field = h("input", {
      type: "search",
      class: "pixirnb-field pixirnb-find",
      placeholder: name,
      "aria-label": name,
      spellcheck: "false",
      autocomplete: "off",
      on: { input: () => this.onInput(), keydown: (event) => this.onKey(event) },
    });
    this.words = h("span", { class: "pixirnb-mute pixirnb-nowrap", role: "status", "aria-live": "polite" });
    const step = (text, title, direction) => {
      const made = button(text, () => this.goTo(direction), { kind: "pixirnb-slight", title });
      made.setAttribute("aria-label", title);
      return made;
    };
    this.buttons = h("span", { class: "pixirnb-joined", hidden: true }, hasButtons ? [step("‹", "Previous match", -1), step("›", "Next match", 1)] : null);
    this.root = h("span", { class: "pixirnb-finder" }, this.words, this.buttons, this.field);
  }

  onInput() {
    this.search(0);
    if (this.hits.length) this.show(this.hits[0], 0);
  }

  /** Look again; `at` is kept where what is looked through has changed and not what is looked for. */
  search(at = -1) {
    this.hits = this.find(this.field.value) ?? [];
    this.at = at < this.hits.length ? at : -1;
    this.showCount();
  }

  /** The next hit, or with -1 the one before. */
  goTo(direction) {
    if (!this.hits.length) return;
    this.at = this.at < 0 ? (direction > 0 ? 0 : this.hits.length - 1) : (this.at + direction + this.hits.length) % this.hits.length;
    this.show(this.hits[this.at], this.at);
    this.showCount();
  }

  clear() {
    this.field.value = "";
    this.search();
  }

  showCount() {
    const all = this.hits.length.toLocaleString("en-US");
    this.buttons.hidden = !this.hits.length;
    if (!this.field.value.trim()) setText(this.words, "");
    else if (!this.hits.length) setText(this.words, "none");
    else setText(this.words, this.at < 0 ? `${all} found` : `${(this.at + 1).toLocaleString("en-US")} of ${all}`);
  }

  onKey(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.goTo(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape" && this.field.value) {
      event.preventDefault();
      event.stopPropagation();
      this.clear();
    }
  }
}
