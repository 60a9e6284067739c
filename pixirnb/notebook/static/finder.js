// Find a step by a part of its id: what matches stands out, Enter goes from one to the next.

class Finder {
  constructor(view) {
    this.view = view;
    this.hits = [];
    this.at = -1;
    this.field = h("input", {
      type: "search",
      class: "pixirnb-field pixirnb-find",
      placeholder: "Find a step",
      "aria-label": "Find a step",
      spellcheck: "false",
      autocomplete: "off",
      on: { input: () => this.look(), keydown: (event) => this.key(event) },
    });
    this.words = h("span", { class: "pixirnb-mute pixirnb-nowrap", role: "status", "aria-live": "polite" });
    this.root = h("span", { class: "pixirnb-finder", role: "search" }, this.words, this.field);
  }

  look() {
    this.hits = this.view.graph.search(this.field.value);
    this.at = -1;
    this.tell();
  }

  /** The next hit, or with -1 the one before. */
  go(way) {
    if (!this.hits.length) return;
    this.at = this.at < 0 ? (way > 0 ? 0 : this.hits.length - 1) : (this.at + way + this.hits.length) % this.hits.length;
    this.view.graph.reveal(this.hits[this.at], { close: true });
    this.tell();
  }

  tell() {
    const all = this.hits.length.toLocaleString("en-US");
    if (!this.field.value.trim()) say(this.words, "");
    else if (!this.hits.length) say(this.words, "none");
    else say(this.words, this.at < 0 ? `${all} found` : `${this.at + 1} of ${all}`);
  }

  key(event) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      event.preventDefault();
      this.field.value = "";
      this.look();
    }
  }
}
