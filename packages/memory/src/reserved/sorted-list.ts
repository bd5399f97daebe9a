/** A list of items in an order. Positions are found by bisection. @internal */
export class SortedList<T> {
  readonly items: T[] = [];
  private readonly isBefore: (a: T, b: T) => boolean;

  constructor(isBefore: (a: T, b: T) => boolean) {
    this.isBefore = isBefore;
  }

  /** Returns the position of the first item that satisfies `reached`. All later items must also satisfy it. */
  firstThat(reached: (item: T) => boolean): number {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (reached(this.items[middle])) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  add(item: T): void {
    this.items.splice(
      this.firstThat((other) => this.isBefore(item, other)),
      0,
      item,
    );
  }

  remove(item: T): void {
    const place = this.firstThat((other) => !this.isBefore(other, item));
    if (this.items[place] !== item) throw new Error("expected an item that is there");
    this.items.splice(place, 1);
  }
}
