import { commonKeys, walkingKeys } from "../state/global-keys.js";
import type { KeyBinding } from "../state/key-binding.js";
import { type ViewName, views } from "./views.js";

/** A row of the key map. */
export interface ViewKeyBinding extends KeyBinding {
  /** Views in which the keys do this. Left out: all. */
  readonly views?: readonly ViewName[];
}

/** Every key of the app. */
export const keyMap: readonly ViewKeyBinding[] = [
  ...walkingKeys(views),
  ...views.flatMap(({ name, keys }) => keys.map((binding) => ({ ...binding, views: [name] }))),
  ...commonKeys,
];
