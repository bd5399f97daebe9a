// Runs one campaign, told as JSON by its argument, and tells its parent what it tries and finds.
import { loadFuzz } from "./load-fuzz.js";

const { fuzz, close } = await loadFuzz();
const tell = (/** @type {import("./src/index.js").CampaignMessage} */ message) => process.send?.(message);
await fuzz.runCampaign({ ...JSON.parse(process.argv[2]), tell });
await close();
// A backend of tfjs may keep threads.
process.disconnect?.();
