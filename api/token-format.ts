/** Format of the tokens that Berth issues: a prefix that shows what each one is, and 256 random bits. */
import { randomBytes } from 'node:crypto';

export const formatApiKey = (bits: Buffer): string => `sk-berth-${bits.toString('base64url')}`;
export const generateApiKey = (): string => formatApiKey(randomBytes(32));

export const formatSigningSecret = (bits: Buffer): string => `whsec_${bits.toString('base64url')}`;
export const generateSigningSecret = (): string => formatSigningSecret(randomBytes(32));
