import { windowRows } from "./window-rows.js";

/** Cursor and window of a list: the row of the cursor, and the first row on the screen. */
export interface ListPlace {
  readonly cursor: number;
  readonly top: number;
}

/** Returns the place with its cursor moved by some rows of a list. */
export function moveBy<Place extends ListPlace>(place: Place, by: number, count: number): Place {
  return { ...place, cursor: Math.max(0, Math.min(count - 1, place.cursor + by)) };
}

/** Returns the place limited to its list, with the window around the cursor. The same object if nothing changes. */
export function settlePlace<Place extends ListPlace>(place: Place, count: number, height: number): Place {
  const window = windowRows({ count, height, cursor: place.cursor, top: place.top });
  const cursor = Math.max(0, window.cursor);
  return place.cursor === cursor && place.top === window.top ? place : { ...place, cursor, top: window.top };
}
