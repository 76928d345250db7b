/** A DNS server on a loopback port that answers what a test says. */
import { createSocket, type RemoteInfo } from 'node:dgram';
import type { AddressInfo } from 'node:net';

/** Addresses of a name: IPv4 for A, IPv6 for AAAA; null: no answer at all. An unknown name does not exist. */
export type Zone = Map<string, () => readonly string[] | null>;

export interface DNSServer {
  /** As setServers() takes it. */
  address: string;
  zone: Zone;
  /** Questions so far, such as `A example.test`. */
  questions: string[];
  stop(): Promise<void>;
}

const TYPES = new Map([
  [1, 'A'],
  [28, 'AAAA'],
]);
const HEADER_BYTES = 12;
const NO_SUCH_NAME = 0x8183;
const ANSWERED = 0x8180;

export async function startDNSServer(): Promise<DNSServer> {
  const socket = createSocket('udp4');
  const server: DNSServer = {
    address: '',
    zone: new Map(),
    questions: [],
    stop: () => new Promise((resolve) => socket.close(() => resolve())),
  };
  socket.on('message', (query: Buffer, from: RemoteInfo) => {
    const { name, type, end } = readQuestion(query);
    server.questions.push(`${type} ${name}`);
    const entry = server.zone.get(name);
    const addresses = entry ? entry() : [];
    if (addresses === null) return;
    const records = addresses.filter((address) => address.includes(':') === (type === 'AAAA')).map(encode);
    const head = Buffer.from(query.subarray(0, HEADER_BYTES));
    head.writeUInt16BE(entry ? ANSWERED : NO_SUCH_NAME, 2);
    head.writeUInt16BE(records.length, 6);
    head.fill(0, 8);
    socket.send(
      Buffer.concat([head, query.subarray(HEADER_BYTES, end), ...records]),
      from.port,
      from.address,
    );
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  server.address = `127.0.0.1:${(socket.address() as AddressInfo).port}`;
  return server;
}

function readQuestion(query: Buffer): { name: string; type: string; end: number } {
  const labels: string[] = [];
  let place = HEADER_BYTES;
  while (query[place] !== 0) {
    const length = query[place]!;
    labels.push(query.toString('latin1', place + 1, place + 1 + length));
    place += 1 + length;
  }
  const type = TYPES.get(query.readUInt16BE(place + 1)) ?? 'other';
  return { name: labels.join('.').toLowerCase(), type, end: place + 5 };
}

/** A record of the question's name, to be forgotten at once. */
function encode(address: string): Buffer {
  const isIPv6 = address.includes(':');
  const data = isIPv6 ? encodeIPv6(address) : Buffer.from(address.split('.').map(Number));
  const head = Buffer.from([0xc0, HEADER_BYTES, 0, isIPv6 ? 28 : 1, 0, 1, 0, 0, 0, 0, 0, data.length]);
  return Buffer.concat([head, data]);
}

function encodeIPv6(address: string): Buffer {
  const [before = '', after = ''] = address.split('::');
  const left = before.split(':').filter(Boolean);
  const right = after.split(':').filter(Boolean);
  const middle = new Array<string>(8 - left.length - right.length).fill('0');
  return Buffer.from([...left, ...middle, ...right].map((group) => group.padStart(4, '0')).join(''), 'hex');
}
