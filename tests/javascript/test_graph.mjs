import "./page.mjs";

import assert from "node:assert/strict";
import { test } from "node:test";

import { Camera } from "../../pixirnb/notebook/static/graph/camera.js";
import { boxCaption, describeStep } from "../../pixirnb/notebook/static/graph/step_boxes.js";
import { matchingSteps, nearestBox, StepSearch } from "../../pixirnb/notebook/static/graph/step_search.js";

function cameraOn(sheet, [width, height] = [400, 300]) {
  const frame = Object.assign(document.createElement("div"), { clientWidth: width, clientHeight: height });
  frame.getBoundingClientRect = () => ({ left: 10, top: 20 });
  const camera = new Camera(frame, () => {});
  camera.reset(sheet, 300);
  camera.set(0, 0, camera.scale);
  return { camera, frame };
}

const placeOf = ({ x, y, scale }) => [x, y, scale];

test("a small graph stands in the middle, never larger than drawn", () => {
  const { camera } = cameraOn({ width: 200, height: 100 });
  assert.deepEqual(placeOf(camera), [100, 10, 1]);
});

test("a graph is shown whole where it can be read, else in part", () => {
  assert.equal(cameraOn({ width: 500, height: 300 }).camera.scale, 0.8);
  assert.equal(cameraOn({ width: 640, height: 300 }).camera.scale, 0.625);
  assert.equal(cameraOn({ width: 4000, height: 300 }).camera.scale, 0.75);
});

test("the viewport is what is seen, in the graph's own pixels", () => {
  const { camera } = cameraOn({ width: 4000, height: 4000 });
  camera.set(-100, -50, 0.5);
  assert.deepEqual(camera.viewport(), [200, 100, 1000, 700]);
});

test("zooming keeps its point where it is, within limits", () => {
  const { camera } = cameraOn({ width: 4000, height: 4000 });
  camera.set(-500, -400, 0.5);
  camera.zoom(2, [100, 100]);
  assert.deepEqual([(100 - camera.x) / camera.scale, (100 - camera.y) / camera.scale], [1200, 1000]);
  camera.zoom(1000);
  assert.equal(camera.scale, 2.5);
  camera.zoom(1e-9);
  assert.equal(camera.scale, 0.03);
});

test("a corner of the graph stays in sight", () => {
  const { camera } = cameraOn({ width: 4000, height: 4000 });
  camera.set(9999, -99_999, 1);
  assert.deepEqual(placeOf(camera), [40, 300 - 4000 - 40, 1]);
});

test("a box is revealed with the least movement", () => {
  const { camera } = cameraOn({ width: 4000, height: 4000 });
  camera.set(-100, -100, 1);
  camera.reveal(200, 200, 100, 40);
  assert.deepEqual(placeOf(camera), [-100, -100, 1]);
  camera.reveal(600, 90, 100, 40);
  assert.deepEqual(placeOf(camera), [400 - 12 - 700, 12 - 90, 1]);
  camera.set(0, 0, 0.1);
  camera.reveal(1000, 1000, 100, 40, { close: true });
  assert.deepEqual(placeOf(camera), [200 - 1050 * 0.8, 150 - 1020 * 0.8, 0.8]);
});

test("a drag pans, a click does not, and what follows a drag is no click", () => {
  const { camera, frame } = cameraOn({ width: 4000, height: 4000 });
  Object.assign(frame, { setPointerCapture() {}, classList: { add() {}, remove() {} } });
  camera.set(-500, -500, 1);
  frame.fire("pointerdown", { button: 0, clientX: 100, clientY: 100 });
  frame.fire("pointermove", { clientX: 102, clientY: 101 });
  assert.deepEqual(placeOf(camera), [-500, -500, 1]);
  frame.fire("pointermove", { clientX: 150, clientY: 80 });
  assert.deepEqual(placeOf(camera), [-450, -520, 1]);
  frame.fire("pointerup");
  assert.ok(frame.listeners.has("click"));
  frame.fire("pointermove", { clientX: 900, clientY: 900 });
  assert.deepEqual(placeOf(camera), [-450, -520, 1]);
});

test("the wheel zooms about the pointer with Ctrl alone", () => {
  const { camera, frame } = cameraOn({ width: 4000, height: 4000 });
  camera.set(-500, -500, 1);
  frame.fire("wheel", { deltaY: -100, clientX: 110, clientY: 120 });
  assert.equal(camera.scale, 1);
  frame.fire("wheel", { deltaY: -100, clientX: 110, clientY: 120, ctrlKey: true });
  assert.equal(camera.scale, Math.exp(0.4));
  assert.ok(Math.abs((100 - camera.x) / camera.scale - 600) < 1e-9);
});

test("a swipe sideways pans a graph that is wider than its frame, and nothing else keeps the page from scrolling", () => {
  const { camera, frame } = cameraOn({ width: 4000, height: 4000 });
  camera.set(-500, -500, 1);
  let prevented = 0;
  const swipe = (event) => frame.fire("wheel", { deltaX: 0, deltaY: 0, preventDefault: () => (prevented += 1), ...event });
  swipe({ deltaX: 30, deltaY: 40 });
  assert.deepEqual([camera.x, prevented], [-500, 0]);
  swipe({ deltaX: 30, deltaY: 10 });
  swipe({ deltaY: 20, shiftKey: true });
  assert.deepEqual([camera.x, camera.y, prevented], [-550, -500, 2]);
  camera.set(0, 0, 0.03);
  swipe({ deltaX: 30 });
  assert.equal(prevented, 2);
});

test("arrows go to the nearest box ahead, straight on before aside", () => {
  const positions = new Map([[0, [0, 0]], [1, [200, 0]], [2, [200, 50]], [3, [0, 50]], [4, [400, 0]], [-1, [0, 300]]]);
  assert.deepEqual([nearestBox(positions, 0, 1, 0), nearestBox(positions, 0, 0, 1), nearestBox(positions, 4, -1, 0), nearestBox(positions, 3, 0, 1)], [1, 3, 1, -1]);
  assert.equal(nearestBox(positions, 0, -1, 0), undefined);
});

test("steps are found by a part of their id, whatever its case", () => {
  const ids = ["fetch", "Refetch", "train"];
  assert.deepEqual([" FETCH ", "r", "x", "  "].map((words) => matchingSteps({ ids }, words)), [[0, 1], [1, 2], [], null]);
});

test("Enter goes round the hits, Escape clears the search", () => {
  const revealed = [];
  const search = new StepSearch({ graph: { search: (words) => matchingSteps({ ids: ["ab", "b", "cab"] }, words) ?? [], reveal: (step) => revealed.push(step) } });
  const { field } = search;
  field.value = "ab";
  field.fire("input");
  assert.equal(search.words.textContent, "2 found");
  for (const shiftKey of [false, false, false, true]) field.fire("keydown", { key: "Enter", shiftKey });
  assert.deepEqual([revealed, search.words.textContent], [[0, 2, 0, 2], "2 of 2"]);
  field.fire("keydown", { key: "Escape" });
  assert.deepEqual([field.value, search.words.textContent], ["", ""]);
  field.value = "nowhere";
  field.fire("input");
  assert.equal(search.words.textContent, "none");
});

function storeOf(heartbeat) {
  return { scene: { ids: ["a", "b"], kinds: ["shell", "agent"], isolated: [false, true] }, moment: 65_000, history: { startedAt: () => 5000 }, heartbeatOf: () => heartbeat };
}

test("a box says how long a step runs, and when it was silent or stalled", () => {
  const step = { attempt: 1, elapsed: 1500, holder: -1 };
  const caption = (heartbeat, key = "running") => boxCaption(storeOf(heartbeat), 0, { key }, step);
  assert.deepEqual(caption(null, "failed"), { left: "shell", right: "1.5 s", fraction: null, isStalled: false });
  assert.equal(boxCaption(storeOf(null), 1, { key: "checkpoint_ready" }, { ...step, holder: -2 }).left, "unverified");
  assert.deepEqual(caption(null, "permission"), { left: "approval", right: "", fraction: null, isStalled: false });
  assert.deepEqual(caption([1, 0, false, 0.25, "half", 64_000]), { left: "shell", right: "1 m 00 s", fraction: 0.25, isStalled: false, note: "half" });
  assert.equal(caption([1, 0, false, null, "", 59_000]).left, "quiet 6 s");
  assert.deepEqual([caption([1, 0, true, null, "", 30_000]).left, caption([1, 0, true, null, "", 30_000]).isStalled], ["stalled 35 s", true]);
});

test("a step is described in words", () => {
  const look = { attempt: 2, holder: 0 };
  const words = describeStep(storeOf(null), 1, { word: "held" }, look, { left: "quiet 6 s", right: "2.0 s", fraction: 0.333, note: "a note" });
  assert.equal(words, "b: held, held by a, agent step in an isolated workspace, attempt 2, 2.0 s, quiet 6 s, 33 %, a note");
  const skipped = describeStep(storeOf(null), 1, { key: "skipped", word: "skipped" }, { attempt: 0, holder: 0 }, { left: "agent", right: "", fraction: null });
  assert.equal(skipped, "b: skipped, since a was skipped, agent step in an isolated workspace");
});
