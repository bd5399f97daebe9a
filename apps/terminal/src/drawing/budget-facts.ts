import { formatBytes, formatPercent, OpFate, opFateNames, type PolicyView, type TimeFormat } from "@remat/reporting";
import type { ModulePolicies } from "../document/module-policies.js";
import type { Glyphs } from "../text/glyphs.js";
import type { Line, Span } from "../text/line.js";

/** Text and style of each fate. */
export const fateSpans: readonly { readonly text: string; readonly style: Span["style"] }[] = [
  { text: "saved", style: "good" },
  { text: "recomputed", style: "warning" },
  { text: "always saved", style: "accent" },
  { text: "view, recomputed", style: "faint" },
];

/** Facts about a budget and the policies under it. */
export interface BudgetFacts extends ModulePolicies {
  readonly budgetShare: number;
  /** True to follow the optimal policy once it is found. */
  readonly isOptimal: boolean;
  /** Text shown until the optimal policy is found. */
  readonly waiting: string;
  readonly formatTime: TimeFormat;
}

/** Describes the effect of the budget, on few lines if there is no space next to the curve. */
export function budgetFacts(facts: BudgetFacts, isWide: boolean, glyphs: Glyphs): readonly Line[] {
  const { formatTime, budgetBytes, budgetShare, isOptimal, view, greedy, optimal } = facts;
  const followed = isOptimal && optimal ? optimal.policy : greedy;
  const share = (ms: number): string => formatPercent(view.runtimeMs > 0 ? ms / view.runtimeMs : 0);
  const one = (mark: string, style: Span["style"], name: string, bought: PolicyView): readonly Line[] => {
    const head: readonly Span[] = [
      { text: `${mark} `, style },
      { text: `${name} `, style: "strong" },
    ];
    const stores = `saves ${formatBytes(bought.storedBytes)}`;
    const recomputes = `recomputes ${formatTime(bought.recomputationMs)} (${share(bought.recomputationMs)})`;
    return isWide
      ? [[...head, { text: stores }], [{ text: `  ${recomputes}` }]]
      : [[...head, { text: `${stores}, ${recomputes}` }]];
  };
  const best: readonly Line[] =
    optimal === undefined
      ? [[{ text: `${glyphs.optimum} ${facts.waiting}`, style: "faint" }]]
      : one(glyphs.optimum, "good", "optimal", optimal.policy);
  const gap = optimal?.found.gap ?? 0;
  const budget: readonly Span[] = [
    { text: "budget ", style: "faint" },
    { text: `${formatBytes(budgetBytes)} `, style: "warning" },
    { text: `${formatPercent(budgetShare)} of all`, style: "faint" },
  ];
  return [
    budget,
    ...one(glyphs.point, "strong", "greedy", greedy),
    ...best,
    ...(gap > 5e-4 ? [[{ text: `  optimality gap ${formatPercent(gap)}`, style: "faint" as const }]] : []),
    ...(followed.fits ? [] : [[{ text: "  more than that must be saved", style: "bad" as const }]]),
    [],
    [{ text: `ops of the ${isOptimal && optimal ? "optimal" : "greedy"} policy`, style: "faint" }],
    ...opFateNames.flatMap((name): Line[] => {
      const { ops, bytes, ms } = followed.totals[OpFate[name]];
      if (ops === 0) return [];
      const { text, style } = fateSpans[OpFate[name]];
      return [
        [
          { text: `${String(ops).padStart(5)} ${text} `, style },
          { text: bytes > 0 ? `${formatBytes(bytes)}, ${formatTime(ms)}` : formatTime(ms), style: "faint" },
        ],
      ];
    }),
  ];
}
