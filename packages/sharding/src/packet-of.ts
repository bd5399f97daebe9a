/** Returns `native_layer_norm` of `aten.native_layer_norm.default`; a tfjs kernel's name as it is. */
export function packetOf(name: string): string {
  return name.split(".")[1] ?? name;
}
