// The graph: boxes in wave columns where the kernel placed them, and lines for who waits on whom. Only what is in sight is in the
// page, and only what looks different is touched. Far away, a box is its shape alone.

const FAR = 0.42; // below this scale names cannot be read
const TALLEST = 560;
const LIVELY = 60; // boxes in sight up to which what runs may breathe: each breath paints
const MANY_BOXES = 1500; // in sight: then each is a silhouette
const MANY_EDGES = 4000; // in sight: then they are one path without states

class Graph {
  constructor(stage) {
    this.stage = stage;
    this.boxes = new Map(); // step -> element in the page
    this.lines = new Map(); // curve -> element in the page
    this.shown = new Map(); // step -> what its element shows
    this.found = null; // steps that match the search, or null
    this.marked = null; // key of a mark whose steps stand out, or null
    this.withConflicts = false;
    this.bands = s("g");
    this.edges = s("g", { "aria-hidden": "true" });
    this.extras = s("g", { "aria-hidden": "true" });
    this.nodes = s("g");
    // Two sheets of glass: a box that changes does not make the lines beneath be painted again.
    this.under = s("g", {}, this.bands, this.edges, this.extras);
    this.over = s("g", {}, this.nodes);
    this.frame = h(
      "div",
      { class: "pixirnb-frame", on: { keydown: (event) => this.key(event), click: (event) => this.click(event) } },
      s("svg", { class: "pixirnb-graph", "aria-hidden": "true" }, this.under),
      s("svg", { class: "pixirnb-graph", role: "group", "aria-label": `Steps of ${stage.scene.workflow}, in columns by wave` }, this.over),
    );
    this.dust = new Dust(this);
    this.frame.append(this.dust.canvas);
    this.camera = new Camera(this.frame, () => this.moved());
    this.takeSheet();
  }

  /** Take the sheet that is to be shown, and draw it from nothing. */
  takeSheet() {
    const { scene } = this.stage;
    this.sheet = scene.sheets[this.stage.sheet];
    this.spot = new Map(this.sheet.boxes.map(([step, x, y]) => [step, [x, y]]));
    this.sheet.more.forEach(([x, y], number) => this.spot.set(-1 - number, [x, y]));
    this.into = Array.from(scene.ids, () => []);
    this.sheet.curves.forEach(([, target], place) => this.into[target]?.push(place));
    this.standIn = new Map();
    this.sheet.more.forEach(([, , , steps], number) => steps.forEach((step) => this.standIn.set(step, -1 - number)));
    this.extents = this.sheet.curves.map(([source, target]) => this.extent(source, target));
    for (const kept of [this.boxes, this.lines, this.shown]) kept.clear();
    fill(this.bands, this.sheet.bands.map((band) => this.band(band)));
    for (const part of [this.edges, this.nodes, this.extras]) fill(part);
    this.manyShown = 0;
    this.followers = null;
    this.found = null;
    this.detail = null;
  }

  /** Once the frame has a size, or another: look where the person chose to look, else at as much as can be read. */
  open() {
    const { camera } = this.stage;
    const scale = this.camera.open(this.sheet, TALLEST);
    if (!camera || !this.frame.style.height) {
      const height = Math.min(TALLEST, Math.max(96, this.sheet.height * scale + 4));
      this.frame.style.height = `${height}px`;
    }
    this.camera.isHeld = Boolean(camera);
    this.camera.set(...(camera ?? [0, 0, scale]));
  }

  extent(source, target) {
    const [width, height] = this.sheet.box;
    const [[x, y], [u, v]] = [this.spot.get(source) ?? [0, 0], this.spot.get(target) ?? [0, 0]];
    return [Math.min(x, u), Math.min(y, v) - 60, Math.max(x, u) + width, Math.max(y, v) + height + 60];
  }

  band([name, x, y, width, height]) {
    return [
      s("rect", { class: "pixirnb-band", x, y, width, height, rx: 6 }),
      s("text", { class: "pixirnb-small", x: x + 8, y: y + 13 }, name),
    ];
  }

  // --- what is in sight ---

  moved() {
    const { x, y, scale } = this.camera;
    if (this.camera.isHeld) this.stage.camera = [x, y, scale];
    const seen = `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale.toFixed(4)})`;
    for (const glass of [this.under, this.over]) glass.setAttribute("transform", seen);
    this.gather();
  }

  /** Bring into the page what came into sight, take away what left it. */
  gather() {
    const [left, top, right, bottom] = this.camera.seen();
    const [width, height] = this.sheet.box;
    const inSight = [];
    for (const [step, [x, y]] of this.spot) {
      if (x + width >= left - 80 && x <= right + 80 && y + height >= top - 80 && y <= bottom + 80) inSight.push(step);
    }
    const detail = this.camera.scale >= FAR ? "near" : inSight.length > MANY_BOXES ? "dust" : "far";
    if (detail !== this.detail) {
      this.detail = detail;
      this.frame.classList.toggle("pixirnb-far", detail !== "near");
      this.boxes.clear();
      this.shown.clear();
      fill(this.nodes);
    }
    const focused = this.frame.contains(document.activeElement) ? document.activeElement : null;
    const kept = new Set(inSight);
    if (detail === "dust") for (const step of this.boxes.keys()) if (step !== this.anchor) kept.delete(step);
    for (const [step, element] of this.boxes) {
      if (kept.has(step) || element === focused) continue;
      element.remove();
      this.boxes.delete(step);
      this.shown.delete(step);
    }
    if (detail === "dust") {
      this.inSight = inSight;
      this.dust.paint(inSight);
      if (!kept.has(this.anchor)) this.anchor = inSight[0];
    } else {
      this.dust.hide();
    }
    // Of dust there is one step in the page: the one that keys move on from.
    const built = detail === "dust" ? [this.anchor] : inSight;
    for (const step of built) if (!this.boxes.has(step)) this.bring(step, ...this.spot.get(step));
    this.frame.classList.toggle("pixirnb-lively", this.boxes.size <= LIVELY);
    if (!this.boxes.has(this.anchor)) this.rove([...this.boxes.keys()].find((step) => step >= 0));
    this.gatherEdges(left, top, right, bottom);
  }

  gatherEdges(left, top, right, bottom) {
    const seen = [];
    this.extents.forEach(([x, y, u, v], place) => {
      if (u >= left && x <= right && v >= top && y <= bottom) seen.push(place);
    });
    this.isMany = seen.length > MANY_EDGES;
    if (this.isMany) {
      if (this.lines.size === 0 && this.manyShown === seen.length) return;
      this.manyShown = seen.length;
      this.lines.clear();
      const all = seen.map((place) => this.sheet.curves[place][2]).join("");
      fill(this.edges, s("path", { class: "pixirnb-edge", d: all }));
    } else {
      this.manyShown = 0;
      this.gatherLines(new Set(seen));
    }
  }

  gatherLines(seen) {
    if (!this.lines.size) fill(this.edges);
    for (const [place, line] of this.lines) {
      if (!seen.has(place)) {
        line.remove();
        this.lines.delete(place);
      }
    }
    for (const place of seen) {
      if (this.lines.has(place)) continue;
      const line = s("path", { d: this.sheet.curves[place][2] });
      this.lines.set(place, line);
      this.edges.append(line);
      this.drawLine(place);
    }
  }

  bring(step, x, y) {
    const element = s("g", { class: "pixirnb-step", transform: `translate(${x} ${y})`, tabindex: "-1" });
    element.step = step;
    this.boxes.set(step, element);
    this.nodes.append(element);
    if (step >= 0) this.drawBox(step);
    else this.drawMore(step);
  }

  // --- drawing ---

  /** The steps in `touched` look different, or all may. */
  refresh(touched = null) {
    if (this.detail === "dust") this.dust.paint(this.inSight);
    const steps = touched ?? this.stage.scene.ids.keys();
    const moreTouched = new Set();
    for (const step of steps) {
      if (this.boxes.has(step)) this.drawBox(step);
      else if (this.standIn.has(step)) moreTouched.add(this.standIn.get(step));
    }
    for (const number of moreTouched) if (this.boxes.has(number)) this.drawMore(number);
    if (this.isMany) return;
    if (touched === null) {
      for (const place of this.lines.keys()) this.drawLine(place);
      return;
    }
    for (const step of touched) {
      for (const place of this.into[step] ?? []) if (this.lines.has(place)) this.drawLine(place);
      for (const next of this.after(step)) {
        for (const place of this.into[next] ?? []) if (this.lines.has(place)) this.drawLine(place);
      }
    }
  }

  after(step) {
    this.followers ??= this.stage.scene.needs.reduce((found, needs, place) => {
      for (const need of needs) found[need].push(place);
      return found;
    }, this.stage.scene.ids.map(() => []));
    return this.followers[step];
  }

  /** Running steps' clocks. */
  tick() {
    for (const step of this.boxes.keys()) if (step >= 0 && this.stage.markAt(step).key === "running") this.drawBox(step);
  }

  drawBox(step) {
    const { stage } = this;
    const element = this.boxes.get(step);
    const mark = stage.markAt(step);
    const look = stage.lookOf(step);
    const small = secondLine(stage, step, mark, look);
    const state = [
      stage.chosen === step ? "pixirnb-chosen" : "",
      this.isDim(step, mark) ? "pixirnb-dim" : "",
      this.found?.has(step) ? "pixirnb-found" : "",
      small.isStalled ? "pixirnb-stalled" : "",
    ].filter(Boolean).join(" ");
    const words = this.detail === "near" ? `${small.left}|${small.right}|${small.fraction}` : "";
    const drawn = `${mark.key}|${look.attempt}|${words}|${state}`;
    if (this.shown.get(step) === drawn) return;
    this.shown.set(step, drawn);
    element.setAttribute("class", `pixirnb-step pixirnb-${mark.tone}${mark.key === "held" ? " pixirnb-held" : mark.key === "running" ? " pixirnb-runs" : ""} ${state}`);
    element.setAttribute("role", "button");
    element.setAttribute("aria-pressed", String(stage.chosen === step));
    element.setAttribute("aria-label", toldOf(stage, step, mark, look, small));
    const { box } = this.sheet;
    if (this.detail === "near") fill(element, nearBox(this, step, mark, look, small));
    else fill(element, this.detail === "far" ? farBox(box, mark) : s("rect", { class: "pixirnb-spot", width: box[0], height: box[1] }));
  }

  /** Whether others stand out: steps that were searched for, or of a status that was asked for. */
  isDim(step, mark) {
    return Boolean((this.found && !this.found.has(step)) || (this.marked && this.marked !== mark.key));
  }

  drawMore(number) {
    const element = this.boxes.get(number);
    const [, , words, steps] = this.sheet.more[-1 - number];
    const [width, height] = this.sheet.box;
    const counts = new Map();
    for (const step of steps) {
      const { word } = this.stage.markAt(step);
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    const told = [...counts].map(([word, count]) => `${count.toLocaleString("en-US")} ${word}`).join(", ");
    if (this.shown.get(number) === told) return;
    this.shown.set(number, told);
    element.setAttribute("role", "button");
    element.setAttribute("aria-label", `${words}: ${told}. Show them all.`);
    fill(element, [
      s("title", {}, `${words}: ${told}. Click to show them all.`),
      s("rect", { class: "pixirnb-band", width, height, rx: 7 }),
      s("text", { class: "pixirnb-name", x: 10, y: 16 }, fitted(`… ${words}`, width - 18, 12.9)),
      s("text", { class: "pixirnb-small", x: 10, y: 31 }, fitted(told, width - 18, 10.5)),
    ]);
  }

  drawLine(place) {
    const [source, target] = this.sheet.curves[place];
    const { stage } = this;
    let state = "pixirnb-edge";
    if (target >= 0 && source >= 0) {
      const mark = stage.markAt(target);
      if (mark.key === "held" && stage.lookOf(target).holder === source) state = `pixirnb-hold pixirnb-${stage.markAt(source).tone}`;
      else if (stage.markAt(source).key !== "checkpoint_ready" && mark.key !== "planned") state = "pixirnb-edge pixirnb-open";
    }
    if (stage.chosen >= 0 && (source === stage.chosen || target === stage.chosen)) state += " pixirnb-near";
    const line = this.lines.get(place);
    if (line.getAttribute("class") !== state) line.setAttribute("class", state);
  }

  /** Lines between steps that cannot run together, where they are wanted. */
  drawConflicts() {
    fill(this.extras, this.withConflicts ? conflictLines(this) : []);
  }

  // --- hands ---

  click(event) {
    const step = event.target.closest(".pixirnb-step")?.step ?? this.painted(event);
    if (step !== undefined) this.pick(step);
  }

  /** The painted step beneath the pointer. */
  painted(event) {
    if (this.detail !== "dust") return undefined;
    const frame = this.frame.getBoundingClientRect();
    const [u, v] = [event.clientX - frame.left - this.camera.x, event.clientY - frame.top - this.camera.y];
    const [width, height] = this.sheet.box;
    return this.inSight.find((step) => {
      const [x, y] = this.spot.get(step);
      const [dx, dy] = [u / this.camera.scale - x, v / this.camera.scale - y];
      return dx >= 0 && dx <= width && dy >= 0 && dy <= height;
    });
  }

  pick(step) {
    if (step < 0) {
      this.stage.unfold(this.stage.scene.sheets.length - 1);
      return;
    }
    this.rove(step);
    this.stage.choose(this.stage.chosen === step ? -1 : step);
  }

  /** Exactly one box can be reached by Tab; arrows go on from there. */
  rove(step) {
    if (step === undefined) return;
    this.boxes.get(this.anchor)?.setAttribute("tabindex", "-1");
    this.anchor = step;
    if (this.detail === "dust") this.gather();
    this.boxes.get(step)?.setAttribute("tabindex", "0");
  }

  reveal(step, { focus = false, close = false } = {}) {
    const spot = this.spot.get(step);
    if (!spot) {
      if (this.standIn.has(step)) this.stage.unfold(this.stage.scene.sheets.length - 1);
      return;
    }
    this.camera.reveal(...spot, ...this.sheet.box, { close });
    this.rove(step);
    if (focus) this.boxes.get(step)?.focus({ preventScroll: true });
  }

  key(event) {
    const here = event.target.closest?.(".pixirnb-step")?.step;
    const moves = {
      ArrowLeft: () => this.step(here, -1, 0),
      ArrowRight: () => this.step(here, 1, 0),
      ArrowUp: () => this.step(here, 0, -1),
      ArrowDown: () => this.step(here, 0, 1),
      Enter: () => here !== undefined && this.pick(here),
      " ": () => here !== undefined && this.pick(here),
      Escape: () => this.stage.choose(-1),
      "+": () => this.camera.zoom(1.25),
      "-": () => this.camera.zoom(0.8),
      0: () => this.camera.fit(),
    };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation(); // the notebook has keys of its own
    move();
  }

  /** The nearest box in a direction: along the rows for right and left, along the column for up and down. */
  step(here, right, down) {
    if (here === undefined) return;
    const [x, y] = this.spot.get(here);
    let best;
    let least = Infinity;
    for (const [step, [u, v]] of this.spot) {
      const [ahead, aside] = right ? [(u - x) * right, Math.abs(v - y)] : [(v - y) * down, Math.abs(u - x)];
      if (ahead <= 0) continue;
      const far = right ? ahead + aside * 2 : ahead + aside * 8;
      if (far < least) [best, least] = [step, far];
    }
    if (best !== undefined) this.reveal(best, { focus: true });
  }

  /** Steps whose id holds `words` stand out; returns them in order. */
  search(words) {
    const wanted = words.trim().toLowerCase();
    const ids = this.stage.scene.ids;
    const hits = wanted ? [...ids.keys()].filter((step) => ids[step].toLowerCase().includes(wanted)) : [];
    this.found = wanted ? new Set(hits) : null;
    this.refresh();
    return hits;
  }

  highlight(key) {
    this.marked = key;
    this.refresh();
  }
}
