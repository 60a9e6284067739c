// The store of a run as one of its views has it: the chosen step, the tab and the place in the graph are the view's own, so that
// two outputs of one run are no mirrors. All else is read from the run's store and written there.

const LEFT = new WeakMap(); // store -> what its views had that left the page: an output that is drawn again goes on from there

import { idOf } from "./step_names.js";

export function viewStore(store, onChange) {
  // `camera` is where the person looks in the graph, null for where it opens; the chosen step is kept by its id, as an edited
  // workflow numbers its steps otherwise.
  const own = LEFT.get(store)?.shift() ?? { chosenId: null, tab: "graph", camera: null };
  const mine = {
    /** The chosen step, or -1. */
    get chosen() {
      return store.stepOf.get(own.chosenId) ?? -1;
    },
    /** The box of the chosen step, or of the step whose item is chosen; or -1. */
    get chosenBox() {
      return store.boxOf(mine.chosen);
    },
    choose(step) {
      const id = step >= 0 ? idOf(store.scene, step) : null;
      if (id === own.chosenId) return;
      own.chosenId = id;
      onChange("chosen");
    },
    /** The view leaves the page. */
    leave() {
      LEFT.set(store, [...(LEFT.get(store) ?? []), own]);
    },
  };
  const methods = new Map(); // bound, so that what is called for each step does not come by here again
  return new Proxy(store, {
    get(shared, name) {
      for (const each of [own, mine]) if (Object.hasOwn(each, name)) return each[name];
      const value = shared[name];
      if (typeof value !== "function") return value;
      if (!methods.has(name)) methods.set(name, value.bind(shared));
      return methods.get(name);
    },
    set(shared, name, value) {
      (Object.hasOwn(own, name) ? own : shared)[name] = value;
      return true;
    },
  });
}
