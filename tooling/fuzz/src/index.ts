export type { Campaign, Finding, FuzzerKind } from "./campaign.js";
export { addTries, type Tries, tellPrograms, triesOf } from "./count-tries.js";
export { runsPerSeed } from "./explore.js";
export { fuzzerKinds } from "./kinds.js";
export { checkProgram } from "./programs/check-program.js";
export { type CampaignMessage, runCampaign } from "./run-campaign.js";
