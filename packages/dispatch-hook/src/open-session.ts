import type { Session } from "./session.js";

/** While a mode is open; nothing is patched otherwise. */
let session: Session | undefined;

/** Returns the session, if a mode is open. @internal */
export const openSession = (): Session | undefined => session;

/** @internal */
export function setSession(next: Session | undefined): void {
  session = next;
}
