/** Returns the bytes of a data block, which is base64 of gzip. */
export async function decodeBlock(text: string): Promise<Uint8Array> {
  const blob = new Blob(Array.from(chunksOf(text)));
  const stream = blob.stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A multiple of four characters, so that each chunk is whole bytes, and small enough for a string of bytes. */
const chunkLength = 1 << 20;

function* chunksOf(text: string): Generator<Uint8Array<ArrayBuffer>> {
  const base64 = text.trim();
  for (let at = 0; at < base64.length; at += chunkLength) {
    const characters = atob(base64.slice(at, at + chunkLength));
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < characters.length; i++) bytes[i] = characters.charCodeAt(i);
    yield bytes;
  }
}
