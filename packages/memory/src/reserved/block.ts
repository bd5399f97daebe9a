import { SortedList } from "./sorted-list.js";

/** A segment or a piece of one. The allocator's `malloc` returns a block. */
export interface Block {
  /** Simulated address. Segments lie one after the other in the order of their creation. */
  address: number;
  bytes: number;
  readonly pool: BlockPool;
  isAllocated: boolean;
  /** True if memory is mapped to it. Always true if segments are not expandable. */
  isMapped: boolean;
  readonly isExpandable: boolean;
  /** The neighbours of the block in its segment. */
  before: Block | undefined;
  after: Block | undefined;
}

/** The free blocks of one stream, small or large. @internal */
export class BlockPool {
  readonly isSmall: boolean;
  /** Sorted by size, then address. */
  readonly free: SortedList<Block> = new SortedList(
    (a, b) => a.bytes < b.bytes || (a.bytes === b.bytes && a.address < b.address),
  );
  /** The parts of expandable segments without mapped memory. */
  readonly unmapped: SortedList<Block> = new SortedList((a, b) => a.address < b.address);

  constructor(isSmall: boolean) {
    this.isSmall = isSmall;
  }
}
