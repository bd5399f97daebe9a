export { type FitInFleetOptions, type FleetProgress, fitInFleet } from "./fit-in-fleet.js";
export type { FleetUnit } from "./fleet-unit.js";
export { type FleetWorker, type ServeFleetOptions, serveFleet, type UnitAnswerer } from "./serve-fleet.js";
