import { quicken } from "./quicken.js";

type Method = (...args: never[]) => unknown;

/**
 * Wrappers that could not be removed because another wrapper was on top of them, and the originals that they replaced.
 * When the wrapper on top is removed, the original is restored.
 */
const buried = new WeakMap<object, PropertyDescriptor | undefined>();

/**
 * Replaces methods and restores them exactly: an own property with its descriptor, an inherited one by deletion. Sets
 * may be restored in any order. If other code has added its own wrapper on top, that stays, and our wrapper below must
 * then pass calls through.
 *
 * @example
 * const patches = new PatchSet();
 * patches.patch(layer, "call", (original) => (inputs, kwargs) => original.call(layer, inputs, kwargs));
 * patches.restore();
 */
export class PatchSet {
  private readonly restorers: (() => void)[] = [];
  /** Objects from which properties have been deleted. */
  private readonly uncovered = new Set<object>();

  /** Replaces a method by `wrap(original)`. */
  patch<T extends object, K extends keyof T & string>(
    target: T,
    key: K,
    wrap: (original: T[K]) => T[K] & Method,
  ): void {
    const before = Object.getOwnPropertyDescriptor(target, key);
    const wrapper = wrap(target[key]);
    Object.defineProperty(target, key, {
      value: wrapper,
      writable: true,
      configurable: true,
      enumerable: before?.enumerable ?? false,
    });
    this.restorers.push(() => {
      if (Object.getOwnPropertyDescriptor(target, key)?.value !== wrapper) {
        buried.set(wrapper, before);
        return;
      }
      let to = before;
      while (to !== undefined && buried.has(to.value)) to = buried.get(to.value);
      if (to === undefined) {
        delete target[key];
        this.uncovered.add(target);
      } else Object.defineProperty(target, key, to);
    });
  }

  /** Adds another action to undo with the rest. */
  undoBy(restore: () => void): void {
    this.restorers.push(restore);
  }

  /** Restores newest first, so that a method patched twice gets its original. */
  restore(): void {
    for (let restore = this.restorers.pop(); restore !== undefined; restore = this.restorers.pop()) restore();
    for (const target of this.uncovered) quicken(target);
    this.uncovered.clear();
  }
}
