// What is drawn over the lines of the graph. Between steps that cannot run together: a dashed line, and an arrow from the one that goes
// first to the one that waits. Where evidence has just unlocked a step: a dash that travels to it.

import { s } from "../dom/elements.js";
import { labelOf } from "../state/step_names.js";

const UNLOCKED_MS = 600;

/** The lines of a graph's conflicts; of the chosen step alone where one is chosen. */
export function conflictLines(graph) {
  const { scene, chosen } = graph.store;
  const height = graph.sheet.box[1];
  const concerns = (a, b) => chosen < 0 || a === chosen || b === chosen;
  const middle = (step) => {
    const spot = graph.positions.get(step) ?? graph.positions.get(graph.placeholderOf.get(step));
    return spot ? [spot[0] + spot[2] / 2, spot[1] + height / 2, spot[2]] : null;
  };
  const line = (a, b, kind, words) => {
    const [from, to] = [middle(a), middle(b)];
    if (!from || !to || (from[0] === to[0] && from[1] === to[1])) return null;
    const bend = from[0] === to[0] ? from[2] * 0.62 : 0;
    const d = `M${from[0]} ${from[1]}Q${(from[0] + to[0]) / 2 + bend} ${(from[1] + to[1]) / 2} ${to[0]} ${to[1]}`;
    return s("path", { class: kind, d }, s("title", {}, words));
  };
  const apart = scene.conflicts
    .filter(([a, b]) => concerns(a, b))
    .map(([a, b, rule, paths]) =>
      line(a, b, "pixirnb-conflict", `${labelOf(scene, a)} and ${labelOf(scene, b)}: ${rule.replace("_", "/")} on ${paths.join(", ")}`),
    );
  const inTurn = scene.serialized
    .filter(([step, after]) => concerns(step, after))
    .map(([step, after]) => line(after, step, "pixirnb-serial", `${labelOf(scene, step)} is serialized after ${labelOf(scene, after)}`));
  return [...apart, ...inTurn].filter(Boolean);
}

/** Evidence has unlocked the step at the end of this line: a dash travels there. */
export function showUnlocked(line) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const length = line.getTotalLength();
  const look = { stroke: "var(--px-ready)", strokeWidth: 2.4, strokeDasharray: `18 ${length + 18}` };
  line.animate([{ ...look, strokeDashoffset: 18 }, { ...look, strokeDashoffset: -length }], { duration: UNLOCKED_MS, easing: "ease-in-out" });
}
