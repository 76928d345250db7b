import { expect } from 'chai';
import { build, variable } from './fixtures.ts';

const withSource = (source: object, settings = {}) => build({ model: { id: 'm', source } }, settings);
const weightsOf = ({ pod }: ReturnType<typeof build>) => pod.volumes!.find(({ name }) => name === 'weights');
const mountOf = ({ engine }: ReturnType<typeof build>) =>
  engine.volumeMounts!.find(({ name }) => name === 'weights');

describe('weights from the Hugging Face hub', () => {
  it('are downloaded by the engine, with the token from its Secret and the settings for downloads', () => {
    const tokenSecret = { name: 'hf', key: 'token' };
    const { engine, pod } = withSource(
      { huggingFace: { repo: 'a/b', revision: 'v2', tokenSecret } },
      { downloadEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }] },
    );
    expect(engine.args).to.include.members(['a/b', '--revision=v2']);
    expect(variable(engine, 'HF_TOKEN')!.valueFrom!.secretKeyRef).to.deep.equal(tokenSecret);
    expect(variable(engine, 'HTTPS_PROXY')!.value).to.equal('http://proxy:3128');
    expect(pod.initContainers).to.have.lengthOf(1);
  });

  it('go to a writable folder of the pod without a cache', () => {
    const built = withSource({ huggingFace: { repo: 'a/b' } });
    expect(variable(built.engine, 'HF_HOME')!.value).to.match(/^\/home\/berth\//);
    expect(weightsOf(built)).to.equal(undefined);
  });

  it('go to the claim where there is one, of the spec or made for it', () => {
    const shared = withSource({ huggingFace: { repo: 'a/b', cache: { claimName: 'shared' } } });
    const own = withSource({ huggingFace: { repo: 'a/b', cache: { size: '1Gi' } } });
    expect(weightsOf(shared)!.persistentVolumeClaim!.claimName).to.equal('shared');
    expect(weightsOf(own)!.persistentVolumeClaim!.claimName).to.equal('qwen-weights');
    expect(variable(own.engine, 'HF_HOME')!.value).to.equal(mountOf(own)!.mountPath);
    expect(own.pod.securityContext).to.include({ fsGroup: 2000, fsGroupChangePolicy: 'OnRootMismatch' });
  });
});

describe('weights from S3', () => {
  const s3 = { uri: 's3://models/qwen/v1', endpoint: 'https://s3.example.com', secret: 'keys', size: '40Gi' };

  it('are copied before the engine starts, into a folder that it reads', () => {
    const built = withSource({ s3 });
    const fetch = built.pod.initContainers![1]!;
    expect(fetch.args!.slice(0, 2)).to.deep.equal([':s3:models/qwen/v1', '/models']);
    expect(weightsOf(built)!.emptyDir).to.deep.equal({ sizeLimit: '40Gi' });
    expect(mountOf(built)).to.include({ mountPath: '/models', readOnly: true });
    expect(built.engine.args![0]).to.equal('/models');
  });

  it('are read with the keys of the Secret, which the engine does not get', () => {
    const { pod, engine } = withSource({ s3 });
    const fetch = pod.initContainers![1]!;
    expect(variable(fetch, 'RCLONE_S3_SECRET_ACCESS_KEY')!.valueFrom!.secretKeyRef).to.deep.equal({
      name: 'keys',
      key: 'secretAccessKey',
    });
    expect(variable(fetch, 'RCLONE_S3_ENDPOINT')!.value).to.equal('https://s3.example.com');
    expect(JSON.stringify(engine)).not.to.include('keys');
  });

  it('are read anonymously without one', () => {
    const { pod } = withSource({ s3: { uri: 's3://models/qwen' } });
    expect(variable(pod.initContainers![1]!, 'RCLONE_S3_ACCESS_KEY_ID')).to.equal(undefined);
    expect(variable(pod.initContainers![1]!, 'RCLONE_S3_PROVIDER')!.value).to.equal('AWS');
  });

  it('may be one GGUF file', () => {
    const { engine } = build({
      model: { id: 'm', source: { s3: { uri: 's3://models/q/tiny.gguf' } } },
      engine: { preset: 'llama-cpp' },
    });
    expect(engine.args!.slice(0, 2)).to.deep.equal(['--model', '/models/tiny.gguf']);
  });
});

describe('weights on a claim', () => {
  it('are mounted read-only, so that nobody changes their owner', () => {
    const built = withSource({ pvc: { claimName: 'weights', path: '/qwen/v1/' } });
    expect(weightsOf(built)!.persistentVolumeClaim).to.deep.equal({ claimName: 'weights', readOnly: true });
    expect(mountOf(built)!.readOnly).to.equal(true);
    expect(built.engine.args![0]).to.equal('/models/qwen/v1');
  });
});

describe('weights in an image', () => {
  it('are mounted as a volume', () => {
    const built = withSource({ image: { reference: 'w:1', path: 'qwen' } });
    expect(weightsOf(built)!.image).to.deep.equal({ reference: 'w:1', pullPolicy: 'IfNotPresent' });
    expect(built.engine.args![0]).to.equal('/models/qwen');
  });

  it('are copied out of it by itself where volumes of images are missing', () => {
    const built = withSource({
      image: { reference: 'w:1', path: '/qwen', mode: 'Copy', pullPolicy: 'Always' },
    });
    expect(built.pod.initContainers![1]).to.deep.include({
      image: 'w:1',
      imagePullPolicy: 'Always',
      command: ['cp', '-R', '/qwen/.', '/berth-weights/'],
    });
    expect(built.engine.args![0]).to.equal('/models');
  });
});

describe('images', () => {
  it("are pulled through the installation's registry, but for those that the spec names", () => {
    const settings = { imageRegistry: 'mirror.example.com/hub/', engineImages: { sglang: 'own/sglang:1' } };
    const imageOf = (spec: object) => build(spec, settings).engine.image;
    expect(imageOf({})).to.match(/^mirror\.example\.com\/hub\/vllm\/vllm-openai:v/);
    expect(imageOf({ engine: { preset: 'sglang' } })).to.equal('mirror.example.com/hub/own/sglang:1');
    expect(imageOf({ engine: { preset: 'vllm', image: 'x/y:z' } })).to.equal('x/y:z');
    expect(withSource({ s3: { uri: 's3://models/m' } }, settings).pod.initContainers![1]!.image).to.equal(
      'mirror.example.com/hub/rclone/rclone:1',
    );
  });

  it("are Berth's own for the gateway and the simulator", () => {
    const { gateway, engine } = build(
      { model: { id: 'm' }, engine: { preset: 'simulator' } },
      { imageRegistry: 'mirror/', gatewayImage: 'g:1', simulatorImage: 's:1', imagePullPolicy: 'Never' },
    );
    expect([gateway.image, gateway.imagePullPolicy]).to.deep.equal(['mirror/g:1', 'Never']);
    expect([engine.image, engine.imagePullPolicy]).to.deep.equal(['mirror/s:1', 'Never']);
  });
});
