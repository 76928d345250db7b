/** How the secrets look that Berth makes for people: a prefix that tells what one is, and 256 bits. */
import { randomBytes } from 'node:crypto';

export const formatApiKey = (bits: Buffer): string => `sk-berth-${bits.toString('base64url')}`;
export const makeApiKey = (): string => formatApiKey(randomBytes(32));

export const formatSigningSecret = (bits: Buffer): string => `whsec_${bits.toString('base64url')}`;
export const makeSigningSecret = (): string => formatSigningSecret(randomBytes(32));
