import { type AttributeValue, readAttributes } from "./attributes.js";
import { readDataspace } from "./dataspace.js";
import { readDatatype, readNumbers } from "./datatype.js";
import { FileBytes } from "./file-bytes.js";
import { type Links, readLinks } from "./links.js";
import { type Message, MessageType, readObjectHeader } from "./object-header.js";
import { readArray } from "./read-array.js";

/** A group or an array of an HDF5 file. Supports only the features that Keras uses. */
export class Hdf5Object {
  private readonly file: FileBytes;
  readonly address: number;
  private links: Links | undefined;
  private attributes: ReadonlyMap<string, AttributeValue> | undefined;
  private readonly messages: readonly Message[];
  private readonly objects: Map<number, Hdf5Object>;

  /** @param objects objects of the file by address, so that each is read once */
  constructor(file: FileBytes, address: number, objects: Map<number, Hdf5Object> = new Map()) {
    this.file = file;
    this.address = address;
    this.objects = objects;
    this.messages = readObjectHeader(file, address);
    objects.set(address, this);
  }

  get isArray(): boolean {
    return this.messages.some(({ type }) => type === MessageType.dataspace);
  }

  /** Names of a group's members, in the file's order. */
  get keys(): readonly string[] {
    return [...this.ownLinks().keys()];
  }

  get attrs(): ReadonlyMap<string, AttributeValue> {
    return (this.attributes ??= readAttributes(this.file, this.messages));
  }

  /** Returns the object at a path of names from this group. */
  get(path: string): Hdf5Object {
    const names = path.split("/").filter((each) => each !== "");
    return names.reduce((group, name) => group.child(name), this as Hdf5Object);
  }

  private child(name: string): Hdf5Object {
    const links = this.ownLinks();
    if (!links.has(name)) throw new Error(`${name} not found in group`);
    const address = links.get(name);
    if (address === undefined) throw new Error(`${name} is a link by name, which is not supported`);
    return this.objects.get(address) ?? new Hdf5Object(this.file, address, this.objects);
  }

  private ownLinks(): Links {
    return (this.links ??= readLinks(this.file, this.messages));
  }

  /** The shape of an array. */
  get shape(): number[] {
    return readDataspace(this.file, this.message(MessageType.dataspace));
  }

  /** Reads the numbers of an array. */
  numbers(): Float32Array | Float64Array {
    const type = readDatatype(this.file, this.message(MessageType.datatype));
    if (type.kind !== "number")
      throw new Error(`found values of type ${type.kind === "other" ? type.named : "text"}, expected numbers`);
    return readNumbers(readArray(this.file, this.messages, this.shape, type.bytes), type);
  }

  private message(wanted: number): number {
    const found = this.messages.find(({ type }) => type === wanted);
    if (found === undefined) throw new Error(`no message of type ${wanted}`);
    return found.at;
  }
}

/**
 * Opens an HDF5 file and returns its root group. Source: HDF5 File Format Specification 3.0, II.A.
 *
 * @throws Error if the file is damaged, or of a kind that Keras does not write
 */
export function openFile(bytes: Uint8Array): Hdf5Object {
  const file = new FileBytes(bytes);
  const version = file.u8(8);
  if (version > 3) throw new Error(`superblocks of version ${version} are not supported`);
  const isOld = version < 2;
  const [addressBytes, lengthBytes] = [file.u8(isOld ? 13 : 9), file.u8(isOld ? 14 : 10)];
  if (addressBytes !== 8 || lengthBytes !== 8) throw new Error("only addresses of 64 bits are supported");
  return new Hdf5Object(file, file.u64(isOld ? 64 + 4 * version : 36));
}
