import type { ErrorCode } from "@remat/trace";
import type { Rematerialization, RematerializeOptions, RematerializeProgress } from "../rematerialize.js";

/** A message to a worker: to search, or to stop. @internal */
export type SearchOrder =
  | { readonly id: number; readonly options: RematerializeOptions; readonly isFollowed: boolean }
  | { readonly id: number };

/** A message from a worker. @internal */
export type SearchAnswer =
  | { readonly id: number; readonly progress: RematerializeProgress }
  | { readonly id: number; readonly found: Rematerialization }
  /** A failure. The code of a `RematError` is sent separately, because copying an error loses it. */
  | { readonly id: number; readonly failure: { readonly message: string; readonly code: ErrorCode | undefined } };
