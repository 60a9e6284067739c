// The module of the page, with a widget of its own: it provides the widget of a run. One store for each of these, one view for each
// output that shows it. A plan that was not run yet has no store: its buttons are shown until its run has begun.

import { PlanButtons } from "./shell/plan_buttons.js";
import { Toast } from "./shell/toast.js";
import { View } from "./shell/view.js";
import { providePageModule } from "./state/page_modules.js";
import { RunStore } from "./state/store.js";

function makeRunWidget() {
  let store = null;
  const plans = new Set(); // what to do in each output of a plan when its run begins
  const begin = (model, early = []) => {
    if (store || !model.get("scene").ids) return;
    store = new RunStore(model);
    store.toast = new Toast(store);
    for (const message of early) store.onMessage(message);
    for (const showRun of plans) showRun();
    plans.clear();
  };
  return {
    /** `early`: messages of the kernel that came before this module. */
    initialize({ model, early }) {
      model.on("change:scene", () => begin(model));
      begin(model, early);
      return () => store?.toast.dispose();
    },
    render({ model, el }) {
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
}

export default {
  initialize({ model }) {
    providePageModule(model.get("digest"), makeRunWidget);
  },
};
