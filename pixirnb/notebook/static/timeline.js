// The timeline: a row a step in the order of their starts, a bar an attempt, thin lines where it waited; and the chain of steps
// the length of the course hung on. Only the rows in sight are in the page.

const ROW = 26;
const NAME_ROOM = 176;
const NARROW_NAME_ROOM = 118;
const END_ROOM = 76; // px after the last bar, for its words
const MOST_WIDE = 400_000; // px: wider, browsers lose count
const SEEN_ROWS = 18;
const PATH_ENDS = 4;

class Timeline {
  constructor(view) {
    this.view = view;
    this.stage = view.stage;
    this.rows = new Map(); // step -> Bars
    this.isFit = true;
    this.isPathShown = true;
    this.reach = 0;
    this.words = h("p", { class: "pixirnb-path" });
    this.pathSwitch = button("Critical path", () => this.switchPath(), { pressed: true, title: "Show the chain of steps that the length of this course hung on" });
    this.tools = h(
      "div",
      { class: "pixirnb-tools", role: "toolbar", "aria-label": "Timeline" },
      this.pathSwitch,
      button("−", () => this.zoom(0.6), { title: "A longer stretch of time" }),
      button("+", () => this.zoom(1.6), { title: "A shorter stretch of time" }),
      button("Fit", () => this.fit(), { title: "The whole time" }),
    );
    for (const [place, name] of [[1, "Zoom the time out"], [2, "Zoom the time in"]]) this.tools.children[place].setAttribute("aria-label", name);
    this.ticks = h("div", { class: "pixirnb-ticks" });
    this.corner = h("div", { class: "pixirnb-timeline-corner" }, "step");
    this.head = h("div", { class: "pixirnb-axis", "aria-hidden": "true" }, this.ticks, this.corner);
    this.lines = h("div", { class: "pixirnb-ruled", "aria-hidden": "true" });
    this.axis = new Axis(this.ticks, this.lines);
    this.veil = h("div", { class: "pixirnb-veil", "aria-hidden": "true" });
    this.cursor = h("div", { class: "pixirnb-cursor", "aria-hidden": "true" });
    this.chain = s("svg", { class: "pixirnb-chain", width: 1, height: 1, "aria-hidden": "true" });
    this.rest = h("div", { class: "pixirnb-rest" });
    this.paper = h("div", { class: "pixirnb-paper", role: "presentation" }, this.head, this.lines, this.veil, this.chain, this.cursor, this.rest);
    this.frame = h(
      "div",
      { class: "pixirnb-chart", role: "grid", "aria-label": "Steps over time", tabindex: "0", on: { scroll: () => this.scrolled(), keydown: (event) => this.key(event), click: (event) => this.click(event) } },
      this.paper,
    );
    this.frame.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.frame.addEventListener("focusin", (event) => this.rove(event.target));
    this.root = h("div", { class: "pixirnb-timeline", hidden: true }, h("div", { class: "pixirnb-timeline-head" }, this.words, this.tools), this.frame);
    this.room = [0, 0]; // width and height of the frame, and how far it is scrolled: read when they change, not when drawn
    this.scroll = [0, 0];
    this.sized = new ResizeObserver(([{ contentRect }]) => {
      this.room = [contentRect.width, contentRect.height];
      if (!this.root.hidden) this.layout();
    });
    this.sized.observe(this.frame);
  }

  draw({ has }) {
    this.chronicle = chronicleOf(this.stage);
    if (has("reset")) this.clear();
    this.layout();
  }

  clear() {
    for (const row of this.rows.values()) row.root.remove();
    this.rows.clear();
    this.reach = 0;
    this.pathDrawn = null;
  }

  // --- what is where ---

  /** Sizes, then all that is in sight. */
  layout() {
    const { frame, stage, chronicle } = this;
    const [width] = this.room;
    if (!chronicle || !width) return;
    this.nameRoom = width < 640 ? NARROW_NAME_ROOM : NAME_ROOM;
    const { axis } = this;
    axis.take(chronicle.courses, this.span());
    const fitting = axis.fitting(width - this.nameRoom - END_ROOM);
    if (this.isFit) axis.scale = fitting;
    else axis.scale = Math.min(Math.max(axis.scale, fitting), Math.max(fitting, Math.min(4, MOST_WIDE / axis.span)));
    const { order } = chronicle.spells;
    let count = order.length;
    while (count > 0 && order[count - 1][0] >= stage.at) count -= 1;
    this.count = count;
    const left = stage.scene.ids.length - count;
    say(this.rest, left ? `${plural(left, "step")} ${stage.isLive || stage.isPast ? "not started yet" : "never started"}` : "");
    const top = axis.height;
    const height = top + count * ROW + (left ? ROW : 4);
    put(this.paper, "width", `${Math.max(Math.floor(width), Math.ceil(this.nameRoom + axis.width + END_ROOM))}px`);
    put(this.paper, "height", `${height}px`);
    put(frame, "max-height", `${top + SEEN_ROWS * ROW + 18}px`);
    put(this.paper, "--px-names", `${this.nameRoom}px`);
    put(this.head, "height", `${top}px`);
    put(this.corner, "height", `${top}px`);
    put(this.lines, "top", `${top}px`);
    put(this.rest, "top", `${top + count * ROW}px`);
    if (this.told !== count) frame.setAttribute("aria-rowcount", String((this.told = count)));
    this.follow(height);
    this.drawPath();
    this.gather();
    this.drawCursor();
  }

  /** Who looks at the last row sees the next one come, live and while the history is played. */
  follow(height) {
    const before = this.height ?? height;
    this.height = height;
    const isAtEnd = this.scroll[0] + this.room[1] >= before - ROW;
    if (height > before && isAtEnd && height > this.room[1]) this.frame.scrollTop = height;
  }

  /** How far the picture reaches. While the run goes on, room is kept ahead, so that not every tick moves everything. */
  span() {
    const { stage, chronicle } = this;
    const end = chronicle.courses.told(stage.isLive ? Math.max(stage.now(), stage.story.timeAt(stage.story.length)) : stage.story.timeAt(stage.story.length));
    if (!stage.isLive) this.reach = end;
    else if (end > this.reach || !this.reach) this.reach = Math.max(1000, end * 1.3);
    return this.reach;
  }

  scrolled() {
    this.scroll = [this.frame.scrollTop, this.frame.scrollLeft];
    if (this.chronicle) this.gather();
  }

  /** Bring the rows into the page that came into sight, take away those that left it. */
  gather() {
    const [top, left] = this.scroll;
    const [width] = this.room;
    this.axis.draw(left, left + width);
    const [first, last] = [Math.floor(top / ROW) - 4, Math.ceil(top / ROW) + SEEN_ROWS + 5];
    const kept = new Set();
    for (let place = Math.max(0, first); place < Math.min(this.count, last); place += 1) {
      const step = this.chronicle.spells.order[place][1];
      kept.add(step);
      this.drawRow(step, place);
    }
    for (const [step, row] of this.rows) {
      if (kept.has(step)) continue;
      const place = this.placeOf(step);
      if (place >= 0 && row.root.contains(document.activeElement)) {
        this.drawRow(step, place); // it keeps the focus, out of sight
        continue;
      }
      row.root.remove();
      this.rows.delete(step);
    }
    this.drawChain(first, last);
    this.keepAnchor();
  }

  placeOf(step) {
    const place = this.chronicle.spells.rows.get(step) ?? -1;
    return place < this.count ? place : -1;
  }

  drawRow(step, place) {
    let row = this.rows.get(step);
    if (!row) {
      row = new Bars(this, step);
      this.rows.set(step, row);
      // In the order of the rows, for whoever reads the page instead of looking at it.
      const after = [...this.rows.values()].find((other) => other.place > place);
      this.paper.insertBefore(row.root, after?.root ?? this.rest);
    }
    if (row.place !== place) row.root.setAttribute("aria-rowindex", String(place + 1));
    row.place = place;
    put(row.root, "top", `${this.axis.height + place * ROW}px`);
    row.draw();
  }

  drawCursor() {
    const { stage, axis } = this;
    const isShown = stage.isPast || stage.isLive;
    this.cursor.hidden = !isShown;
    this.veil.hidden = !stage.isPast;
    if (!isShown) return;
    const x = this.nameRoom + axis.x(stage.moment);
    put(this.cursor, "transform", `translateX(${x.toFixed(1)}px)`);
    this.cursor.classList.toggle("pixirnb-cursor-past", stage.isPast);
    put(this.veil, "left", `${x.toFixed(1)}px`);
  }

  // --- the critical path ---

  switchPath() {
    this.isPathShown = !this.isPathShown;
    this.pathSwitch.setAttribute("aria-pressed", String(this.isPathShown));
    this.layout();
  }

  drawPath() {
    const { stage, chronicle } = this;
    const found = chronicle.pathAt(stage.at);
    this.path = this.isPathShown ? found : null;
    const course = found && chronicle.courses.list[found.course];
    const total = found ? chronicle.courses.told(stage.moment) - course.told : 0;
    const span = stage.isLive && !stage.isPast ? clockOf(total) : spanOf(total);
    const drawn = `${found?.course}|${found?.limit}|${this.isPathShown}|${span}`;
    // A button that has the focus stays; the sentence is right again when the focus goes on.
    if ((drawn === this.pathDrawn && found === this.pathFound) || this.words.contains(document.activeElement)) return;
    [this.pathDrawn, this.pathFound] = [drawn, found];
    this.words.hidden = !this.isPathShown;
    if (!found) {
      fill(this.words, h("span", { class: "pixirnb-mute" }, stage.at ? "Nothing has ended yet." : ""));
      return;
    }
    const prefix = chronicle.courses.list.length > 1 ? `Course ${found.course + 1}, critical path ` : "Critical path ";
    const { links } = found;
    const shown = links.length <= 2 * PATH_ENDS + 1 ? links : [...links.slice(0, PATH_ENDS), null, ...links.slice(-PATH_ENDS)];
    fill(
      this.words,
      prefix,
      h("b", {}, spanOf(found.worked)),
      ` of ${span}: `,
      shown.map((link, number) => [
        number ? h("span", { class: "pixirnb-mute", title: link?.why === "slot" ? "waited for its slot, or for what it held" : null }, link?.why === "slot" ? " ⇢ " : " → ") : null,
        link ? this.pathStep(link.step) : h("span", { class: "pixirnb-mute" }, `${links.length - 2 * PATH_ENDS} more`),
      ]),
    );
  }

  pathStep(step) {
    return h("button", { type: "button", class: "pixirnb-link", on: { click: () => this.stage.choose(step) } }, this.stage.scene.ids[step]);
  }

  /** Lines from the end of each link to the beginning of the next, between two rows: what is out of sight costs nothing. */
  drawChain(first, last) {
    const { path, axis } = this;
    let d = "";
    path?.links.forEach((link, number) => {
      const before = path.links[number - 1];
      if (!before) return;
      const [above, below] = [this.placeOf(before.step), this.placeOf(link.step)];
      if (Math.max(above, below) < first || Math.min(above, below) > last) return;
      const middle = (place) => axis.height + (Math.min(last, Math.max(first, place)) + 0.5) * ROW;
      const from = this.nameRoom + axis.x(before.spells[before.spells.length - 1].to);
      const to = this.nameRoom + axis.x(link.spells[0].from);
      const x = Math.max(from, Math.min(to, from + 5));
      d += `M${from.toFixed(1)} ${middle(above)}H${x.toFixed(1)}V${middle(below)}${below > last ? "" : `H${to.toFixed(1)}`}`;
    });
    if (d === this.chainDrawn) return;
    this.chainDrawn = d;
    fill(this.chain, d ? s("path", { d }) : null);
  }

  // --- hands ---

  zoom(factor, x = null) {
    const { frame, axis } = this;
    const [width] = this.room;
    const at = x ?? this.nameRoom + (width - this.nameRoom) / 2;
    const ahead = frame.scrollLeft + at - this.nameRoom;
    const before = axis.scale;
    this.isFit = false;
    axis.scale *= factor;
    this.layout();
    this.isFit = axis.scale <= axis.fitting(width - this.nameRoom - END_ROOM) * 1.001;
    frame.scrollLeft += ahead * (axis.scale / before) - ahead;
    this.scrolled();
  }

  fit() {
    this.isFit = true;
    this.frame.scrollLeft = 0;
    this.layout();
  }

  wheel(event) {
    if (!(event.ctrlKey || event.metaKey)) return; // the page scrolls
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * 0.004), event.clientX - this.frame.getBoundingClientRect().left);
  }

  click(event) {
    const { spell } = event.target.closest(".pixirnb-spell") ?? {};
    const { step } = event.target.closest(".pixirnb-row-name") ?? spell ?? {};
    if (step === undefined) return;
    const [first] = this.barsOf(step);
    if (!spell && first) this.reveal(first);
    this.stage.choose(this.stage.chosen === step && !spell ? -1 : step);
  }

  /** Exactly one bar can be reached by Tab; arrows go on from there. */
  rove(element) {
    if (!element.spell) return;
    this.anchorBar()?.setAttribute("tabindex", "-1");
    this.anchor = element.spell;
    element.setAttribute("tabindex", "0");
    this.frame.setAttribute("tabindex", "-1");
  }

  anchorBar() {
    return this.anchor ? this.rows.get(this.anchor.step)?.shown.get(this.anchor) : null;
  }

  /** Where the bar that Tab reaches is out of sight, the frame itself can be reached. */
  keepAnchor() {
    const bar = this.anchorBar();
    if (bar) bar.setAttribute("tabindex", "0");
    const tabindex = bar ? "-1" : "0";
    if (this.frame.getAttribute("tabindex") !== tabindex) this.frame.setAttribute("tabindex", tabindex);
  }

  key(event) {
    const moves = {
      ArrowLeft: () => this.along(-1),
      ArrowRight: () => this.along(1),
      ArrowUp: () => this.across(-1),
      ArrowDown: () => this.across(1),
      Home: () => this.reachRow(0),
      End: () => this.reachRow(this.count - 1),
      Escape: () => this.stage.choose(-1),
      "+": () => this.zoom(1.6),
      "-": () => this.zoom(0.6),
      0: () => this.fit(),
    };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // the notebook has keys of its own
    move();
  }

  along(way) {
    const { spell } = document.activeElement ?? {};
    if (!spell) {
      this.reachRow(Math.max(0, Math.floor(this.frame.scrollTop / ROW)));
      return;
    }
    const made = this.barsOf(spell.step);
    const next = made[made.indexOf(spell) + way];
    if (next) this.focus(next);
  }

  across(way) {
    const { spell } = document.activeElement ?? {};
    if (!spell) {
      this.reachRow(Math.max(0, Math.floor(this.frame.scrollTop / ROW)));
      return;
    }
    for (let place = this.placeOf(spell.step) + way; place >= 0 && place < this.count; place += way) {
      const made = this.barsOf(this.chronicle.spells.order[place][1]);
      if (!made.length) continue;
      const far = (each) => Math.abs(each.from + each.to - spell.from - spell.to);
      this.focus(made.reduce((best, each) => (far(each) < far(best) ? each : best)));
      return;
    }
  }

  reachRow(place) {
    const entry = this.chronicle.spells.order[place];
    const [first] = entry && place < this.count ? this.barsOf(entry[1]) : [];
    if (first) this.focus(first);
  }

  barsOf(step) {
    return this.chronicle.spells.of[step].filter((spell) => spell.kind !== "wait" && spell.opened < this.stage.at);
  }

  focus(spell) {
    this.reveal(spell);
    this.rows.get(spell.step)?.shown.get(spell)?.focus({ preventScroll: true });
  }

  /** Bring the beginning of a bar into sight, with the least movement. */
  reveal(spell) {
    const place = this.placeOf(spell.step);
    const { frame, axis } = this;
    const [top, left] = [place * ROW, axis.x(spell.from)];
    const room = frame.clientHeight - axis.height;
    if (top < frame.scrollTop) frame.scrollTop = top;
    else if (top + ROW > frame.scrollTop + room) frame.scrollTop = top + ROW - room;
    if (left < frame.scrollLeft || left > frame.scrollLeft + frame.clientWidth - this.nameRoom - 40) frame.scrollLeft = Math.max(0, left - 40);
    this.scrolled();
  }
}
