/** Messages about fields that the console's API rejects. */
import { expect } from 'chai';
import { z } from 'zod';
import { bodies, namespaceName } from '../../../console/bodies.ts';
import { check } from '../../../console/server/http/bodies.ts';

describe("a field that the console's API does not take", () => {
  const key = { name: 'app' };
  const hook = { name: 'hook', url: 'https://example.com' };
  const bucket = { name: 'b', bucket: 'results', accessKeyId: 'id', secretAccessKey: 'key' };
  const RPM = 'a whole number from 1 to 10,000,000';
  const NAME =
    'must be lowercase letters, numbers, "-" and ".", such as my-name, and start and end with a letter or number';
  const TIME = 'a date and time such as 2030-12-31T23:00:00Z';
  type Row = [schema: z.ZodType, body: unknown, words: string];
  const TABLE: Row[] = [
    [bodies.newKey, {}, 'name: must be given, as text of 1 to 200 characters.'],
    [bodies.newKey, { name: '' }, 'name: must be text of 1 to 200 characters, not 0.'],
    [bodies.newKey, { name: 'x'.repeat(201) }, 'name: must be text of 1 to 200 characters, not 201.'],
    [bodies.newKey, { name: 7 }, 'name: must be text of 1 to 200 characters, not a number.'],
    [bodies.newKey, { name: 'My key' }, `name: ${NAME}.`],
    [bodies.newKey, { name: 'a..b' }, `name: ${NAME}.`],
    [bodies.newKey, { ...key, rpm: 0 }, `rpm: must be ${RPM}, not 0.`],
    [bodies.newKey, { ...key, rpm: 20_000_000 }, `rpm: must be ${RPM}, not 20,000,000.`],
    [bodies.newKey, { ...key, rpm: 1.5 }, `rpm: must be ${RPM}, not 1.5.`],
    [bodies.newKey, { ...key, rpm: 1e300 }, `rpm: must be ${RPM}, not 1e+300.`],
    [bodies.newKey, { ...key, rpm: null }, `rpm: must be ${RPM}, not null.`],
    [bodies.newKey, { ...key, rpm: '60' }, `rpm: must be ${RPM}, not "60".`],
    [bodies.newKey, { ...key, tpd: -1 }, 'tpd: must be a whole number from 1 to 1,000,000,000,000, not -1.'],
    [bodies.newKey, { ...key, expiresAt: 'soon' }, `expiresAt: must be ${TIME}, not "soon".`],
    [bodies.newKey, { ...key, expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt: must be in the future.'],
    [
      bodies.newKey,
      { ...key, admin: 1 },
      'admin: is not a known field; allowed: name, rpm, tpd, priority, expiresAt.',
    ],
    [bodies.newKey, [], 'The body must be an object, not a list.'],
    [bodies.keyChange, { rpm: 0 }, `rpm: must be ${RPM}, not 0.`],
    [bodies.keyChange, { disabled: 'yes' }, 'disabled: must be true or false, not "yes".'],
    [bodies.newWebhook, { name: 'hook' }, 'url: must be given, as text of 1 to 2,048 characters.'],
    [bodies.newWebhook, { ...hook, eventTypes: [] }, 'eventTypes: must be a list of 1 to 8, not of 0.'],
    [
      bodies.newWebhook,
      { ...hook, eventTypes: ['request.lost'] },
      'eventTypes.0: must be one of request.completed, request.failed, request.canceled, batch.completed, batch.failed, batch.expired, batch.cancelled, budget.warning, not "request.lost".',
    ],
    [bodies.newWebhook, { ...hook, eventTypes: 'all' }, 'eventTypes: must be a list of 1 to 8, not "all".'],
    [bodies.webhookChange, { reEnable: false }, 'reEnable: must be true, not false.'],
    [
      bodies.newStorageCredential,
      { ...bucket, bucket: 'My bucket' },
      'bucket: must be the name of a bucket: lowercase letters, digits, dots and hyphens.',
    ],
    [
      bodies.newStorageCredential,
      { ...bucket, bucket: 'ab' },
      'bucket: must be text of 3 to 63 characters, not 2.',
    ],
    [
      bodies.newStorageCredential,
      { ...bucket, secretAccessKey: '' },
      'secretAccessKey: must be text of 1 to 1,024 characters, not 0.',
    ],
    [
      bodies.newStorageCredential,
      { ...bucket, prefix: 'x'.repeat(600) },
      'prefix: must be text of at most 512 characters, not 600.',
    ],
    [bodies.signIn, { token: 'a b' }, 'token: must be a single bearer token without spaces.'],
    [bodies.signIn, { token: '' }, 'token: must be a bearer token.'],
    [
      bodies.signIn,
      { token: 't', namespace: 'Team' },
      'namespace: must be a namespace name: lowercase letters, numbers and "-", such as team-a.',
    ],
    [
      z.object({ state: z.enum(['', 'failed']) }),
      { state: ['a'] },
      'state: must be one of failed, not a list.',
    ],
    [z.object({ from: z.number() }), { from: {} }, 'from: must be a number, not an object.'],
    [z.object({ from: z.int().min(3) }), { from: 2 }, 'from: must be a whole number of at least 3, not 2.'],
    [z.object({ from: z.int().max(3) }), { from: 4 }, 'from: must be a whole number of at most 3, not 4.'],
    [
      z.object({ from: z.string().min(3) }),
      { from: '' },
      'from: must be text of at least 3 characters, not 0.',
    ],
    [z.object({ by: z.record(z.string(), z.string()) }), { by: 1 }, 'by: must be an object, not 1.'],
    [z.object({ code: z.string().regex(/^[ab]$/) }), { code: 'c' }, 'code: must match ^[ab]$.'],
    [namespaceName, 'x'.repeat(64), 'The body must be text of at most 63 characters, not 64.'],
  ];
  for (const [schema, body, words] of TABLE)
    it(`is described: ${words.slice(0, 90)}`, () => {
      expect(() => check(body, schema))
        .to.throw()
        .with.property('message', words);
    });

  it('is not repeated where it may be a secret', () => {
    const long = `${'s'.repeat(1_100)}`;
    for (const secretAccessKey of [long, 'two words'])
      expect(() => check({ ...bucket, secretAccessKey }, bodies.newStorageCredential))
        .to.throw()
        .with.property('message')
        .that.does.not.include(secretAccessKey);
  });
});
