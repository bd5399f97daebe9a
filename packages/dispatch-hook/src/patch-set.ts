import { quicken } from "./quicken.js";

type Method = (...args: never[]) => unknown;

/** Wrappers that were to go while another lay on them, and what they replaced: whoever lifts that other puts back what was there before both. */
const buried = new WeakMap<object, PropertyDescriptor | undefined>();

/**
 * Replaces methods and puts them back exactly: an own property returns with its descriptor, an inherited one is uncovered again. Sets may be
 * restored in any order. Where somebody else has meanwhile put a wrapper of theirs on top, that stays; our method under it must then only
 * pass through.
 *
 * @example
 * const patches = new PatchSet();
 * patches.patch(layer, "call", (original) => (inputs, kwargs) => original.call(layer, inputs, kwargs));
 * patches.restore();
 */
export class PatchSet {
  private readonly restorers: (() => void)[] = [];
  /** Where properties have been uncovered again. */
  private readonly uncovered = new Set<object>();

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

  /** Something else to undo with the rest. */
  undoBy(restore: () => void): void {
    this.restorers.push(restore);
  }

  /** Newest first, so that a method patched twice ends as it began. */
  restore(): void {
    for (let restore = this.restorers.pop(); restore !== undefined; restore = this.restorers.pop()) restore();
    for (const target of this.uncovered) quicken(target);
    this.uncovered.clear();
  }
}
