// The items of steps with `for_each`: which a step has at a position of the history, and the places of all of them. An item has a place
// after the written steps, in the order in which lists named it first, as in views/live/tape.py.

export class ItemLists {
  /** `count`: number of written steps. */
  constructor(count) {
    this.count = count;
    this.parents = []; // of each item, by its place after the written steps
    this.numbers = [];
    this.lists = new Map(); // step -> [{entry, places}], oldest first
    this.places = new Map(); // `step@number` -> place
  }

  /** A list became known: `runs` are `first, count` of numbers that follow one another. Returns the places of its items. */
  expand(entry, step, runs) {
    const places = [];
    for (let i = 0; i < runs.length; i += 2) {
      for (let number = runs[i]; number < runs[i] + runs[i + 1]; number += 1) places.push(this.enter(step, number));
    }
    if (!this.lists.has(step)) this.lists.set(step, []);
    this.lists.get(step).push({ entry, places });
    return places;
  }

  enter(step, number) {
    const key = `${step}@${number}`;
    if (!this.places.has(key)) {
      this.places.set(key, this.count + this.parents.push(step) - 1);
      this.numbers.push(number);
    }
    return this.places.get(key);
  }

  /** The places of a step's items when `position` entries had been applied, in the order of its list; null before it was known. */
  at(step, position) {
    return this.lists.get(step)?.findLast(({ entry }) => entry < position)?.places ?? null;
  }

  isItem(place) {
    return place >= this.count;
  }

  /** The step whose item stands at a place; the place itself if a written step does. */
  parentOf(place) {
    return this.isItem(place) ? this.parents[place - this.count] : place;
  }

  numberOf(place) {
    return this.numbers[place - this.count];
  }

  /** The place of `step@number`; undefined if no list had it. */
  placeOf(step, number) {
    return this.places.get(`${step}@${number}`);
  }
}

/** Steps by their ids, and items by theirs. */
export class StepPlaces extends Map {
  constructor(ids, items) {
    super(ids.map((id, step) => [id, step]));
    this.items = items;
  }

  get(id) {
    if (super.has(id) || typeof id !== "string" || !id.includes("@")) return super.get(id);
    const [name, number] = id.split("@");
    return super.has(name) ? this.items?.placeOf(super.get(name), Number(number)) : undefined;
  }

  has(id) {
    return this.get(id) !== undefined;
  }
}
