export { type Answer, type AnswerFirstOptions, answerFirst } from "./answer-first.js";
export {
  answerFollowing,
  answerOutcome,
  answerPlan,
  leadWith,
  type PlanCommand,
  type PlanOutcome,
  type StepOutcome,
} from "./answer-outcome.js";
