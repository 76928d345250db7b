import { expect } from 'chai';
import { hashApiKey } from '../../../api/identity.ts';
import { publishApiKeys } from '../../../redis/publication/publication.ts';
import { makePicture } from '../../support/media-files.ts';
import { FILM, type FrontWorkspace, KEYS, PICTURE, startFrontWorkspace } from './front-workspace.ts';

const SECOND_KEY = 'sk-team-second';
const ORDER = { model: 'film', prompt: 'a cat', seconds: '1', size: '64x64' };

describe('queued requests, as the API documents them', () => {
  let space: FrontWorkspace;
  let film: string;
  let count = 0;
  before(async () => {
    space = await startFrontWorkspace();
    const key = { n: 'key', rpm: 1000, tpd: 1000, exp: 0, off: 0 as const };
    const keys = [KEYS.team, SECOND_KEY].map((each) => [hashApiKey(each), key] as const);
    await publishApiKeys(space.connection.redis, 'team', new Map(keys));
    await space.publish('picture', PICTURE);
  });
  beforeEach(async () => {
    film = `film-${++count}`;
    await space.publish(film, FILM);
  });
  after(() => space?.stop());

  const buildForm = (fields: Record<string, string | Blob>) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    return form;
  };
  const makeBlob = (bytes: Buffer) => new Blob([new Uint8Array(bytes)]);
  const referTo = (bytes: Buffer) => ({ image_url: `data:image/png;base64,${bytes.toString('base64')}` });

  it('are the same for JSON as for a form: answer, job, inputs and repeats', async () => {
    const picture = await makePicture(64, 64);
    const reference = { input_reference: makeBlob(picture) };
    const form = await space.call(film, '/videos', { body: buildForm({ ...ORDER, ...reference }) });
    const json = await space.call(film, '/videos', { body: { ...ORDER, input_reference: referTo(picture) } });
    const omit = ({ id, created_at, ...rest }: Record<string, unknown>) => rest;
    expect([json.status, omit(json.body)], json.text).to.deep.equal([202, omit(form.body)]);
    expect(json.body).to.include({ object: 'video', status: 'queued', progress: 0, seconds: '1.042' });
    const [first, second] = [await space.claim(film), await space.claim(film)].map((job) => ({
      ...JSON.parse(job.params),
    }));
    const describeInputs = ({
      inputs,
    }: {
      inputs: { contentType: string; fileName: string; bytes: number }[];
    }) => inputs.map(({ contentType, fileName, bytes }) => ({ contentType, fileName, bytes }));
    expect(describeInputs(first)).to.have.length(1);
    expect(describeInputs(second)).to.deep.equal(describeInputs(first));
    expect(second.parameters).to.deep.equal(first.parameters);
  });

  it('are one for a key that is repeated in the other encoding, whatever that one is', async () => {
    const picture = await makePicture(64, 64);
    const headers = { 'idempotency-key': film };
    const form = () => buildForm({ ...ORDER, fps: '12', input_reference: makeBlob(picture) });
    const json = { ...ORDER, seconds: 1.0, fps: 12, input_reference: referTo(picture) };
    const { body: original } = await space.call(film, '/videos', { body: form(), headers });
    for (const body of [json, form(), { ...json, seconds: '1.0', fps: '12' }]) {
      const repeat = await space.call(film, '/videos', { body, headers });
      expect([repeat.status, repeat.body.id], repeat.text).to.deep.equal([202, original.id]);
    }
    expect((await space.call(film, '/requests')).body.data).to.have.length(1);
    const edit = { model: 'picture', prompt: 'x', size: '64x64' };
    const edited = await space.call('picture', '/images/edits?async=true', {
      body: { ...edit, images: [referTo(picture)] },
      headers,
    });
    expect(edited.body, edited.text).to.include({ object: 'inference.request', modality: 'image' });
    const again = await space.call('picture', '/images/edits?async=true', {
      body: buildForm({ ...edit, image: makeBlob(picture) }),
      headers,
    });
    expect(again.body.id).to.equal(edited.body.id);
  });

  it('are different for the same idempotency key with another API key', async () => {
    const headers = { 'idempotency-key': film };
    const submit = (key: string) => space.call(film, '/videos', { body: ORDER, headers, key });
    const [first, second] = [await submit(KEYS.team), await submit(SECOND_KEY)];
    expect([first.status, second.status]).to.deep.equal([202, 202]);
    expect(second.body.id).to.not.equal(first.body.id);
    expect((await submit(SECOND_KEY)).body.id).to.equal(second.body.id);
  });

  it('have IDs and times of the documented form', async () => {
    const { body: video } = await space.call(film, '/videos', { body: ORDER });
    expect(video.id).to.match(/^req_[0-9a-f]+$/);
    const now = Math.floor(Date.now() / 1000);
    expect(video.created_at).to.be.a('number').and.satisfy(Number.isInteger).and.be.closeTo(now, 60);
    const job = await space.claim(film);
    const read = async () => (await space.call(film, `/requests/${video.id}`)).body;
    expect(await read()).to.include({ status: 'running', completed_at: null });
    await space.succeed(job, Buffer.from('film'));
    const { queued_at, started_at, completed_at, ...request } = await read();
    for (const at of [queued_at, started_at, completed_at] as number[])
      expect(at).to.satisfy(Number.isInteger).and.be.closeTo(now, 60);
    expect(request).to.have.all.keys(
      'id',
      'object',
      'modality',
      'status',
      'output_object_key',
      'output_bucket',
      'storage_provider',
      'output_urls',
      'error_code',
      'error_message',
    );
  });

  it('are 50 in a list unless its reader says otherwise', async () => {
    for (let index = 0; index < 51; index++) await space.call(film, '/videos', { body: ORDER });
    const { body } = await space.call(film, '/requests');
    expect(body.data).to.have.length(50);
    expect((await space.call(film, '/requests?limit=51')).body.data).to.have.length(51);
  });
});
