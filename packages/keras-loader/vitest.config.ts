import { project } from "../../tooling/testkit/vitest/project.ts";

export default project("keras-loader", { sharesProcess: true });
