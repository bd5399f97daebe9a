export { type PriceStepOptions, priceStep } from "./price-step.js";
export { type PricedStepOptions, tracePricedStep } from "./trace-priced-step.js";
