type Method = (...args: never[]) => unknown;

/**
 * Replaces methods and puts them back exactly: an own property returns with its descriptor, an inherited one is uncovered again. Where
 * somebody has meanwhile put a wrapper of theirs on top, that stays, and our method under it only passes through.
 *
 * @internal
 */
export class PatchSet {
  private readonly restorers: (() => void)[] = [];

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
      if (Object.getOwnPropertyDescriptor(target, key)?.value !== wrapper) return;
      if (before === undefined) delete target[key];
      else Object.defineProperty(target, key, before);
    });
  }

  /** Something else to undo with the rest. */
  undoBy(restore: () => void): void {
    this.restorers.push(restore);
  }

  /** Newest first, so that a method patched twice ends as it began. */
  restore(): void {
    for (let restore = this.restorers.pop(); restore !== undefined; restore = this.restorers.pop()) restore();
  }
}
