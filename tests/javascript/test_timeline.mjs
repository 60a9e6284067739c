import "./page.mjs";

import assert from "node:assert/strict";
import { test } from "node:test";

import { RunHistory } from "../../pixirnb/notebook/static/state/run_history.js";
import { Axis } from "../../pixirnb/notebook/static/timeline/axis.js";
import { Courses } from "../../pixirnb/notebook/static/timeline/courses.js";
import { HistoryIndex, historyIndexOf } from "../../pixirnb/notebook/static/timeline/history_index.js";
import { labelLeft } from "../../pixirnb/notebook/static/timeline/timeline_row.js";
import { chainTape, KINDS, MARK, sceneOf, Tape, VOCABULARY } from "./tapes.mjs";

function indexOf({ scene, entries }) {
  const history = new RunHistory(scene.ids.length, MARK.queued);
  history.append(entries);
  return historyIndexOf({ scene, history, vocabulary: VOCABULARY, markOf: MARK });
}

/** Intervals of a step as `[kind, from, to]`. */
function spansOf(index, id) {
  return index.intervals.of[index.scene.ids.indexOf(id)].map(({ kind, from, to }) => [kind, from, to]);
}

/** Two courses: 0 to 1,000 ms, and 11,000 to 12,500 ms. */
function resumedTape() {
  const tape = new Tape(sceneOf({ a: [], b: ["a"] }, { phases: [["build", [0]], ["use", [1]]] }));
  tape.event(0, "run_started", null, {}, { status: "running" }).attempt("a", 1, 0, 1000);
  tape.event(1000, "run_finished", null, {}, { status: "failed" });
  tape.event(5000, "checkpoint_saved", null, {}, { details: ["here"] });
  tape.event(11_000, "run_resumed", null, {}, { status: "running", details: [1, 1] }).attempt("b", 1, 11_500, 12_500, "failed");
  return tape.event(12_500, "run_finished", null, {}, { status: "failed" });
}

// --- courses ---

function coursesOf(...events) {
  const courses = new Courses();
  events.forEach(([kind, at], place) => courses.add(place, kind, at));
  return courses;
}

test("a pause between two courses takes no active time", () => {
  const courses = coursesOf(["run_started", 0], ["run_finished", 1000], ["checkpoint_saved", 5000], ["run_resumed", 11_000], ["run_finished", 12_500]);
  assert.deepEqual([0, 600, 1000, 5000, 11_000, 11_400, 12_500, 99_999].map((at) => courses.activeAt(at)), [0, 600, 1000, 1000, 1000, 1400, 2500, 2500]);
  assert.deepEqual([500, 5000, 11_000].map((at) => courses.indexAtTime(at)), [0, 0, 1]);
  assert.deepEqual([0, 1, 3, 4, 5].map((position) => courses.indexAtPosition(position)), [0, 0, 0, 1, 1]);
  assert.deepEqual([courses.pauseBefore(0), courses.pauseBefore(1)], [0, 10_000]);
});

test("active time begins with the run", () => {
  const courses = coursesOf(["run_started", 100], ["run_finished", 1100], ["run_resumed", 5100], ["attempt_started", 5200]);
  assert.deepEqual([100, 1100, 5100, 5300].map((at) => courses.activeAt(at)), [0, 1000, 1000, 1200]);
});

test("a course that is under way has no end", () => {
  const courses = coursesOf(["run_started", 100], ["attempt_started", 300]);
  assert.equal(courses.activeAt(2100), 2000);
  assert.equal(new Courses().activeAt(5), 0);
});

// --- intervals ---

test("a step waits for its slot and runs, as long as it says it took", () => {
  const tape = new Tape(sceneOf({ a: [] })).event(0, "run_started");
  tape.event(400, "step_scheduled", "a", {}, { details: [1] }).event(2000, "attempt_started", "a", {}, { details: [1] });
  tape.event(2000, "attempt_ended", "a", {}, { details: [1, MARK.ended, 1500] });
  const index = indexOf(tape);
  assert.deepEqual(spansOf(index, "a"), [["wait", 0, 500], ["run", 500, 2000]]);
});

test("a step waits from when all it needs is ready", () => {
  const index = indexOf(chainTape());
  assert.deepEqual(spansOf(index, "b"), [["wait", 1000, 1000], ["run", 1000, 3000]]);
  assert.deepEqual(index.intervals.order.map(([, step]) => step), [0, 1]);
});

test("a retry waits for its delay, then for its slot", () => {
  const tape = new Tape(sceneOf({ a: [] })).event(0, "run_started").attempt("a", 1, 0, 1000, "ended");
  tape.event(1000, "retry_planned", "a", { a: ["retrying", 1] }, { details: [2, 500] }).attempt("a", 2, 2000, 3000);
  const index = indexOf(tape);
  assert.deepEqual(spansOf(index, "a"), [["wait", 0, 0], ["run", 0, 1000], ["delay", 1000, 1500], ["wait", 1500, 2000], ["run", 2000, 3000]]);
});

test("a retry that is scheduled when it is due waits no longer", () => {
  const tape = new Tape(sceneOf({ a: [] })).event(0, "run_started").attempt("a", 1, 0, 1000, "ended");
  tape.event(1000, "retry_planned", "a", { a: ["retrying", 1] }, { details: [2, 500] }).attempt("a", 2, 1500, 3000);
  assert.deepEqual(spansOf(indexOf(tape), "a").slice(2), [["delay", 1000, 1500], ["run", 1500, 3000]]);
});

test("an attempt whose retry is planned was no success", () => {
  const tape = new Tape(sceneOf({ a: [] })).event(0, "run_started");
  tape.event(0, "attempt_started", "a", {}, { details: [1] }).event(900, "attempt_ended", "a", {}, { details: [1, MARK.ended, 900] });
  tape.event(900, "retry_planned", "a", {}, { details: [2, 500] });
  const [, run] = indexOf(tape).intervals.of[0];
  assert.deepEqual([run.mark, run.verdict, run.judged], [MARK.ended, MARK.failed, 3]);
});

test("a question is open until it is answered", () => {
  const tape = new Tape(sceneOf({ a: [] })).event(0, "run_started").event(100, "decision_requested", "a");
  assert.equal(indexOf(tape).intervals.open[0].ask.closed, Infinity);
  tape.event(700, "decision_recorded", "a", {}, { details: [0, 1] });
  const index = indexOf(tape);
  assert.deepEqual(spansOf(index, "a"), [["wait", 0, 100], ["ask", 100, 700]]);
  assert.equal(index.intervals.of[0][1].verdict, 1);
});

test("what a dead process ran is lost when the run is resumed, since the last that was heard", () => {
  const tape = new Tape(sceneOf({ a: [], b: [] })).event(0, "run_started").event(100, "attempt_started", "a", {}, { details: [1] });
  tape.event(800, "checkpoint_saved").event(9000, "run_resumed");
  const index = indexOf(tape);
  assert.deepEqual(spansOf(index, "a"), [["wait", 0, 100], ["run", 100, 800], ["wait", 9000, 9000]]);
  assert.equal(index.intervals.of[0][1].mark, MARK.lost);
});

// --- bookmarks ---

test("bookmarks are beginnings of phases and courses, checkpoints, failures and ends", () => {
  const { list } = indexOf(resumedTape()).bookmarks;
  assert.deepEqual(list.map(({ position, type }) => [position, type]), [[2, "phase"], [6, "end"], [7, "flag"], [8, "course"], [9, "phase"], [12, "bad"], [13, "end"]]);
});

test("a failure is one bookmark, a phase one for each course", () => {
  const tape = new Tape(sceneOf({ a: [], b: [] }, { phases: [["build", [0, 1]]] })).event(0, "run_started").event(0, "step_scheduled", "a").event(0, "step_scheduled", "b");
  tape.event(5, "attempt_ended", "a", {}, { details: [1, MARK.failed, 5] }).event(5, "checkpoint_decided", "a", {}, { details: [1, MARK.failed] });
  tape.event(9, "run_resumed").event(9, "step_scheduled", "a");
  assert.deepEqual(indexOf(tape).bookmarks.list.map(({ type }) => type), ["phase", "bad", "course", "phase"]);
});

test("one goes from a bookmark to the next or the one before", () => {
  const { bookmarks } = indexOf(resumedTape());
  assert.deepEqual([bookmarks.next(2).position, bookmarks.next(2, true), bookmarks.next(9, true).position, bookmarks.next(13)], [6, undefined, 8, undefined]);
});

test("bookmarks too near each other are one, the most important", () => {
  const { bookmarks } = indexOf(resumedTape());
  assert.deepEqual(bookmarks.thinned(1, (position) => position).length, 7);
  assert.deepEqual(bookmarks.thinned(4, (position) => position).map(({ shown, count }) => [shown.type, count]), [["phase", 1], ["course", 4], ["bad", 2]]);
});

// --- the index ---

test("an index grows with its history and is one for all who show it", () => {
  const { scene, entries } = chainTape();
  const history = new RunHistory(2, MARK.queued);
  const store = { scene, history, vocabulary: VOCABULARY, markOf: MARK };
  history.append(entries.slice(0, 3));
  const index = historyIndexOf(store);
  assert.deepEqual(spansOf(index, "a"), [["wait", 0, 0], ["run", 0, 0]]);
  history.append(entries.slice(3));
  assert.equal(historyIndexOf(store), index);
  assert.deepEqual(spansOf(index, "a").at(-1), ["run", 0, 1000]);
  assert.deepEqual(new HistoryIndex(store).catchUp().intervals.of, index.intervals.of);
});

test("an event is a sentence of the vocabulary, filled in", () => {
  const index = indexOf(resumedTape());
  const sentences = index.history.entries.map((_, place) => index.sentence(place));
  assert.deepEqual(sentences, [
    "run started",
    "attempt 1 scheduled",
    "attempt 1 started",
    "attempt 1 ended: ended, not judged after 1.0 s",
    "judged: ready",
    "run finished: failed",
    "checkpoint here",
    "run resumed: 1 kept, 1 to rerun",
    "attempt 1 scheduled",
    "attempt 1 started",
    "attempt 1 ended: ended, not judged after 1.0 s",
    "judged: failed",
    "run finished: failed",
  ]);
});

test("an event of a newer pixirnb, or without data, is a sentence all the same", () => {
  const tape = chainTape();
  tape.entries.push([11, 3000, -1, -1, [], "", []], [12, 3000, 6, 0, [], "", []], [13, 3000, KINDS.indexOf("decision_recorded"), 0, [], "", []]);
  const index = indexOf(tape);
  assert.deepEqual([10, 11, 12].map((place) => index.sentence(place)), ["unknown event", "judged", " by a person"]);
});

test("the critical path goes back from the last end over what each step waited for", () => {
  const tape = new Tape(sceneOf({ a: [], b: [], c: ["a", "b"] })).event(0, "run_started");
  tape.attempt("a", 1, 0, 400).attempt("b", 1, 0, 1000).attempt("c", 1, 1000, 1800);
  const index = indexOf(tape);
  const { links, worked } = index.pathAt(tape.entries.length);
  assert.deepEqual(links.map(({ step, why }) => [index.scene.ids[step], why]), [["b", undefined], ["c", "need"]]);
  assert.equal(worked, 1800);
  assert.equal(index.pathAt(1), null);
  assert.equal(indexOf(resumedTape()).pathAt(9), null);
});

test("the critical path of a run that goes on ends in what has run longest", () => {
  const tape = new Tape(sceneOf({ a: [], busy: ["a"], late: ["a"] })).event(0, "run_started", null, {}, { status: "running" }).attempt("a", 1, 0, 1000);
  tape.event(1000, "step_scheduled", "busy", {}, { details: [1] }).event(1000, "attempt_started", "busy", {}, { details: [1] }).attempt("late", 1, 1000, 1500);
  const index = indexOf(tape);
  const { links, worked, running } = index.pathAt(tape.entries.length);
  assert.deepEqual(links.map(({ step }) => index.scene.ids[step]), ["a", "busy"]);
  assert.deepEqual([worked, running.from, running.step], [1000, 1000, 1]);
  assert.deepEqual(index.pathAt(3).links.map(({ step }) => index.scene.ids[step]), ["a"]);
  tape.event(6000, "attempt_ended", "busy", {}, { details: [1, MARK.ended, 5000] }).event(6000, "run_finished", null, {}, { status: "completed" });
  const ended = indexOf(tape).pathAt(tape.entries.length);
  assert.deepEqual([ended.worked, ended.running], [6000, null]);
});

test("a step that could have begun had waited for a slot", () => {
  const tape = new Tape(sceneOf({ a: [], b: [] })).event(0, "run_started").attempt("a", 1, 0, 1000).attempt("b", 1, 1000, 2000);
  const { links } = indexOf(tape).pathAt(tape.entries.length);
  assert.deepEqual(links.map(({ step, why }) => [step, why]), [[0, undefined], [1, "slot"]]);
});

// --- the axis ---

function axisOf(tape, span, scale) {
  const axis = new Axis(document.createElement("div"), document.createElement("div"));
  axis.update(indexOf(tape).courses, span);
  axis.scale = scale;
  return axis;
}

test("ticks stand at the shortest round time that leaves room for a word", () => {
  const axis = axisOf(chainTape(), 3000, 0.1);
  assert.deepEqual([0.1, 0.01, 1, 100, 1e-9].map((scale) => (axis.scale = scale) && axis.step), [1000, 10_000, 100, 1, 168 * 3_600_000]);
  axis.scale = 0.1;
  assert.deepEqual(axis.ticks(0, 0, 1000), [[0, "0"], [100, "1.0 s"], [200, "2.0 s"], [300, "3.0 s"]]);
});

test("only ticks near what is in sight are made", () => {
  const axis = axisOf(chainTape(), 1_000_000, 0.1);
  const ticks = axis.ticks(0, 5000, 5400);
  assert.deepEqual([ticks[0][0], ticks.at(-1)[0]], [4800, 5600]);
});

test("a second course stands after a gap, and its first word is free", () => {
  const axis = axisOf(resumedTape(), 2500, 0.1);
  assert.deepEqual([0, 1000, 5000, 11_000, 12_500].map((at) => axis.x(at)), [0, 100, 112, 130, 280]);
  assert.equal(axis.width, 280);
  assert.deepEqual(axis.ticks(0, 0, 400), [[0, "0"], [100, ""]]);
  assert.deepEqual(axis.ticks(1, 0, 400), [[130, "0"], [230, "1.0 s"]]);
  axis.draw(0, 400);
  assert.deepEqual(axis.root.children.map(({ textContent }) => textContent), ["0", "0", "1.0 s", "resumed 10.0 s later"]);
});

test("of two pauses too near each other the first is named", () => {
  const tape = resumedTape().event(13_000, "run_resumed").event(13_001, "run_finished").event(90_000, "run_resumed");
  const named = (scale) => {
    const axis = axisOf(tape, 5000, scale);
    axis.draw(0, 1000);
    return axis.root.children.map(({ textContent }) => textContent).filter((word) => word.startsWith("resumed"));
  };
  assert.deepEqual(named(0.1), ["resumed 10.0 s later", "resumed 500 ms later"]);
  assert.deepEqual(named(0.01), ["resumed 10.0 s later"]);
});

test("everything fits where its scale is what fits", () => {
  const axis = axisOf(resumedTape(), 2500, 1);
  axis.scale = axis.fitting(530);
  assert.equal(axis.width, 530);
});

test("a label after a bar does not cross the line of the moment", () => {
  assert.deepEqual([null, 90, 97, 120, 158, 160].map((line) => labelLeft(100, 50, line)), [100, 100, 106, 129, 167, 100]);
});
