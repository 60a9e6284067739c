// Find a step: by a part of its title or id, where what matches stands out, the first is shown, and Enter goes on to the next; or as the next box in a direction.

import { SearchField } from "../dom/search_field.js";
import { labelOf } from "../state/step_names.js";

/** Steps whose title or id contains `words`, whatever its case, in order; null where nothing is searched for. */
export function matchingSteps(scene, words) {
  const wanted = words.trim().toLowerCase();
  return wanted ? [...scene.ids.keys()].filter((step) => labelOf(scene, step).toLowerCase().includes(wanted)) : null;
}

/** The nearest box from `here` in a direction, of `[x, y]` by step; undefined where there is none. */
export function nearestBox(positions, here, right, down) {
  const [x, y] = positions.get(here);
  let best;
  let least = Infinity;
  for (const [step, [u, v]] of positions) {
    const [ahead, aside] = right ? [(u - x) * right, Math.abs(v - y)] : [(v - y) * down, Math.abs(u - x)];
    const distance = ahead + aside * (right ? 2 : 8);
    if (ahead > 0 && distance < least) [best, least] = [step, distance];
  }
  return best;
}

/** The field that finds steps in a view's graph. */
export function stepSearch(view) {
  return new SearchField({ name: "Find a step", find: (words) => view.graph.search(words), show: (step) => view.graph.reveal(step, { close: true }) });
}
