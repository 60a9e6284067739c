import "./page.mjs";

import assert from "node:assert/strict";
import { test } from "node:test";

import { Camera } from "../../pixirnb/notebook/static/graph/camera.js";
import { countBeyond } from "../../pixirnb/notebook/static/graph/overview.js";
import { boxCaption, captionThatFits, describeStep, detailedBox } from "../../pixirnb/notebook/static/graph/step_boxes.js";
import { pathOf, Stacks } from "../../pixirnb/notebook/static/graph/stacks.js";
import { matchingSteps, nearestBox, stepSearch } from "../../pixirnb/notebook/static/graph/step_search.js";

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
  frame.setPointerCapture = () => {};
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

test("two fingers zoom about what lies between them, and one pans on when the other is lifted", () => {
  const { camera, frame } = cameraOn({ width: 4000, height: 4000 });
  Object.assign(frame, { setPointerCapture() {} });
  camera.set(-500, -500, 1);
  frame.fire("pointerdown", { button: 0, pointerId: 1, isPrimary: true, clientX: 110, clientY: 120 });
  frame.fire("pointerdown", { button: 0, pointerId: 2, clientX: 210, clientY: 120 });
  frame.fire("pointermove", { pointerId: 2, clientX: 310, clientY: 120 });
  // What was beneath their middle, 150 and then 200 px from the left, is there still.
  assert.deepEqual([(200 - camera.x) / camera.scale, camera.scale], [650, 2]);
  frame.fire("pointerup", { pointerId: 1 });
  const { x, y } = camera;
  frame.fire("pointermove", { pointerId: 2, clientX: 300, clientY: 100 });
  assert.deepEqual(placeOf(camera), [x - 10, y - 20, 2]);
  frame.fire("pointerup", { pointerId: 2 });
  frame.fire("pointermove", { pointerId: 2, clientX: 0, clientY: 0 });
  assert.deepEqual(placeOf(camera), [x - 10, y - 20, 2]);
});

test("what lies beyond the frame is counted by side, a box of several steps with all of them", () => {
  const positions = new Map([[0, [0, 0, 100]], [1, [150, 0, 100]], [2, [300, 0, 90]], [3, [300, 90, 90]], [-1, [150, 200, 100]]]);
  const beyond = countBeyond(positions, 40, [100, 0, 280, 100], (step) => (step < 0 ? 12 : 1));
  assert.deepEqual(beyond, { left: 1, right: 2, above: 0, below: 12 });
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

test("the first hit is shown at once, Enter goes round them, Escape clears the search", () => {
  const revealed = [];
  const search = stepSearch({ graph: { search: (words) => matchingSteps({ ids: ["ab", "b", "cab"] }, words) ?? [], reveal: (step) => revealed.push(step) } });
  const { field } = search;
  field.value = "ab";
  field.fire("input");
  assert.deepEqual([revealed, search.words.textContent], [[0], "1 of 2"]);
  for (const shiftKey of [false, false, true]) field.fire("keydown", { key: "Enter", shiftKey });
  assert.deepEqual([revealed, search.words.textContent], [[0, 2, 0, 2], "2 of 2"]);
  field.fire("keydown", { key: "Escape" });
  assert.deepEqual([field.value, search.words.textContent], ["", ""]);
  field.value = "nowhere";
  field.fire("input");
  assert.equal(search.words.textContent, "none");
});

function storeOf(heartbeat) {
  return { scene: { ids: ["a", "b"], kinds: ["shell", "agent"], isolated: [false, true] }, moment: 65_000, history: { startedAt: () => 5000 }, heartbeatOf: () => heartbeat, plannedItems: () => null };
}

test("a box says how long a step runs, and when it was silent or stalled", () => {
  const step = { attempt: 1, elapsed: 1500, holder: -1 };
  const caption = (heartbeat, key = "running") => boxCaption(storeOf(heartbeat), 0, { key }, step);
  assert.deepEqual(caption(null, "failed"), { left: "shell", right: "1.5 s", fraction: null, isStalled: false });
  assert.equal(boxCaption(storeOf(null), 1, { key: "checkpoint_ready" }, { ...step, holder: -2 }).left, "unverified");
  assert.deepEqual(caption(null, "permission"), { left: "approval", right: "", fraction: null, isStalled: false });
  assert.deepEqual(caption([1, 0, false, 0.25, "half", 64_000]), { left: "shell", right: "1 m 00 s", fraction: 0.25, isStalled: false, note: "half", printed: "" });
  assert.equal(caption([1, 0, false, null, "", 64_000, "epoch 3"]).printed, "epoch 3");
  assert.equal(caption([1, 0, false, null, "", 59_000]).left, "quiet 6 s");
  assert.deepEqual([caption([1, 0, true, null, "", 30_000]).left, caption([1, 0, true, null, "", 30_000]).isStalled], ["stalled 35 s", true]);
});

test("the words of a state are never cut: the icon goes first, then the time, then the seconds", () => {
  const fitted = (room, left, right = "1 m 00 s") => Object.values(captionThatFits({ left, right }, room, "shell"));
  assert.deepEqual(fitted(200, "stalled 53 s"), [true, "stalled 53 s", "1 m 00 s"]);
  assert.deepEqual(fitted(124, "stalled 53 s"), [false, "stalled 53 s", "1 m 00 s"]);
  assert.deepEqual(fitted(74, "stalled 53 s"), [false, "stalled 53 s", ""]);
  assert.deepEqual(fitted(74, "stalled 12 m 30 s"), [false, "stalled 12 m", ""]);
  assert.deepEqual([fitted(74, "unverified"), fitted(74, "approval", "")], [[false, "unverified", ""], [true, "approval", ""]]);
  assert.deepEqual([fitted(200, "shell"), fitted(74, "shell")], [[true, "shell", "1 m 00 s"], [true, "", "1 m 00 s"]]);
});

test("a step is described in words", () => {
  const look = { attempt: 2, holder: 0 };
  const words = describeStep(storeOf(null), 1, { word: "held" }, look, { left: "quiet 6 s", right: "2.0 s", fraction: 0.333, note: "a note" });
  assert.equal(words, "b: held, held by a, agent step in an isolated workspace, attempt 2, 2.0 s, quiet 6 s, 33 %, a note");
  const skipped = describeStep(storeOf(null), 1, { key: "skipped", word: "skipped" }, { attempt: 0, holder: 0 }, { left: "agent", right: "", fraction: null });
  assert.equal(skipped, "b: skipped, since a was skipped, agent step in an isolated workspace");
});

// split → ten parts, one stack → join, with a step in the row below; ids 0, 1…10, 11, 12.
const PARTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const SHEET = {
  width: 500, height: 118, box: [120, 38], pitch: 52, labels: [],
  boxes: [[0, 14, 14, 112], [11, 350, 14, 112], [12, 14, 66, 112]],
  more: [[178, 14, "part-1 … 10", PARTS, 120, true]],
  curves: [[0, -1, [[126, 33], [178, 33]]], [-1, 11, [[298, 33], [350, 33]]], [12, 11, [[126, 85], [178, 58], [298, 58], [350, 33]]]],
  bands: [["build", 4, 8, 490, 50], ["ship", 4, 70, 490, 50]],
};

function stacksOf(loud = {}, chosen = -1, sheet = 0) {
  const store = { chosenBox: chosen, sheet, vocabulary: { peeled: 3 }, markAt: (step) => loud[step] ?? { key: "checkpoint_ready", tone: "ready", is_loud: false } };
  return new Stacks(store, SHEET, { clientWidth: 300 });
}

const BAD = { tone: "bad", is_loud: true };
const ASK = { tone: "ask", is_loud: true };

test("a folded stack leaves the sheet as it is, and says so when it is asked again", () => {
  const stacks = stacksOf();
  assert.deepEqual(stacks.sheet(), SHEET);
  assert.equal(stacks.sheet(), null);
  assert.equal(stacks.stackOf.get(10), -1);
});

test("a step that failed gets a row below its stack, with lines of its own; what is below moves down", () => {
  const { boxes, curves, bands, height, more } = stacksOf({ 4: BAD }).sheet();
  assert.deepEqual(boxes, [[0, 14, 14, 112], [11, 350, 14, 112], [12, 14, 118, 112], [4, 178, 66, 120]]);
  assert.deepEqual(curves.map(([source, target]) => [source, target]), [[0, -1], [0, 4], [-1, 11], [4, 11], [12, 11]]);
  assert.deepEqual([curves[1][2], curves[3][2]], [[[126, 33], [178, 85]], [[298, 85], [350, 33]]]);
  assert.deepEqual(curves[4][2], [[126, 137], [178, 58], [298, 58], [350, 33]]);
  assert.deepEqual(bands, [["build", 4, 8, 490, 102], ["ship", 4, 122, 490, 50]]);
  assert.deepEqual([height, more], [170, SHEET.more]);
});

test("those that ask come first, the chosen and the found are always drawn", () => {
  const stacks = stacksOf({ 2: BAD, 3: BAD, 4: BAD, 9: ASK }, 7);
  stacks.found.add(6);
  assert.deepEqual(stacks.shownOf(-1), [2, 3, 6, 7, 9]);
});

test("an open stack has its steps in a block below it, as wide as the sheet; it folds again, and forgets what was found", () => {
  const stacks = stacksOf({ 4: BAD });
  stacks.found.add(5);
  stacks.toggle(-1);
  const { boxes, curves, bands, height, width } = stacks.sheet();
  assert.deepEqual(boxes.slice(3), PARTS.map((step, at) => [step, 98 + 134 * (at % 3), 66 + 52 * Math.floor(at / 3), 120]));
  assert.deepEqual(curves.map(([source, target]) => [source, target]), SHEET.curves.map(([source, target]) => [source, target]));
  assert.deepEqual([height, width, bands.at(-1)], [118 + 208, 500, ["", 91, 60, 402, 206]]);
  stacks.toggle(-1);
  assert.deepEqual(stacks.shownOf(-1), [4]);
});

test("every stack is open where every step is to be shown", () => {
  assert.deepEqual([...stacksOf({}, -1, 1).open], [-1]);
});

test("a line is level at every point", () => {
  assert.equal(pathOf([[0, 5], [10, 5], [20, 9]]), "M0 5H10C15 5 15 9 20 9");
});

test("the line a running step printed last stands in its box, where it can be read; the box grows into the gap below it alone", () => {
  const scene = { ids: ["train"], kinds: ["shell"], isolated: [false] };
  const mark = { key: "running", word: "running", tone: "live", shape: "" };
  const small = { left: "shell", right: "3 s", fraction: null, isStalled: false, note: "", printed: "epoch 3 of 10: loss 0.4431, accuracy 0.9120" };
  const drawn = (scale, caption) => {
    const graph = { store: { scene, vocabulary: { kinds: { shell: "" } }, plannedItems: () => null }, sizeOf: () => [140, 38], labels: new Map(), incoming: [[]], camera: { scale } };
    const nodes = detailedBox(graph, 0, mark, { attempt: 1, holder: -1 }, caption).filter(Boolean);
    return Object.fromEntries(nodes.map((node) => [node.getAttribute("class"), node]));
  };
  const near = drawn(1, small);
  assert.equal(near["pixirnb-printed"].textContent, "epoch 3 of 10: loss …");
  assert.equal(near["pixirnb-box"].getAttribute("height"), "49");
  assert.equal(near["pixirnb-name"].getAttribute("y"), drawn(1, { ...small, printed: "" })["pixirnb-name"].getAttribute("y"));
  for (const plain of [drawn(0.5, small), drawn(1, { ...small, printed: "" })]) {
    assert.equal(plain["pixirnb-printed"], undefined);
    assert.equal(plain["pixirnb-box"].getAttribute("height"), "38");
  }
});
