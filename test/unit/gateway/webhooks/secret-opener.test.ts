import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { sealSigningSecret } from '../../../../api/signing-secret.ts';
import { createSecretOpener } from '../../../../gateway/webhooks/secret-opener.ts';

const KEYS: Record<string, Buffer> = { one: randomBytes(32), two: randomBytes(32) };

describe('the opener of sealed signing secrets', () => {
  let derived: string[];
  const create = () =>
    createSecretOpener((namespace) => {
      derived.push(namespace);
      return KEYS[namespace]!;
    });
  beforeEach(() => {
    derived = [];
  });

  it('derives a workspace’s key once for all deliveries with the same secret', () => {
    const open = create();
    const sealed = sealSigningSecret('first', 'one', KEYS.one!);
    for (let delivery = 0; delivery < 3; delivery++)
      expect(open('one', sealed)?.workspace.current).to.equal('first');
    expect(derived).to.deep.equal(['one']);
  });

  it('takes a rolled secret at the next delivery', () => {
    const open = create();
    open('one', sealSigningSecret('first', 'one', KEYS.one!));
    expect(open('one', sealSigningSecret('second', 'one', KEYS.one!))?.workspace.current).to.equal('second');
  });

  it('opens no secret of another workspace, nor what it opened before, where there is none', () => {
    const open = create();
    const sealed = sealSigningSecret('first', 'one', KEYS.one!);
    open('one', sealed);
    expect(open('two', sealed)).to.equal(null);
    expect(open('one', null)).to.equal(null);
  });
});
