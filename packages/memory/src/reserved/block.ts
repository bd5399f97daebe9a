import { SortedList } from "./sorted-list.js";

/** A piece of a segment, or all of it. What `malloc` of the allocator gives is one. */
export interface Block {
  /** Within the simulation: segments lie one after the other, in the order in which they were made. */
  address: number;
  bytes: number;
  readonly pool: BlockPool;
  isAllocated: boolean;
  /** Whether memory is behind it; always so where segments do not expand. */
  isMapped: boolean;
  readonly isExpandable: boolean;
  /** Its neighbours in the segment. */
  before: Block | undefined;
  after: Block | undefined;
}

/** The free blocks of one stream, small or large. @internal */
export class BlockPool {
  readonly isSmall: boolean;
  /** By size, then address. */
  readonly free: SortedList<Block> = new SortedList(
    (a, b) => a.bytes < b.bytes || (a.bytes === b.bytes && a.address < b.address),
  );
  /** The addresses of expandable segments that have no memory yet. */
  readonly unmapped: SortedList<Block> = new SortedList((a, b) => a.address < b.address);

  constructor(isSmall: boolean) {
    this.isSmall = isSmall;
  }
}
