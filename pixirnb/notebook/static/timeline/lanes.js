// What the strip shows: the bars of a run in as few lanes as they need, so that there are as many as ever ran at once.

import { historyIndexOf } from "./history_index.js";

/**
 * The intervals of a run, each of the revision of its workflow that was current when it began: `{id, kind, from, to, mark}`
 * by beginning; `to` is null where it goes on.
 */
export function barsOf(store) {
  const bars = [];
  let first = 0;
  for (const plan of store.planVersions) {
    const index = historyIndexOf(plan);
    const { history, scene } = plan;
    for (const interval of index.intervals.of.flat()) {
      if (interval.kind === "wait" || interval.opened < first || interval.opened >= plan.until) continue;
      const { step, kind, from, closed } = interval;
      const isOpen = closed === Infinity;
      const goesOn = isOpen && store.isLive && plan === store.currentPlan;
      const now = plan.vocabulary.marks[goesOn ? history.stepAt(step, history.length).mark : plan.markOf.lost];
      const to = goesOn ? null : isOpen ? Math.max(from, plan === store.currentPlan ? store.latest : history.timeAt(plan.until)) : interval.to;
      bars.push({ id: scene.ids[step], kind, from, to, opened: interval.opened, mark: index.markOf(interval, history.length, now) });
    }
    first = plan.until;
  }
  return bars.sort((one, other) => one.from - other.from || one.opened - other.opened);
}

/** Give each bar its `lane`, a step the one it had where that is free; returns the number of lanes. */
export function packLanes(bars) {
  const ends = [];
  const lanes = new Map();
  for (const bar of bars) {
    let lane = lanes.get(bar.id) ?? -1;
    if (lane < 0 || ends[lane] > bar.from) lane = ends.findIndex((end) => end <= bar.from);
    if (lane < 0) lane = ends.length;
    ends[lane] = bar.to ?? Infinity;
    lanes.set(bar.id, lane);
    bar.lane = lane;
  }
  return ends.length;
}
