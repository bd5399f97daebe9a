import { project } from "../testkit/vitest/project.ts";

export default project("fuzz");
