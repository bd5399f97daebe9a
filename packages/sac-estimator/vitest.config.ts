import { project } from "../../tooling/testkit/vitest/project.ts";

export default project("sac-estimator", { sharesProcess: true });
