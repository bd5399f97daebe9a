import { OpFlag, type OpFlagName } from "./vocabulary.js";

const names = Object.keys(OpFlag) as OpFlagName[];
const lists: OpFlagName[][] = [];

/** Returns the names of the bits that are set in an op's `flags`. */
export function opFlagNames(flags: number): readonly OpFlagName[] {
  return (lists[flags] ??= names.filter((name) => flags & OpFlag[name]));
}
