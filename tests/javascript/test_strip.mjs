import "./page.mjs";

import assert from "node:assert/strict";
import { test } from "node:test";

import { RunStore } from "../../pixirnb/notebook/static/state/store.js";
import { historyIndexOf } from "../../pixirnb/notebook/static/timeline/history_index.js";
import { barsOf, packLanes } from "../../pixirnb/notebook/static/timeline/lanes.js";
import { Replay } from "../../pixirnb/notebook/static/timeline/replay.js";
import { laneBox } from "../../pixirnb/notebook/static/timeline/strip_painter.js";
import { TimeScale } from "../../pixirnb/notebook/static/timeline/time_scale.js";
import { chainTape, sceneOf, Tape, VOCABULARY } from "./tapes.mjs";

const painted = [];
const context = new Proxy({}, { get: (kept, name) => kept[name] ?? ((...drawn) => painted.push([name, ...drawn])), set: (kept, name, value) => Reflect.set(kept, name, value) });
globalThis.window = { devicePixelRatio: 1 };
globalThis.getComputedStyle = () => ({ getPropertyValue: (name) => name });
globalThis.ResizeObserver = class {
  constructor(changed) {
    this.changed = changed;
  }

  observe() {
    this.changed([{ contentRect: { width: 314 } }]);
  }
};
Object.assign(Node.prototype, {
  closest: () => null,
  focus() {},
  setPointerCapture() {},
  getContext: () => context,
  getBoundingClientRect: () => ({ left: 100 }),
});

/** A run that waited 45 s, and was resumed 10 s after it had failed: 0 to 46,000 ms, and 56,000 to 60,000 ms. */
function resumedTape() {
  const tape = new Tape(sceneOf({ a: [], b: ["a"], c: ["a"] })).event(0, "run_started", null, {}, { status: "running" });
  tape.attempt("a", 1, 0, 1000).attempt("b", 1, 45_000, 46_000, "failed").event(46_000, "run_finished", null, {}, { status: "failed" });
  tape.event(56_000, "run_resumed", null, {}, { status: "running", details: [1, 2] }).attempt("b", 2, 56_000, 58_000).attempt("c", 1, 57_000, 60_000);
  return tape.event(60_000, "run_finished", null, {}, { status: "completed" });
}

function opened(tape, traits = {}) {
  const known = { look: VOCABULARY, past: [], pulse: {}, head: { live: "", status: "completed", now: 0, sentence: "" }, scene: tape.scene, tape: tape.entries, ...traits };
  const model = { get: (name) => known[name], on() {}, send() {} };
  const store = new RunStore(model);
  const replay = new Replay({ store, root: document.createElement("div") }, document.createElement("div"));
  replay.root.isConnected = replay.flag.isConnected = true;
  const draw = () => replay.draw({ has: () => true });
  store.views.add({ onChange: draw });
  draw();
  return { store, replay, strip: replay.strip, draw };
}

function scaleOf(tape) {
  const { store } = opened(tape);
  const scale = new TimeScale(30);
  scale.update(historyIndexOf(store).courses, 50_000);
  scale.scale = scale.fitting(530);
  return scale;
}

test("a pixel is the moment that is drawn at it, in a pause too", () => {
  const scale = scaleOf(resumedTape());
  for (const at of [0, 400, 45_000, 46_000, 51_000, 55_999, 56_000, 60_000]) assert.ok(Math.abs(scale.time(scale.x(at)) - at) < 1e-6, `${at}`);
  assert.deepEqual([0, 46_000, 51_000, 56_000, 60_000].map((at) => scale.x(at)), [0, 460, 475, 490, 530]);
});

test("the strip is scrubbed by time: a silence has its pixels, and shows the time in it", () => {
  const { store, strip, replay } = opened(resumedTape());
  const down = (x) => strip.root.fire("pointerdown", { button: 0, clientX: 100 + x, pointerId: 1 });
  assert.equal(strip.scale.scale, (314 - 14 - 18) / 50_000);
  down(strip.x(20_000));
  assert.equal(store.at, 5); // `a` is ready, and nothing else happened
  assert.equal(replay.isMoving, true);
  assert.equal(Math.round(store.moment), 20_000);
  assert.equal(replay.count.textContent, "As it was at event 5 of 20 · 20.0 s");
  strip.root.fire("pointermove", { clientX: 100 + strip.x(30_000) });
  assert.deepEqual([store.at, Math.round(store.moment)], [5, 30_000]);
  strip.root.fire("pointerup");
  assert.equal(replay.isMoving, false);
  strip.root.fire("pointermove", { clientX: 100 + strip.x(1010) });
  assert.equal(Math.round(store.moment), 30_000);
  assert.equal(strip.root.title, "1.0 s");
  down(strip.x(51_000)); // in the pause
  assert.deepEqual([store.at, store.status], [10, "failed"]);
  down(0);
  assert.equal(store.at, 0);
  down(314);
  assert.equal(store.isPast, false);
});

test("what is said of a position is its event, at the time that was pointed at", () => {
  const { store, strip } = opened(resumedTape());
  store.seek(5);
  assert.equal(strip.slider.getAttribute("aria-valuetext"), "Event 5 of 20 · 1.0 s, a: judged: ready");
  store.seek(5, 20_000);
  assert.equal(strip.slider.getAttribute("aria-valuetext"), "Event 5 of 20 · 20.0 s, a: judged: ready");
  store.seek(null);
  assert.equal(strip.slider.getAttribute("aria-valuetext"), "20 events, the end: run finished: completed");
  assert.deepEqual([strip.slider.value, strip.slider.max], [20, 20]);
});

test("keys go from event to event, from landmark to landmark, and to the ends", () => {
  const { store, strip } = opened(resumedTape());
  const press = (key) => (strip.slider.fire("keydown", { key }), store.at);
  assert.deepEqual(["Home", "ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"].map(press), [0, 1, 2, 1, 0]);
  assert.deepEqual(["PageUp", "PageUp", "PageUp", "PageUp", "PageDown", "End"].map(press), [9, 10, 11, 20, 11, 20]);
  assert.equal(store.isPast, false);
});

test("pins stand at the time of what they are for, and one that is pressed goes there", () => {
  const { store, strip } = opened(resumedTape());
  const pins = strip.bookmarks.children;
  assert.deepEqual(pins.map((pin) => pin.getAttribute("aria-label")), ["Event 9: b: failed, and 1 more nearby", "Event 11: run resumed", "Event 20: run finished: completed"]);
  assert.deepEqual(pins.map((pin) => pin.style.left), [46_000, 56_000, 60_000].map((at) => `${strip.x(at).toFixed(1)}px`));
  pins[0].fire("click");
  assert.deepEqual([store.at, store.markAt(1).key], [9, "failed"]);
});

test("the past moves a line over the picture, which is not painted again", () => {
  const { store, strip } = opened(resumedTape());
  painted.length = 0;
  store.seek(5, 20_000);
  assert.equal(painted.length, 0);
  assert.equal(strip.cursor.style.transform, `translateX(${strip.x(20_000).toFixed(1)}px)`);
  assert.equal(strip.later.hidden, false);
  store.seek(null);
  assert.equal(painted.length, 0);
  assert.equal(strip.later.hidden, true);
});

test("a live run is drawn up to now with room ahead, and keeps its scale under a hand", () => {
  const tape = new Tape(sceneOf({ a: [], b: [] })).event(0, "run_started", null, {}, { status: "running" }).attempt("a", 1, 0, 1000);
  tape.event(1000, "step_scheduled", "b", { b: ["starting", 1] }, { details: [1] }).event(1000, "attempt_started", "b", { b: ["running", 1] }, { details: [1] });
  const { store, strip, draw } = opened(tape, { head: { live: "here", status: "running", now: 4000, sentence: "" } });
  const bars = barsOf(store);
  assert.deepEqual(bars.map(({ id, to, mark }) => [id, to, mark.key]), [["a", 1000, "checkpoint_ready"], ["b", null, "running"]]);
  assert.ok(strip.scale.span >= 1.3 * 4000);
  const { scale } = strip.scale;
  strip.root.fire("pointerdown", { button: 0, clientX: 100 + strip.x(500), pointerId: 1 });
  store.setClock(20_000);
  draw();
  assert.equal(strip.scale.scale, scale);
  strip.root.fire("pointerup");
  assert.ok(strip.scale.scale < scale);
  store.onKernelGone();
  draw();
  assert.deepEqual([barsOf(store)[1].mark.key, strip.x(store.moment) <= 314], ["lost", true]);
});

test("there are as many lanes as ran at once, and a step keeps its own", () => {
  const { store } = opened(resumedTape());
  const bars = barsOf(store);
  assert.equal(packLanes(bars), 2);
  assert.deepEqual(bars.map(({ id, lane }) => [id, lane]), [["a", 0], ["b", 0], ["b", 0], ["c", 1]]);
  const queue = [["a", 0, 5], ["b", 1, 3], ["c", 3, 9], ["b", 9, 9.5]].map(([id, from, to]) => ({ id, from, to }));
  assert.deepEqual([packLanes(queue), queue.map(({ lane }) => lane)], [2, [0, 1, 1, 1]]);
});

test("lanes have the height there is, and few are not stretched", () => {
  assert.deepEqual([1, 2, 10, 40].map((lanes) => laneBox(lanes, 20)), [[5, 10], [0, 10], [0, 2], [0, 0.5]]);
});

test("bars are of the revision of the workflow in which they began", () => {
  const before = new Tape(sceneOf({ old: [], kept: [] })).event(0, "run_started").attempt("old", 1, 0, 1000, "failed").attempt("kept", 1, 1000, 2000);
  const after = new Tape(sceneOf({ kept: [], fresh: [] }));
  after.entries = before.entries.map(([seq, at, kind, step, , ...rest]) => [seq, at, kind, step - 1, [], ...rest]);
  after.event(3000, "run_resumed").attempt("fresh", 1, 3000, 4000);
  const { store } = opened(after, { past: [{ until: before.entries.length, scene: before.scene, tape: before.entries }] });
  const bars = barsOf(store).map(({ id, from, to, mark }) => [id, from, to, mark.key]);
  assert.deepEqual(bars, [["old", 0, 1000, "failed"], ["kept", 1000, 2000, "checkpoint_ready"], ["fresh", 3000, 4000, "checkpoint_ready"]]);
});

test("playing goes through a silence in time", () => {
  const { store, replay } = opened(chainTape());
  let frame = null;
  Object.assign(globalThis, { requestAnimationFrame: (run) => (frame = run), cancelAnimationFrame() {}, matchMedia: () => ({ matches: false }) });
  replay.player.speed = 1;
  replay.player.play();
  const begun = replay.player.lastFrame;
  const shown = [500, 1500, 2500, 3100].map((at) => (frame(begun + at), [store.at, Math.round(store.moment)]));
  assert.deepEqual(shown, [[3, 500], [7, 1500], [7, 2500], [10, 3000]]);
});
