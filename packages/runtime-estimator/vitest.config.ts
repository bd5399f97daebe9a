import { project } from "../../tooling/testkit/vitest/project.ts";

export default project("runtime-estimator", { sharesProcess: true });
