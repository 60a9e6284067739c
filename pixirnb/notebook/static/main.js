// The module that anywidget loads: one store for each widget, one view for each output that shows it.

import { Toast } from "./shell/toast.js";
import { View } from "./shell/view.js";
import { RunStore } from "./state/store.js";

export default () => {
  let store = null;
  return {
    initialize({ model }) {
      store = new RunStore(model);
      store.toast = new Toast(store);
      return () => store.toast.dispose();
    },
    render({ model, el }) {
      store ??= new RunStore(model);
      const view = new View(store, el);
      return () => view.dispose();
    },
  };
};
