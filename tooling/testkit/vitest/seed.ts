import fc from "fast-check";
import { seedOfProperties } from "./seed-of-properties.js";

const { FAST_CHECK_SEED: asked } = process.env;
const { seed: _, ...settings } = fc.readConfigureGlobal();
const seed = seedOfProperties(asked);
fc.configureGlobal({ ...settings, ...(seed !== undefined && { seed }) });
