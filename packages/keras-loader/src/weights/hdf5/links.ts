import { readDenseLinks } from "./dense-links.js";
import type { FileBytes } from "./file-bytes.js";
import { type Message, MessageType } from "./object-header.js";

/** Addresses of a group's members, by name. Undefined for a soft link, which Keras does not write. */
export type Links = Map<string, number | undefined>;

/** Reads the members of a group, in each format of HDF5. */
export function readLinks(file: FileBytes, messages: readonly Message[]): Links {
  const links: Links = new Map();
  for (const { type, at } of messages)
    if (type === MessageType.symbolTable) readSymbolTable(file, file.u64(at), file.u64(at + 8), links);
    else if (type === MessageType.link) readLink(file, at, links);
    else if (type === MessageType.linkInfo) {
      const start = at + 2 + ((file.u8(at + 1) & 1) === 0 ? 0 : 8);
      const [heap, names] = [file.address(start), file.address(start + 8)];
      if (heap !== undefined && names !== undefined)
        readDenseLinks(file, heap, names, (link) => readLink(file, link, links));
    }
  return links;
}

function add(links: Links, name: string, address: number | undefined): void {
  if (links.has(name)) throw new Error(`${JSON.stringify(name)} is in a group twice`);
  links.set(name, address);
}

function readLink(file: FileBytes, at: number, links: Links): void {
  const flags = file.u8(at + 1);
  let next = at + 2;
  const isHard = (flags & 8) === 0 || file.u8(next++) === 0;
  if ((flags & 4) !== 0) next += 8;
  if ((flags & 0x10) !== 0) next++;
  const width = 1 << (flags & 3);
  const length = file.unsigned(next, width);
  next += width;
  add(links, file.text(next, length), isHard ? file.u64(next + length) : undefined);
}

/** Reads a group in the format that all releases of HDF5 support: a tree of tables with names in a heap. */
function readSymbolTable(file: FileBytes, tree: number, heap: number, links: Links): void {
  const childOf = (node: number, i: number): number => file.u64(node + 32 + 16 * i);
  file.expect(heap, "HEAP");
  const names = file.u64(heap + 24);
  const end = names + file.u64(heap + 8);
  for (const table of leavesOf(file, tree, 0, childOf, childOf)) {
    file.expect(table, "SNOD");
    const count = file.u16(table + 6);
    for (let i = 0; i < count; i++) {
      const entry = table + 8 + 40 * i;
      const name = file.textUntilZero(names + file.u64(entry), end);
      add(links, name, file.u32(entry + 16) === 2 ? undefined : file.u64(entry + 8));
    }
  }
}

/**
 * Returns the results of `read` for the leaves of a version 1 tree. Each node is read once, and must lead to lower
 * levels.
 *
 * @param kind 0 for groups, 1 for chunks
 */
export function leavesOf<T>(
  file: FileBytes,
  root: number,
  kind: number,
  child: (node: number, i: number) => number,
  read: (node: number, i: number) => T,
): readonly T[] {
  const leaves: T[] = [];
  const seen = new Set<number>();
  const visit = (node: number, expected: number | undefined): void => {
    if (seen.has(node)) throw new Error(`its tree at ${root} leads to a node twice`);
    seen.add(node);
    file.expect(node, "TREE");
    const level = file.u8(node + 5);
    if (file.u8(node + 4) !== kind || (expected !== undefined && level !== expected))
      throw new Error(`its tree at ${root} has a node of another kind`);
    const count = file.u16(node + 6);
    for (let i = 0; i < count; i++)
      if (level === 0) leaves.push(read(node, i));
      else visit(child(node, i), level - 1);
  };
  visit(root, undefined);
  return leaves;
}
