import { exportFormats } from "@remat/reporting";

/** A format in which a view can be exported, and the key that chooses it. */
export interface ExportKey {
  readonly key: string;
  readonly name: string;
  readonly title: string;
}

/** Of each format the first letter of its name that none before it has. */
export const exportKeys: readonly ExportKey[] = keysOf(exportFormats);

function keysOf(formats: readonly { readonly name: string; readonly title: string }[]): readonly ExportKey[] {
  const keys: ExportKey[] = [];
  for (const { name, title } of formats) {
    const key = [...name].find((letter) => keys.every((other) => other.key !== letter));
    if (key !== undefined) keys.push({ key, name, title });
  }
  return keys;
}
