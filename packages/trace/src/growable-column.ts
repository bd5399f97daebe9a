import type { Rows } from "./trace.js";

/** The constructor at the time when this module is loaded. Fake mode replaces the global one by a slower one. */
const Ints = Int32Array;

type TypedArray = Float64Array | Int32Array | Uint16Array | Uint8Array;
type Constructor<T> = new (length: number) => T;

/**
 * A typed array that grows by doubling. `values.length` is the capacity, `length` the number of pushed values.
 * @internal
 */
export class GrowableColumn<T extends TypedArray> {
  values: T;
  length = 0;
  private readonly make: Constructor<T>;

  constructor(make: Constructor<T>, capacity = 64) {
    this.make = make;
    this.values = new make(capacity);
  }

  push(value: T[number]): void {
    if (this.length === this.values.length) {
      const grown = new this.make(this.values.length * 2);
      grown.set(this.values);
      this.values = grown;
    }
    this.values[this.length++] = value;
  }

  /** Returns the pushed values without a copy. */
  view(): T {
    return this.values.subarray(0, this.length) as T;
  }
}

/** Compressed rows that grow. See {@link Rows}. @internal */
export class GrowableRows<T extends Int32Array | Float64Array> {
  readonly start: GrowableColumn<Int32Array> = new GrowableColumn(Ints);
  readonly values: GrowableColumn<T>;

  constructor(make: Constructor<T>) {
    this.values = new GrowableColumn(make);
    this.start.push(0);
  }

  push(items: ArrayLike<T[number]>): void {
    for (let i = 0; i < items.length; i++) this.values.push(items[i]);
    this.start.push(this.values.length);
  }

  view(): Rows<T> {
    return { start: this.start.view(), values: this.values.view() };
  }
}
