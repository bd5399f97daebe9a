import { readFileSync } from "node:fs";
import { planFormat, readPlan } from "@remat/trace";
import type { PlanImporter } from "./importer.js";

/** A plan, which is JSON as a Keras topology is, and says so in its first lines. */
export const planImporter: PlanImporter = {
  name: "plan",
  gives: "plan",
  example: "plan.json",
  what: "a plan that remat plan wrote",
  ending: /\.json$/,
  offered: /\.plan\.json$/,
  recognises: (_path, { text }) => text.includes(`"${planFormat}"`),
  read: (path) => readPlan(readFileSync(path, "utf8")),
};
