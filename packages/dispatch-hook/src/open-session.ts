import type { Session } from "./session.js";

/** Exists while a mode is open. Otherwise nothing is patched. */
let session: Session | undefined;

/** Returns the session if a mode is open. @internal */
export const openSession = (): Session | undefined => session;

/** Sets or clears the session. @internal */
export function setSession(next: Session | undefined): void {
  session = next;
}
