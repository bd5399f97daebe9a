import { rehearseTurns } from "./rehearse-turns.js";
import { rehearseUpdate } from "./rehearse-update.js";
import type { UpdateRehearsal } from "./update-releaser.js";

/** Rehearses updates in fake mode. This loads fake mode's knowledge of every kernel. @internal */
export const rehearsal: UpdateRehearsal = { update: rehearseUpdate, turns: rehearseTurns };
