export { type HeldGroup, type HeldLevel, type HeldTree, heldTree } from "./held-tree.js";
export {
  describeLife,
  type HeldRow,
  type HeldRows,
  heldRow,
  heldTreeRows,
  heldTreeTable,
  openAll,
  openLargest,
} from "./held-tree-rows.js";
