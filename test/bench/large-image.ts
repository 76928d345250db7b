/** An image of any size with a valid frame only: nothing between client, engine and bucket decodes it. */
const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
const NO_CHECKSUM = Buffer.alloc(4);
const CHUNK_BYTES = 12;

/** A PNG of exactly this size, at least 64 bytes. */
export function buildImage(bytes: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(64, 0);
  header.writeUInt32BE(64, 4);
  const head = Buffer.concat([SIGNATURE, buildChunk('IHDR', header)]);
  const end = Buffer.from('0000000049454e44ae426082', 'hex');
  const pixels = Buffer.alloc(bytes - head.length - end.length - CHUNK_BYTES, 'berth');
  return Buffer.concat([head, buildChunk('IDAT', pixels), end]);
}

function buildChunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([length, Buffer.from(type), data, NO_CHECKSUM]);
}
