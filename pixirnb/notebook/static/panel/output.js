// The end of what an attempt printed, to be read, searched and copied. While it runs it is asked for again, at most once a second and
// only after a sign of new output; it keeps to its end unless a person scrolled up to read.

import { copyText } from "../actions/notebook_cells.js";
import { StatusMessage } from "../actions/status_message.js";
import { ansiNodes } from "../dom/ansi.js";
import { textBlock } from "../dom/content.js";
import { button, h, setText } from "../dom/elements.js";
import { formatBytes } from "../dom/formatting.js";
import { SearchField } from "../dom/search_field.js";
import { findWords, firstErrorLine, markPlaces } from "./printed_text.js";

const OUTPUT_REFRESH_MS = 1000;

export class Output {
  constructor(store) {
    this.store = store;
    this.key = "";
    this.isAtEnd = true;
    this.isQuiet = false; // whether it goes without saying that nothing was printed
    this.segments = [];
    this.places = []; // what is marked in the text: what was searched for, or the line of the error
    this.current = -1; // of the places, the one that was gone to
    this.words = "";
    this.heading = h("h4", {});
    this.about = h("p", { class: "pixirnb-mute" });
    this.text = textBlock("", "Printed output", "pixirnb-output");
    this.text.addEventListener("scroll", () => {
      const { scrollTop, scrollHeight, clientHeight } = this.text;
      this.isAtEnd = scrollHeight - scrollTop - clientHeight < 24;
    });
    this.statusMessage = new StatusMessage();
    this.finder = new SearchField({ name: "Find in output", find: (words) => this.search(words), show: (_, index) => this.reveal(index), hasButtons: true });
    this.errorButton = button("First error", () => this.showError(), { kind: "pixirnb-slight", title: "Jump to the first line that looks like an error" });
    this.wrapButton = button("Wrap", () => this.toggleWrap(), { kind: "pixirnb-slight", pressed: true, title: "Wrap long lines" });
    this.moreButton = button("Show more", () => this.showMore(), { kind: "pixirnb-slight", title: "Show an earlier part of the output too" });
    const copy = button("Copy", () => this.copy(this.words, "Output copied."), { kind: "pixirnb-slight", title: "Copy the output that is shown" });
    const copyPath = button("Copy log path", () => this.copy(this.path, "Path copied: "), { kind: "pixirnb-slight", title: "Copy the path of the file that holds the whole output" });
    this.tools = h("div", { class: "pixirnb-flex-row", role: "group", "aria-label": "Output tools" }, this.finder.root, this.errorButton, this.wrapButton, copy, copyPath, this.moreButton);
    this.root = h("section", { class: "pixirnb-part", role: "group", "aria-label": "Output", hidden: true }, h("div", { class: "pixirnb-flex-row" }, this.heading, this.tools), this.about, this.text, this.statusMessage.root);
  }

  /** Show an attempt's output: `{step, attempt, at}`, `attempt` null for the last one. `isNew`: there is more to be seen. */
  watch(wanted, isNew) {
    const key = JSON.stringify(wanted);
    if (key === this.key && !isNew) return;
    if (key !== this.key) {
      this.key = key;
      this.wanted = wanted;
      this.isAtEnd = true;
      this.heartbeat = null;
      this.isErrorMarked = false;
      this.statusMessage.clear();
    }
    this.ask();
  }

  /** Nothing to show. */
  clear() {
    this.key = "";
    this.root.hidden = true;
    clearTimeout(this.timer);
    this.timer = null;
  }

  /** Look whether the step said anything since it was asked last; `heartbeat` is the moment of its last output. */
  poll(heartbeat) {
    if (!this.isRunning || this.root.hidden || heartbeat === null || heartbeat === this.heartbeat) return;
    this.heartbeat = heartbeat;
    this.ask();
  }

  ask() {
    if (this.timer) return; // one is on its way, and will see this too
    const wait = Math.max(0, (this.asked ?? -OUTPUT_REFRESH_MS) + OUTPUT_REFRESH_MS - performance.now());
    const isOther = this.drawn !== this.key;
    this.timer = setTimeout(() => this.fetch(), isOther ? 0 : wait);
  }

  async fetch() {
    this.timer = null;
    this.asked = performance.now();
    const { key } = this;
    const message = await this.store.ask({ ask: "output", ...this.wanted });
    if (key !== this.key || !message.ok) return; // another was asked for meanwhile; a silent kernel is told of above
    this.draw(message.answer);
  }

  draw(answer) {
    this.drawn = this.key;
    this.isRunning = answer.is_running;
    this.path = answer.path ?? "";
    const isEmpty = !answer.segments.length;
    this.root.hidden = !answer.attempt || (isEmpty && (!answer.sentence || this.isQuiet));
    setText(this.heading, this.wanted.attempt === null ? "Output" : `Output of attempt ${answer.attempt}`);
    const cut = answer.cut ? `Showing the last ${formatBytes(answer.shown)} of ${formatBytes(answer.bytes)}.` : "";
    setText(this.about, [answer.sentence, cut].filter(Boolean).join(" "));
    this.about.hidden = !this.about.textContent;
    this.text.hidden = this.tools.hidden = isEmpty;
    this.moreButton.hidden = !answer.can_load;
    this.segments = answer.segments;
    this.words = answer.segments.map(([, text]) => text).join("");
    const error = firstErrorLine(this.words);
    this.errorButton.hidden = !error;
    if (this.finder.field.value) this.finder.search(this.finder.at);
    else this.mark(this.isErrorMarked && error ? [error] : []);
    if (this.isAtEnd) this.text.scrollTop = this.text.scrollHeight;
  }

  /** Mark places in the text; returns them. */
  mark(places) {
    this.places = places;
    this.render();
    return places;
  }

  /** Scroll to a place, and let it stand out. */
  reveal(index) {
    this.current = index;
    this.render();
    const [mark, box] = [this.marks[index], this.text].map((each) => each.getBoundingClientRect());
    this.text.scrollTop += mark.top - box.top - box.height / 3;
    this.text.scrollLeft = 0;
    this.marks[index].scrollIntoView({ block: "nearest", inline: "nearest" }); // the panel scrolls too
  }

  showError() {
    this.finder.clear();
    this.isErrorMarked = true;
    this.mark([firstErrorLine(this.words)]);
    this.reveal(0);
  }

  search(words) {
    this.isErrorMarked = false;
    this.current = words ? this.finder.at : -1;
    return this.mark(findWords(this.words, words));
  }

  toggleWrap() {
    const isWrapped = !this.text.classList.toggle("pixirnb-unwrapped");
    this.wrapButton.setAttribute("aria-pressed", String(isWrapped));
  }

  showMore() {
    this.isAtEnd = false;
    this.wanted = { ...this.wanted, load: true };
    this.ask();
  }

  async copy(text, done) {
    const isCopied = await copyText(text);
    this.statusMessage.show(isCopied ? done : "Cannot use the clipboard here. Select the text and copy it: ", text === this.path ? h("code", {}, text) : null);
  }

  /** Only what differs from the segment on that changed: a person may be selecting text. */
  render() {
    const parts = markPlaces(this.segments, this.places).map((part) => [...part, part[2] >= 0 && part[2] === this.current]);
    const before = this.parts ?? [];
    const isSame = (index) => before[index].every((each, member) => each === parts[index][member]);
    let same = 0;
    while (same < before.length && same < parts.length && isSame(same)) same += 1;
    while (this.text.childNodes.length > same) this.text.lastChild.remove();
    this.parts = parts;
    for (const [style, text, place, isCurrent] of parts.slice(same)) {
      const nodes = ansiNodes([[style, text]]);
      this.text.append(...(place < 0 ? nodes : [h("mark", { class: isCurrent ? "pixirnb-here" : null }, nodes)]));
    }
    this.marks = [];
    for (const [index, [, , place]] of parts.entries()) if (place >= 0) this.marks[place] ??= this.text.childNodes[index];
  }
}
