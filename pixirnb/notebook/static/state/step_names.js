// Names of steps and workflows as people read them; the rule is that of views/basics/step_names.py.

/** The id of a step, or of an item: `resize@3`. */
export function idOf({ ids, items }, step) {
  return step < ids.length ? ids[step] : `${ids[items.parentOf(step)]}@${items.numberOf(step)}`;
}

/** The title of a step, else its id: in boxes and rows, whose tooltips have the id. */
export function nameOf(scene, step) {
  return scene.titles?.[step] || idOf(scene, step);
}

/** `title (id)`, else the id. */
export function labelOf(scene, step) {
  const id = idOf(scene, step);
  return scene.titles?.[step] ? `${scene.titles[step]} (${id})` : id;
}

/** The title of a workflow, else its name. */
export function workflowNameOf({ workflow, workflow_title: title }) {
  return title || workflow;
}

/** The labels of steps of a store, by their ids. */
export function labelsOf({ scene, stepOf }, ids) {
  return ids.map((id) => (stepOf.has(id) ? labelOf(scene, stepOf.get(id)) : id));
}
