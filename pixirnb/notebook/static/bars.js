// One row of the timeline: a step's name, and its spells as bars. Elements stay as long as what they show, so that one that has
// the focus keeps it.

const WORD_ROOM = 68; // px a bar needs to hold its span
const ICON_ROOM = 20;

class Bars {
  constructor(timeline, step) {
    this.timeline = timeline;
    this.stage = timeline.stage;
    this.step = step;
    this.shown = new Map(); // spell -> element
    const id = this.stage.scene.ids[step];
    this.mark = h("span", { class: "pixirnb-row-mark" });
    this.name = h("div", { class: "pixirnb-row-name", role: "rowheader", title: id }, this.mark, h("span", {}, id));
    this.name.step = step;
    this.lane = h("div", { class: "pixirnb-lane", role: "gridcell" });
    this.after = h("span", { class: "pixirnb-after", "aria-hidden": "true" });
    this.lane.append(this.after);
    this.root = h("div", { class: "pixirnb-timeline-row", role: "row" }, this.name, this.lane);
  }

  /** Draw what is known at the position that is shown. */
  draw() {
    const { timeline, stage } = this;
    const position = stage.at;
    const mark = stage.markAt(this.step);
    if (this.drawnMark !== mark.key) {
      this.drawnMark = mark.key;
      fill(this.mark, icon(mark, 13));
      this.name.setAttribute("aria-label", `${stage.scene.ids[this.step]}: ${mark.word}`);
    }
    this.root.classList.toggle("pixirnb-chosen-row", stage.chosen === this.step);
    const seen = new Set();
    let end = 0;
    let last = null;
    let waited = 0;
    for (const spell of timeline.chronicle.spells.of[this.step]) {
      if (spell.opened >= position) break;
      seen.add(spell);
      const [from, to] = [timeline.axis.x(spell.from), timeline.axis.x(this.endOf(spell, position))];
      if (spell.kind === "wait") waited = this.endOf(spell, position) - spell.from;
      this.bar(spell, from, to, position, waited);
      if (spell.kind !== "wait") [last, waited, end] = [spell, 0, to];
    }
    for (const [spell, element] of this.shown) {
      if (seen.has(spell)) continue;
      if (element === document.activeElement) timeline.frame.focus({ preventScroll: true });
      element.remove();
      this.shown.delete(spell);
    }
    this.drawAfter(last, end, position);
  }

  /** The last span, where its bar has no room for it. */
  drawAfter(last, end, position) {
    const wide = last ? this.shown.get(last).wide : 0;
    say(this.after, last && wide < WORD_ROOM && last.kind !== "delay" ? this.spanOfSpell(last, position) : "");
    put(this.after, "left", `${(end + (wide < ICON_ROOM ? 20 : 5)).toFixed(1)}px`);
  }

  endOf(spell, position) {
    if (spell.closed < position) return spell.to;
    return Math.max(spell.from, this.stage.moment);
  }

  isOpen(spell, position) {
    return spell.closed >= position;
  }

  /** How an attempt, a wait or a question looked at a position. */
  markOf(spell, position) {
    const { stage } = this;
    const { marks, run } = stage.look;
    if (spell.kind === "ask") return run.needs_orchestrator;
    if (spell.kind !== "run") return marks[stage.markOf.queued];
    if (this.isOpen(spell, position)) {
      const now = stage.markAt(this.step);
      return ["running", "permission", "lost"].includes(now.key) ? now : marks[stage.markOf.running];
    }
    return marks[spell.judged < position && spell.verdict >= 0 ? spell.verdict : spell.mark] ?? marks[stage.markOf.ended];
  }

  spanOfSpell(spell, position) {
    if (this.isOpen(spell, position)) return clockOf(this.endOf(spell, position) - spell.from);
    return spanOf(spell.elapsed >= 0 ? spell.elapsed : spell.to - spell.from);
  }

  bar(spell, from, to, position, waited) {
    let element = this.shown.get(spell);
    const isPlain = spell.kind === "wait";
    if (!element) {
      element = isPlain ? h("i", {}) : h("button", { type: "button", tabindex: "-1" });
      element.spell = spell;
      this.shown.set(spell, element);
      this.lane.insertBefore(element, this.after);
    }
    const width = Math.max(isPlain ? 0 : 3, to - from);
    element.wide = width;
    const mark = this.markOf(spell, position);
    const isOnPath = this.timeline.path?.set.has(spell) ?? false;
    const drawn = `${from.toFixed(1)}|${width.toFixed(1)}|${mark.key}|${this.isOpen(spell, position)}|${isOnPath}|${waited > 0}`;
    if (element.drawn === drawn) return;
    element.drawn = drawn;
    put(element, "left", `${from.toFixed(1)}px`);
    put(element, "width", `${width.toFixed(1)}px`);
    if (isPlain) {
      element.className = "pixirnb-wait";
      element.title = this.told(spell, mark, position, 0);
      return;
    }
    const state = [this.isOpen(spell, position) ? "pixirnb-unended" : "", isOnPath ? "pixirnb-critical" : ""].filter(Boolean).join(" ");
    element.className = `pixirnb-spell pixirnb-spell-${spell.kind} pixirnb-as-${mark.key} pixirnb-${mark.tone} ${state}`;
    const words = this.told(spell, mark, position, waited, isOnPath);
    element.setAttribute("aria-label", words);
    element.title = words;
    this.fillBar(element, spell, mark, width, position);
  }

  fillBar(element, spell, mark, width, position) {
    const shape = spell.kind === "delay" ? null : icon(mark, 12);
    const tries = spell.kind === "run" && spell.attempt > 1 && width > 84 ? `×${spell.attempt} ` : "";
    const words = width >= WORD_ROOM && spell.kind !== "delay" ? `${tries}${this.spanOfSpell(spell, position)}` : "";
    fill(element, shape, words ? h("span", {}, words) : null);
    element.classList.toggle("pixirnb-slim", width < ICON_ROOM);
  }

  told(spell, mark, position, waited, isOnPath = false) {
    const id = this.stage.scene.ids[this.step];
    const span = this.spanOfSpell(spell, position);
    const begun = `from ${spanOf(this.timeline.chronicle.courses.told(spell.from))}`;
    const parts = {
      run: [`${id}, attempt ${spell.attempt}: ${mark.word}`, span, begun],
      wait: [`${id}: ready to start and waited`, span],
      delay: [`${id}: waited to be tried again`, span, begun],
      ask: [`${id}: asked a person`, this.isOpen(spell, position) ? "no answer yet" : spell.verdict === 1 ? "accepted" : spell.verdict === 0 ? "rejected" : "no answer", span, begun],
    }[spell.kind];
    if (waited >= SCARCELY) parts.push(`after a wait of ${spanOf(waited)}`);
    if (isOnPath) parts.push("on the critical path");
    return parts.filter(Boolean).join(", ");
  }
}
