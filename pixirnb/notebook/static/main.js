// The module that anywidget loads: one store for each widget, one view for each output that shows it. A plan that was not run yet
// has no store: its buttons are shown until its run has begun.

import { PlanButtons } from "./shell/plan_buttons.js";
import { Toast } from "./shell/toast.js";
import { View } from "./shell/view.js";
import { RunStore } from "./state/store.js";

export default () => {
  let store = null;
  const plans = new Set(); // what to do in each output of a plan when its run begins
  const begin = (model) => {
    if (store || !model.get("scene").ids) return;
    store = new RunStore(model);
    store.toast = new Toast(store);
    for (const showRun of plans) showRun();
    plans.clear();
  };
  return {
    initialize({ model }) {
      model.on("change:scene", () => begin(model));
      begin(model);
      return () => store?.toast.dispose();
    },
    render({ model, el }) {
      begin(model);
      let shown;
      const showRun = () => {
        const hadFocus = shown?.dispose();
        shown = new View(store, el);
        if (hadFocus) shown.takeFocus();
      };
      if (store) {
        showRun();
      } else {
        shown = new PlanButtons(model, el);
        plans.add(showRun);
      }
      return () => {
        plans.delete(showRun);
        shown.dispose();
      };
    },
  };
};
