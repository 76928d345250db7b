/** A session: the browser has a random ID, Redis the token encrypted with a key derived from it. Neither alone reveals the token (decision 0095). */
import { createHash, hkdfSync } from 'node:crypto';
import { openText, sealText } from '../../../api/sealed-text.ts';

export interface Session {
  /** SHA-256 of the ID. */
  digest: string;
  /** Changes in place when it is renewed. */
  token: string;
  /** Set for a sign-in by OIDC. */
  oidc?: TokenRenewalState | undefined;
  user: string;
  /** The namespace entered at sign-in, then the token's own namespace. */
  own: string[];
  /** Unix milliseconds. */
  expiresAt: number;
}

/** What a session by OIDC has besides the token. */
export interface TokenRenewalState {
  subject: string;
  /** null: it ends with its token. */
  refreshToken: string | null;
  /** When the token ends. Unix milliseconds, both. */
  endsAt: number;
  renewAt: number;
}

/** Seals one session with the key that its browser has. */
export interface SessionSeal {
  seal(session: Session): string;
  open(sealed: string): Session | null;
}

export const digestOf = (id: string) => createHash('sha256').update(id).digest('hex');

export function createSeal(id: string): SessionSeal {
  const digest = digestOf(id);
  const key = Buffer.from(hkdfSync('sha256', id, 'berth', 'v1/console-session', 32));
  return {
    seal: ({ digest: _, ...sealable }) => sealText(JSON.stringify(sealable), [digest], key),
    open: (sealed) => {
      const text = openText(sealed, [digest], key);
      return text === null ? null : { ...(JSON.parse(text) as Omit<Session, 'digest'>), digest };
    },
  };
}
