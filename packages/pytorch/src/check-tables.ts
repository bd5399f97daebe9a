import { checkpointingTimesWanted, isCheckpointingTimes } from "@remat/trace";

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null;
const isText = (value: unknown): boolean => typeof value === "string";
const isBytes = (value: unknown): boolean => typeof value === "number" && value >= 0 && Number.isFinite(value);
const isIndex = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const isSizes = (value: unknown): boolean => Array.isArray(value) && value.every(isIndex);
const isStrides = (value: unknown): boolean => Array.isArray(value) && value.every(Number.isInteger);
const isNamed = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((each) => Array.isArray(each) && isText(each[0])));

const isList = (value: unknown): boolean => value === undefined || Array.isArray(value);
const isSchema = (value: unknown): boolean =>
  value === undefined ||
  (isObject(value) && isList(value["writes"]) && isList(value["aliases"]) && isList(value["tags"]));

/** For each table, a description of its items in words, and a check of an item. */
const tables: Readonly<Record<string, readonly [what: string, is: (item: unknown) => boolean]>> = {
  fqns: ["a name", isText],
  funcs: [
    "an object with a 'name', and lists in its 'declares'",
    (item) => isObject(item) && isText(item["name"]) && isSchema(item["declares"]),
  ],
  storages: ["'bytes' from 0 up and 'dev'", (item) => isObject(item) && isBytes(item["bytes"]) && isText(item["dev"])],
  tensors: [
    "storages 's', 'dt', and lists 'sh' and 'st'",
    (item) =>
      isObject(item) &&
      (isIndex(item["s"]) || isSizes(item["s"])) &&
      isText(item["dt"]) &&
      isSizes(item["sh"]) &&
      (item["st"] == null || isStrides(item["st"])),
  ],
  module_tree: [
    "'fqn' and 'type', and lists of named tensors",
    (item) =>
      isObject(item) &&
      isText(item["fqn"]) &&
      isText(item["type"]) &&
      isNamed(item["params"]) &&
      isNamed(item["buffers"]),
  ],
};

/**
 * Returns the first problem in the tables and the configuration of a file, or undefined if there is none. The tables
 * must be lists.
 *
 * @internal
 */
export function wrongInTables(file: Fields): string | undefined {
  const config = file["config"] as Fields;
  if (!isText(file["case"])) return "field 'case': expected a name";
  if (!isText(config["device"]) || !isText(config["torch"]))
    return "field 'config': expected a 'device' and a version 'torch'";
  if (!isIndex(config["min_allocate"]) || config["min_allocate"] === 0)
    return `field 'config': expected 'min_allocate' to be bytes above 0, found ${JSON.stringify(config["min_allocate"])}`;
  if (config["besides"] !== undefined && !isIndex(config["besides"]))
    return `field 'config': expected 'besides' to be bytes, found ${JSON.stringify(config["besides"])}`;
  if (config["host_ms"] !== undefined && !(typeof config["host_ms"] === "number" && config["host_ms"] >= 0))
    return `field 'config': expected 'host_ms' to be milliseconds, found ${JSON.stringify(config["host_ms"])}`;
  if (config["checkpoint_ms"] !== undefined && !isCheckpointingTimes(config["checkpoint_ms"]))
    return `field 'config': expected 'checkpoint_ms' to be ${checkpointingTimesWanted}, found ${JSON.stringify(config["checkpoint_ms"])}`;
  const { lines = [] } = file;
  if (!Array.isArray(lines) || !lines.every(isText)) return "field 'lines': expected a list of source lines";
  for (const [table, [what, is]] of Object.entries(tables)) {
    const items = file[table] as readonly unknown[];
    const wrong = items.findIndex((item) => !is(item));
    if (wrong >= 0)
      return `field '${table}', item ${wrong}: expected ${what}, found ${JSON.stringify(items[wrong])?.slice(0, 80)}`;
  }
  return undefined;
}
