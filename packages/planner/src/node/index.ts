export { planCheckpointing, planSchedules, type WorkerOptions } from "./plan-in-workers.js";
