import { alwaysWhole, listOf, type SharingRule, whole } from "../sharing-rules.js";
import { stridedSliceBounds } from "../slice-bounds.js";

/** Identity, Cast and slices copy. The others return the input's DataId with a counted reference. @internal */
export const wasmSharing: ReadonlyMap<string, SharingRule> = new Map<string, SharingRule>([
  ["Reshape", alwaysWhole("x")],
  ["ExpandDims", alwaysWhole("input")],
  ["Pack", (inputs) => (listOf(inputs).length === 1 ? whole(listOf(inputs)[0]) : undefined)],
  ["StridedSlice", ({ x }, attributes) => (stridedSliceBounds(x, attributes).isIdentity ? whole(x) : undefined)],
]);
