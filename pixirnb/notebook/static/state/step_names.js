// Names of steps and workflows as people read them; the rule is that of views/basics/step_names.py.

/** The title of a step, else its id: in boxes and rows, whose tooltips have the id. */
export function nameOf({ ids, titles }, step) {
  return titles?.[step] || ids[step];
}

/** `title (id)`, else the id. */
export function labelOf({ ids, titles }, step) {
  return titles?.[step] ? `${titles[step]} (${ids[step]})` : ids[step];
}

/** The title of a workflow, else its name. */
export function workflowNameOf({ workflow, workflow_title: title }) {
  return title || workflow;
}

/** The labels of steps of a store, by their ids. */
export function labelsOf({ scene, stepOf }, ids) {
  return ids.map((id) => (stepOf.has(id) ? labelOf(scene, stepOf.get(id)) : id));
}
