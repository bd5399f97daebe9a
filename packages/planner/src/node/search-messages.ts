import type { Rematerialization, RematerializeOptions, RematerializeProgress } from "../rematerialize.js";

/** What a worker is told: to search, or to stop. @internal */
export type SearchOrder =
  | { readonly id: number; readonly options: RematerializeOptions; readonly isFollowed: boolean }
  | { readonly id: number };

/** What a worker tells. @internal */
export type SearchAnswer =
  | { readonly id: number; readonly progress: RematerializeProgress }
  | { readonly id: number; readonly found: Rematerialization }
  | { readonly id: number; readonly error: unknown };
