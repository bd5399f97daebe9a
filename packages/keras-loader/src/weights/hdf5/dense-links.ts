import type { FileBytes } from "./file-bytes.js";

/**
 * Calls `found` with the address of each link of a group in the newer format of HDF5: links are in a heap, indexed by a
 * version 2 tree of their names. Source: HDF5 File Format Specification 3.0, III.A.2 and III.G.
 */
export function readDenseLinks(file: FileBytes, heap: number, tree: number, found: (at: number) => void): void {
  const addressOf = readHeap(file, heap);
  for (const id of heapIds(file, tree)) found(addressOf(id));
}

const bytesFor = (value: number): number => Math.ceil(Math.max(1, Math.floor(Math.log2(Math.max(1, value))) + 1) / 8);

/** Returns the heap ids in the records of a tree. Each record is the hash of a name, followed by the id of the link. */
function heapIds(file: FileBytes, tree: number): readonly number[] {
  file.expect(tree, "BTHD");
  const nodeBytes = file.u32(tree + 6);
  const recordBytes = file.u16(tree + 10);
  const depth = file.u16(tree + 12);
  if (file.u8(tree + 5) !== 5 || recordBytes < 11 || depth > 16) throw new Error(`expected a tree of names at ${tree}`);
  // Widths of the counts that follow a child's address, by the level of the child.
  const countWidths: number[] = [];
  const totalWidths: number[] = [];
  let mostRecords = Math.floor((nodeBytes - 10) / recordBytes);
  let mostTotal = mostRecords;
  for (let level = 0; level < depth; level++) {
    countWidths.push(bytesFor(mostRecords));
    totalWidths.push(level === 0 ? 0 : bytesFor(mostTotal));
    const pointer = 8 + countWidths[level]! + totalWidths[level]!;
    mostRecords = Math.floor((nodeBytes - 10 - pointer) / (recordBytes + pointer));
    mostTotal = mostRecords + (mostRecords + 1) * mostTotal;
  }
  const ids: number[] = [];
  const seen = new Set<number>();
  const visit = (at: number, count: number, level: number): void => {
    if (seen.has(at)) throw new Error(`its tree at ${tree} leads to a node twice`);
    seen.add(at);
    file.expect(at, level === 0 ? "BTLF" : "BTIN");
    for (let i = 0; i < count; i++) ids.push(file.take(at + 6 + i * recordBytes, recordBytes) + 4);
    if (level === 0) return;
    const [countWidth, totalWidth] = [countWidths[level - 1]!, totalWidths[level - 1]!];
    for (let i = 0, next = at + 6 + count * recordBytes; i <= count; i++, next += 8 + countWidth + totalWidth)
      visit(file.u64(next), file.unsigned(next + 8, countWidth), level - 1);
  };
  const root = file.address(tree + 16);
  if (root !== undefined) visit(root, file.u16(tree + 24), depth);
  return ids;
}

/** Returns a function that finds an object of a heap by its id. */
function readHeap(file: FileBytes, heap: number): (id: number) => number {
  file.expect(heap, "FRHP");
  if (file.u16(heap + 7) > 0) throw new Error("compressed groups, which Keras does not write, are not supported");
  const width = file.u16(heap + 110);
  const startBytes = file.u64(heap + 112);
  const mostDirect = file.u64(heap + 120);
  const offsetWidth = Math.ceil(file.u16(heap + 128) / 8);
  const root = file.u64(heap + 132);
  const rows = file.u16(heap + 140);
  if (width === 0 || startBytes === 0 || offsetWidth === 0 || offsetWidth > 6)
    throw new Error(`the heap at ${heap} is damaged`);
  return (id) => {
    if (file.u8(id) !== 0)
      throw new Error("links outside a group's heap, which Keras does not write, are not supported");
    const offset = file.unsigned(id + 1, offsetWidth);
    if (rows === 0) return root + offset;
    file.expect(root, "FHIB");
    const children = root + 13 + offsetWidth;
    let from = 0;
    for (let row = 0; row < rows; row++) {
      const blockBytes = row === 0 ? startBytes : startBytes * 2 ** (row - 1);
      if (blockBytes > mostDirect) break;
      if (offset < from + width * blockBytes) {
        const i = Math.floor((offset - from) / blockBytes);
        return file.u64(children + 8 * (row * width + i)) + ((offset - from) % blockBytes);
      }
      from += width * blockBytes;
    }
    throw new Error("a group has too many links");
  };
}
