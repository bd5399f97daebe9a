import { planFormat, readPlan } from "@remat/trace";
import type { PlanImporter } from "./importer.js";
import { namingFile } from "./naming-file.js";
import { readModelText } from "./read-model-file.js";

/** Matches any version. The reader decides which ones it supports. */
const anyFormat = `"${planFormat.slice(0, planFormat.indexOf("/") + 1)}`;

/** A plan, which is JSON like a Keras topology but identifies itself in its first lines. */
export const planImporter: PlanImporter = {
  name: "plan",
  gives: "plan",
  example: "plan.json",
  what: "a plan from remat plan -o",
  ending: /\.json$/,
  offered: /\.plan\.json$/,
  recognises: (_path, { text }) => text.includes(anyFormat),
  read: (path) => namingFile(path, () => readPlan(readModelText(path))),
};
