import { rehearseTurns } from "./rehearse-turns.js";
import { rehearseUpdate } from "./rehearse-update.js";
import type { UpdateRehearsal } from "./update-releaser.js";

/** Rehearses updates in fake mode, with which comes what fake mode knows of every kernel. @internal */
export const rehearsal: UpdateRehearsal = { update: rehearseUpdate, turns: rehearseTurns };
