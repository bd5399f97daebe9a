import { project } from "../testkit/vitest/project.ts";

export default project("tfjs-specs", { isBuilt: true });
