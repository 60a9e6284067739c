// The history of a run: its tape, and how everything looked after any of its entries. Nothing is folded here: the tape says
// for each event which steps looked different afterwards.

import { ItemLists } from "./item_lists.js";

export const STRIDE = 5;
export const [SEQ, AT, KIND, STEP, CHANGES, STATUS] = [0, 1, 2, 3, 4, 5];
const DETAILS = 6;

export class RunHistory {
  /** `expanded`: number of the kind of event that tells a list of items. */
  constructor(count, queued, expanded = -1) {
    this.count = count;
    this.expanded = expanded;
    this.items = new ItemLists(count);
    this.entries = [];
    this.initial = { entry: -1, mark: queued, attempt: 0, elapsed: -1, holder: -1 };
    this.changes = Array.from({ length: count }, () => []);
    this.statuses = [];
  }

  /** Number of entries: the position of the end. */
  get length() {
    return this.entries.length;
  }

  /** Add entries; returns the steps and items that look different now. */
  append(entries) {
    const touched = new Set();
    for (const entry of entries) {
      const index = this.entries.push(entry) - 1;
      if (entry[KIND] === this.expanded && entry[STEP] >= 0) {
        for (const place of this.items.expand(index, entry[STEP], entry[DETAILS].slice(2))) this.changes[place] ??= [];
        touched.add(entry[STEP]);
      }
      const changes = entry[CHANGES];
      for (let i = 0; i < changes.length; i += STRIDE) {
        const step = changes[i];
        this.changes[step]?.push({
          entry: index,
          mark: changes[i + 1],
          attempt: changes[i + 2],
          elapsed: changes[i + 3],
          holder: changes[i + 4],
        });
        touched.add(step);
      }
      if (entry[STATUS]) this.statuses.push([index, entry[STATUS]]);
    }
    return touched;
  }

  /** The steps and items that look different at one of two positions, or between them. */
  touchedBetween(one, other) {
    const touched = new Set();
    // Lists that come or go are drawn with their steps.
    for (const entry of this.entries.slice(Math.min(one, other), Math.max(one, other))) {
      if (entry[KIND] === this.expanded) touched.add(entry[STEP]);
      for (let i = 0; i < entry[CHANGES].length; i += STRIDE) touched.add(entry[CHANGES][i]);
    }
    return touched;
  }

  /** How a step looked when `position` entries had been applied. */
  stepAt(step, position) {
    const changes = this.changes[step];
    if (!changes.length || changes[0].entry >= position) return this.initial;
    if (changes.at(-1).entry < position) return changes.at(-1);
    let low = 0;
    let high = changes.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (changes[middle].entry < position) low = middle;
      else high = middle - 1;
    }
    return changes[low];
  }

  /** The run's own status then: `running` from its start to its rest, and again from each resume. */
  statusAt(position) {
    let found = "running";
    for (const [index, status] of this.statuses) {
      if (index >= position) break;
      found = status;
    }
    return found;
  }

  /** Milliseconds since the first event, at that position. */
  timeAt(position) {
    return position > 0 ? this.entries[Math.min(position, this.length) - 1][AT] : 0;
  }

  /** The position at a moment: how many events there were by then. */
  positionAt(at) {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.entries[middle][AT] <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The sequence number of the last event at that position. */
  seqAt(position) {
    return position > 0 ? this.entries[Math.min(position, this.length) - 1][SEQ] : 0;
  }

  /** Milliseconds since the first event since which a step has looked like this. */
  startedAt(stepState) {
    return stepState.entry < 0 ? 0 : this.entries[stepState.entry][AT];
  }
}

/** The steps that need each step, from the steps that each needs. */
export function dependentsOf(needs) {
  const dependents = needs.map(() => []);
  needs.forEach((each, step) => each.forEach((need) => dependents[need].push(step)));
  return dependents;
}
