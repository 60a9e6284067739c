// The end of what an attempt printed. While it runs it is asked for again, at most once a second and only after a sign of new
// output; it keeps to its end unless a person scrolled up to read.

import { ansiNodes } from "../dom/ansi.js";
import { textBlock } from "../dom/content.js";
import { h, setText } from "../dom/elements.js";
import { formatBytes } from "../dom/formatting.js";

const OUTPUT_REFRESH_MS = 1000;

export class Output {
  constructor(store) {
    this.store = store;
    this.key = "";
    this.isAtEnd = true;
    this.isQuiet = false; // whether it goes without saying that nothing was printed
    this.heading = h("h4", {});
    this.about = h("p", { class: "pixirnb-mute" });
    this.text = textBlock("", "Printed output", "pixirnb-output");
    this.text.addEventListener("scroll", () => {
      const { scrollTop, scrollHeight, clientHeight } = this.text;
      this.isAtEnd = scrollHeight - scrollTop - clientHeight < 24;
    });
    this.root = h("section", { class: "pixirnb-part", "aria-label": "Output", hidden: true }, this.heading, this.about, this.text);
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
    const isEmpty = !answer.segments.length;
    this.root.hidden = !answer.attempt || (isEmpty && (!answer.sentence || this.isQuiet));
    setText(this.heading, this.wanted.attempt === null ? "Output" : `Output of attempt ${answer.attempt}`);
    const cut = answer.cut ? `Showing the last ${formatBytes(answer.shown)} of ${formatBytes(answer.bytes)}.` : "";
    setText(this.about, [answer.sentence, cut].filter(Boolean).join(" "));
    this.about.hidden = !this.about.textContent;
    this.text.hidden = !answer.segments.length;
    this.render(answer.segments);
    if (this.isAtEnd) this.text.scrollTop = this.text.scrollHeight;
  }

  /** Only what differs from the segment on that changed: a person may be selecting text. */
  render(segments) {
    const before = this.segments ?? [];
    let same = 0;
    while (same < before.length && same < segments.length && before[same][0] === segments[same][0] && before[same][1] === segments[same][1]) same += 1;
    while (this.text.childNodes.length > same) this.text.lastChild.remove();
    this.text.append(...ansiNodes(segments.slice(same)));
    this.segments = segments;
  }
}
