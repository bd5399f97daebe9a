import { type BudgetedPlans, noPlans, type PlansState, planOfBudget } from "../document/step-plans.js";
import type { TraceDocument } from "../document/trace-document.js";
import type { Outcome } from "./view.js";
import type { ViewAnswer } from "./work.js";

/** Requests the plans of a step if there is a budget, and then the memory of the plan within it. */
export function askForPlan<Own extends BudgetedPlans>(document: TraceDocument, own: Own): Outcome<Own> {
  const { trace } = document;
  const { budgetBytes, plans } = own;
  if (budgetBytes === undefined) return { own };
  if (plans.front?.trace !== trace) {
    if (plans.asked === trace) return { own };
    return {
      own: { ...own, plans: { ...noPlans, asked: trace } },
      requests: [{ kind: "work", work: { kind: "planFront", trace, planned: document.planned() } }],
    };
  }
  const point = planOfBudget(own, trace)?.point;
  if (point === undefined || point === plans.wanted || point === plans.held?.plan) return { own };
  return {
    own: { ...own, plans: { ...plans, wanted: point } },
    requests: [{ kind: "work", work: { kind: "holdPlan", trace, planned: document.planned(), plan: point } }],
  };
}

/** Returns the state of plans after an answer. */
export function plansAfter(plans: PlansState, answer: ViewAnswer): PlansState {
  switch (answer.kind) {
    case "frontProgress":
      return answer.trace === plans.asked ? { ...plans, progress: answer.text } : plans;
    case "frontFound":
      if (answer.trace !== plans.asked) return plans;
      return { ...noPlans, front: { trace: answer.trace, plans: answer.plans, reason: answer.reason } };
    case "planHeld": {
      const { wanted } = plans;
      if (wanted?.peakBytes !== answer.peakBytes || answer.memory === undefined) return plans;
      return { ...plans, wanted: undefined, held: { plan: wanted, memory: answer.memory } };
    }
    default:
      return plans;
  }
}
