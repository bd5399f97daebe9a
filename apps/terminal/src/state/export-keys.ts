import { exportFormats } from "@remat/reporting";

/** A format in which a view can be exported, and its key. */
export interface ExportKey {
  readonly key: string;
  readonly name: string;
  readonly title: string;
}

/** The key of each format is the first letter of its name that no earlier format uses. */
export const exportKeys: readonly ExportKey[] = keysOf(exportFormats);

function keysOf(formats: readonly { readonly name: string; readonly title: string }[]): readonly ExportKey[] {
  const keys: ExportKey[] = [];
  for (const { name, title } of formats) {
    const key = [...name].find((letter) => keys.every((other) => other.key !== letter));
    if (key !== undefined) keys.push({ key, name, title });
  }
  return keys;
}
