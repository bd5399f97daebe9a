import type { Rematerialization, RematerializeOptions, RematerializeProgress } from "../rematerialize.js";

/** What a worker is told: to search, or to stop. @internal */
export type SearchOrder =
  | { readonly id: number; readonly options: RematerializeOptions; readonly isFollowed: boolean }
  | { readonly id: number };

/** What a worker tells. @internal */
export type SearchAnswer =
  | { readonly id: number; readonly progress: RematerializeProgress }
  | { readonly id: number; readonly found: Rematerialization }
  /** Of a `RematError` with its code, which its copy would lack. */
  | { readonly id: number; readonly failure: { readonly message: string; readonly code: string | undefined } };
