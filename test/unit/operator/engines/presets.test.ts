import { expect } from 'chai';
import { ENGINE_PRESETS } from '../../../../api/engine-presets.ts';
import { PRESETS } from '../../../../operator/engines/presets.ts';
import { hashInputs } from '../../../../operator/resources/template-pin.ts';
import { build, makeModel, variable } from '../resources/fixtures.ts';

const kindOf = (preset: string) =>
  preset === 'tei' ? 'Embedding' : ['vllm-omni', 'sglang-diffusion'].includes(preset) ? 'Image' : 'LLM';

const spec = (preset: string, more: object = {}) => ({
  kind: kindOf(preset),
  engine: { preset, ...(preset === 'custom' ? { image: 'own:1', args: ['$(ENGINE_PORT)'] } : {}) },
  ...more,
});

describe('every engine', () => {
  for (const preset of ENGINE_PRESETS) {
    it(`listens on loopback only, on the port of the spec: ${preset}`, () => {
      const { engine } = build(spec(preset));
      const told = JSON.stringify([engine.args, engine.env]);
      expect(told).to.include('127.0.0.1').and.to.include('8000');
      expect(told).not.to.include('0.0.0.0');
    });

    it(`has more shared memory than a container's usual 64 MiB: ${preset}`, () => {
      const { engine, pod } = build(spec(preset));
      const { name } = engine.volumeMounts!.find(({ mountPath }) => mountPath === '/dev/shm')!;
      const volume = pod.volumes!.find((one) => one.name === name)!;
      expect(volume.emptyDir).to.deep.equal({ medium: 'Memory', sizeLimit: '2Gi' });
    });

    it(`gives up privileges: ${preset}`, () => {
      expect(build(spec(preset)).engine.securityContext).to.deep.include({
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      });
    });

    it(`adds the arguments of the spec after its own: ${preset}`, () => {
      const { engine } = build({ ...spec(preset), engine: { preset, image: 'i', args: ['--last'] } });
      expect(engine.args!.at(-1)).to.equal('--last');
    });
  }

  for (const preset of ENGINE_PRESETS.filter((name) => name !== 'custom'))
    it(`runs as a user that is not root, with a home that it may write to: ${preset}`, () => {
      const { engine, pod } = build(spec(preset));
      expect(engine.securityContext).to.include({ runAsNonRoot: true }).and.have.property('runAsUser');
      const home = engine.volumeMounts!.find(
        ({ mountPath }) => mountPath === variable(engine, 'HOME')!.value,
      )!;
      expect(pod.volumes!.find(({ name }) => name === home.name)!.emptyDir).to.deep.equal({});
      // Libraries read these before they look up their user.
      expect([variable(engine, 'USER')!.value, variable(engine, 'LOGNAME')!.value]).to.deep.equal([
        'berth',
        'berth',
      ]);
    });

  for (const preset of ENGINE_PRESETS.filter((name) => !['custom', 'simulator'].includes(name)))
    it(`has a pinned image: ${preset}`, () => {
      // No image of TEI for AMD's GPUs is published.
      for (const vendor of ['none', 'nvidia', 'amd'] as const)
        if (!(preset === 'tei' && vendor === 'amd'))
          expect(PRESETS[preset].image(vendor, 'LLM'))
            .to.match(/^[a-z.]+\/.+:([a-z0-9.-]*[0-9]|v0.5.18-rocm720-mi30x)$/)
            .and.not.include('latest');
    });
});

const argsOf = (preset: string, more: object = {}) => build(spec(preset, more)).engine.args!;

describe('vLLM', () => {
  it('serves the repository by the name that requests carry', () => {
    const { engine } = build();
    expect(engine.command).to.deep.equal(['vllm', 'serve']);
    expect(engine.args!.slice(0, 4)).to.deep.equal([
      'Qwen/Qwen3-8B',
      '--host=127.0.0.1',
      '--port=8000',
      '--served-model-name=qwen/qwen3',
    ]);
  });

  it('fetches no media by itself, by redirects neither', () => {
    const { engine } = build();
    expect(engine.args).to.include('--allowed-media-domains=none.invalid');
    expect(variable(engine, 'VLLM_MEDIA_URL_ALLOW_REDIRECTS')!.value).to.equal('0');
  });

  it("runs as the image's own user, whom torch can look up", () => {
    expect(build().engine.securityContext!.runAsUser).to.equal(2000);
  });

  it('splits the model over the GPUs of a replica', () => {
    expect(argsOf('vllm', { gpu: { count: 4 } })).to.include('--tensor-parallel-size=4');
    expect(argsOf('vllm').join()).not.to.include('tensor-parallel');
  });

  it('can be put to sleep where that is asked for, and the GPU lets it', () => {
    const sleeps = { scaling: { min: 0, max: 1, idle: 'Sleep' } };
    const isTold = (more: object) => {
      const { engine } = build(spec('vllm', more));
      const isDev = variable(engine, 'VLLM_SERVER_DEV_MODE')?.value === '1';
      return [engine.args!.includes('--enable-sleep-mode'), isDev];
    };
    expect(isTold(sleeps)).to.deep.equal([true, true]);
    expect(isTold({ ...sleeps, gpu: { count: 0 } })).to.deep.equal([false, false]);
    expect(isTold({ scaling: { min: 0, max: 1 } })).to.deep.equal([false, false]);
  });

  it('pools for embeddings', () => {
    expect(argsOf('vllm', { kind: 'Embedding' })).to.include('--runner=pooling');
  });

  it('transcribes in an image that decodes sounds', () => {
    const imageOf = (kind: string, gpu?: object) => build(spec('vllm', { kind, ...gpu })).engine.image;
    expect(imageOf('LLM')).to.include('/vllm-openai:');
    expect(imageOf('Transcription')).to.include('/vllm-omni:');
    expect(imageOf('Transcription', { gpu: { count: 1, resourceName: 'amd.com/gpu' } })).to.include(
      '/vllm-omni-rocm:',
    );
  });

  it('takes sounds as large as the gateway does', () => {
    const { env } = build(spec('vllm', { kind: 'Transcription' })).engine;
    const find = (limit: string) =>
      Number(env?.find(({ name }) => name === `VLLM_MAX_AUDIO_${limit}`)?.value);
    expect(find('CLIP_FILESIZE_MB')).to.be.greaterThan(50);
    // An hour at 48 kHz, as 32-bit samples.
    expect(find('DECODE_DURATION_S')).to.be.at.least(3_600);
    expect(find('DECODE_BYTES')).to.be.at.least(3_600 * 48_000 * 4);
  });
});

describe('vLLM-Omni for speech', () => {
  it('is not split as diffusion is', () => {
    const args = argsOf('vllm-omni', { kind: 'Speech', gpu: { count: 2 } }).join(' ');
    expect(args).to.include('--omni').and.not.include('--usp');
  });
});

describe('SGLang', () => {
  it('serves language models, split over GPUs, and embeddings', () => {
    const { engine } = build(spec('sglang', { gpu: { count: 2 } }));
    expect(engine.command).to.deep.equal(['python3', '-m', 'sglang.launch_server']);
    expect(engine.args).to.include.members(['--model-path=Qwen/Qwen3-8B', '--tp-size=2']);
    expect(argsOf('sglang', { kind: 'Embedding' })).to.include('--is-embedding');
  });

  it('fetches no media by itself', () => {
    for (const kind of ['LLM', 'Embedding', 'Transcription'])
      expect(argsOf('sglang', { kind })).to.include('--allowed-media-domains=none.invalid');
  });

  it('answers its health check without a generation, unless configured otherwise', () => {
    const name = 'SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION';
    const read = (env: object[]) =>
      build(spec('sglang', { engine: { preset: 'sglang', env } })).engine.env!.find(
        (one) => one.name === name,
      );
    expect(read([])).to.deep.equal({ name, value: '0' });
    expect(read([{ name, value: '1' }])).to.deep.equal({ name, value: '1' });
  });

  it('serves diffusion as the child of a shell, with folders for results and inputs that it may write', () => {
    const { engine } = build(spec('sglang-diffusion', { kind: 'Video', gpu: { count: 2 } }));
    expect(engine.command!.slice(0, 2)).to.deep.equal(['bash', '-c']);
    expect(engine.args).to.include.members([
      '--num-gpus=2',
      '--output-path=/home/berth/outputs',
      '--input-save-path=/home/berth/inputs',
    ]);
    // Nothing else removes the files.
    expect(engine.command![2]).to.match(
      /find \/home\/berth\/outputs \/home\/berth\/inputs .*-mmin \+180 -delete/,
    );
  });
});

describe('an engine whose shell notes what it does not say', () => {
  const MARK = '/run/berth-engine/out-of-memory';
  const NAME = 'gateway-engine-notes';
  const look = (preset: string, engine: object = {}) => {
    const built = build(spec(preset, { engine: { preset, ...engine } }));
    const find = ({ volumeMounts = [] }: typeof built.engine) =>
      volumeMounts.find(({ name }) => name === NAME);
    return {
      mounts: [find(built.engine), find(built.gateway)],
      volume: built.pod.volumes!.find(({ name }) => name === NAME),
      told: [
        variable(built.engine, 'BERTH_MEMORY_MARK')?.value,
        variable(built.gateway, 'GATEWAY_MEMORY_MARK')?.value,
      ],
    };
  };

  it('shares a small volume with the gateway, which can only read it', () => {
    expect(look('sglang-diffusion')).to.deep.equal({
      mounts: [
        { name: NAME, mountPath: '/run/berth-engine' },
        { name: NAME, mountPath: '/run/berth-engine', readOnly: true },
      ],
      volume: { name: NAME, emptyDir: { sizeLimit: '1Mi' } },
      told: [MARK, MARK],
    });
  });

  it('is SGLang Diffusion alone, by the preset’s own command', () => {
    const none = { mounts: [undefined, undefined], volume: undefined };
    expect(look('vllm-omni')).to.deep.include(none);
    const own = look('sglang-diffusion', { command: ['own'] });
    expect(own).to.deep.include(none);
    expect(own.told[1]).to.equal(undefined);
  });
});

describe('vLLM-Omni', () => {
  it('serves diffusion models, split by sequence', () => {
    const args = argsOf('vllm-omni', { gpu: { count: 2 } });
    expect(args).to.include.members(['--omni', '--usp=2', '--allowed-media-domains=none.invalid']);
  });

  it('has as long to start as the pod has', () => {
    expect(argsOf('vllm-omni')).to.include.members(['--init-timeout=1800', '--stage-init-timeout=1800']);
    const engine = { preset: 'vllm-omni', startupTimeout: '2h' };
    expect(build(spec('vllm-omni', { engine })).engine.args).to.include.members([
      '--init-timeout=7200',
      '--stage-init-timeout=7200',
    ]);
  });

  it('gets a repository’s default branch by its name', () => {
    const { engine } = build(spec('vllm-omni'));
    expect(engine.command).to.deep.equal(['vllm', 'serve']);
    expect(engine.args![0]).to.equal('Qwen/Qwen3-8B');
  });
});

describe('Text Embeddings Inference', () => {
  it('listens on the given address, whatever HOSTNAME is', () => {
    expect(argsOf('tei')).to.include.members(['--hostname=127.0.0.1', '--model-id=Qwen/Qwen3-8B']);
  });

  it('takes as many inputs as OpenAI does, in bodies as large as the gateway takes', () => {
    expect(argsOf('tei')).to.include.members([
      '--max-client-batch-size=2048',
      '--max-concurrent-requests=8192',
      '--payload-limit=67108864',
    ]);
  });

  it('finds the driver without root permission to configure the linker', () => {
    expect(variable(build(spec('tei')).engine, 'LD_LIBRARY_PATH')!.value).to.include(
      '/usr/local/nvidia/lib64',
    );
    const onCPU = build(spec('tei', { gpu: { count: 0 } })).engine;
    expect(variable(onCPU, 'LD_LIBRARY_PATH')).to.equal(undefined);
  });

  it('has a version in its tag that does not move', () => {
    expect(build(spec('tei')).engine.image).to.match(/:cuda-[0-9]+\.[0-9]+\.[0-9]+$/);
  });

  it('takes the image without CUDA where there is no GPU', () => {
    expect(build(spec('tei', { gpu: { count: 0 } })).engine.image).to.include(':cpu-');
    expect(build(spec('tei')).engine.image).to.include(':cuda-');
  });
});

describe('llama.cpp', () => {
  it('runs on CPUs unless given GPUs, and offloads all layers to those', () => {
    expect(build(spec('llama-cpp')).gpuResource).to.equal('');
    expect(argsOf('llama-cpp', { gpu: { count: 1 } }).join(' ')).to.include('--n-gpu-layers 999');
    expect(argsOf('llama-cpp').join()).not.to.include('n-gpu-layers');
  });

  it('reranks', () => {
    expect(argsOf('llama-cpp', { kind: 'Rerank' })).to.include.members(['--reranking', '--ubatch-size']);
  });

  it('takes inputs of embeddings as long as the context, up to what OpenAI takes', () => {
    const args = argsOf('llama-cpp', { kind: 'Embedding' }).join(' ');
    expect(args)
      .to.include('--embeddings')
      .and.include('--batch-size 8192')
      .and.include('--ubatch-size 8192');
    expect(argsOf('llama-cpp').join(' ')).not.to.include('batch-size');
  });

  it('rejects a revision with a message', () => {
    const source = { huggingFace: { repo: 'a/b', revision: 'v1' } };
    const { problems } = build(spec('llama-cpp', { model: { id: 'm', source } }));
    expect(problems[0]!.message).to.include('revision');
  });
});

describe('accelerators', () => {
  const on = (preset: string, gpu: object, more: object = {}) => build(spec(preset, { gpu, ...more }));
  const amd = { resourceName: 'amd.com/gpu' };

  for (const [preset, image] of [
    ['vllm', 'docker.io/vllm/vllm-openai-rocm:v0.33.0'],
    ['vllm-omni', 'docker.io/vllm/vllm-omni-rocm:v0.28.0'],
    ['sglang', 'docker.io/lmsysorg/sglang:v0.5.18-rocm720-mi30x'],
    ['sglang-diffusion', 'docker.io/lmsysorg/sglang:v0.5.18-rocm720-mi30x'],
    ['llama-cpp', 'ghcr.io/ggml-org/llama.cpp:server-rocm-b11382'],
  ] as const)
    it(`of AMD get the image for ROCm: ${preset}`, () => {
      const { engine, problems } = on(preset, amd);
      expect(engine.image).to.equal(image);
      expect(problems).to.deep.equal([]);
    });

  it('of AMD get the image that the installation has for them, not the one for CUDA', () => {
    const engineImages = { vllm: 'own/cuda:1', 'vllm-rocm': 'own/rocm:1' };
    expect(build(spec('vllm', { gpu: amd }), { engineImages }).engine.image).to.equal('own/rocm:1');
    expect(build(spec('vllm'), { engineImages }).engine.image).to.equal('own/cuda:1');
  });

  it('for which there is no image are a problem, but not with an image of one’s own', () => {
    const refused: [string, string][] = [
      ['tei', 'amd.com/gpu'],
      ['vllm', 'gpu.intel.com/i915'],
      ['vllm', 'habana.ai/gaudi'],
    ];
    for (const [preset, resourceName] of refused) {
      const [problem] = on(preset, { resourceName }).problems;
      expect(problem!.reason).to.equal('AcceleratorNotSupported');
      expect(problem!.message)
        .to.include(resourceName)
        .and.include('spec.engine.image')
        .and.include('nvidia.com');
      const engine = { preset, image: 'own:1' };
      expect(on(preset, { resourceName }, { engine }).problems).to.deep.equal([]);
    }
  });

  it('is a problem of the simulator where the installation has none, but not with an image of one’s own', () => {
    const none = { simulatorImage: undefined };
    const model = { kind: 'LLM', model: { id: 'x', source: { none: {} } } };
    const [problem] = build(makeModel({ ...model, engine: { preset: 'simulator' } }), none).problems;
    expect(problem!.reason).to.equal('ImageMissing');
    expect(problem!.message).to.include('engines.simulator.repository').and.include('simulator.Dockerfile');
    const engine = { preset: 'simulator', image: 'own:1' };
    expect(build(makeModel({ ...model, engine }), none).problems).to.deep.equal([]);
  });

  it('of NVIDIA may be shared under another name', () => {
    expect(on('vllm', { resourceName: 'volcano.sh/vgpu-number' }).problems).to.deep.equal([]);
  });

  it('that are slices are not joined', () => {
    const resourceName = 'nvidia.com/mig-1g.10gb';
    const [problem] = on('vllm', { resourceName, count: 4 }).problems;
    expect(problem!.reason).to.equal('SlicesNotJoined');
    expect(problem!.message).to.match(/one larger slice, or more replicas/);
    expect(on('vllm', { resourceName }).problems).to.deep.equal([]);
    expect(on('custom', { resourceName, count: 4 }).problems).to.deep.equal([]);
  });
});

describe('the simulator', () => {
  it('gets kind, name, address and port, and what the spec sets', () => {
    const { engine } = build({
      model: { id: 'm' },
      kind: 'Embedding',
      engine: { preset: 'simulator', env: [{ name: 'SIMULATOR_TTFT_MS', value: '5' }] },
    });
    const told = Object.fromEntries(engine.env!.map(({ name, value }) => [name, value]));
    expect(told).to.include({
      SIMULATOR_KIND: 'Embedding',
      SIMULATOR_MODEL: 'm',
      SIMULATOR_HOST: '127.0.0.1',
      SIMULATOR_PORT: '8000',
      SIMULATOR_TTFT_MS: '5',
    });
    expect(engine.args).to.deep.equal(['simulator/main.ts']);
  });
});

describe('an engine of one’s own', () => {
  it('finds address, port and model in its environment, for its arguments too', () => {
    const { engine } = build({
      model: { id: 'm', source: { pvc: { claimName: 'c', path: 'w' } } },
      engine: { preset: 'custom', image: 'own:1', command: ['serve'], args: ['$(MODEL_PATH)'] },
    });
    expect(engine.command).to.deep.equal(['serve']);
    expect(variable(engine, 'MODEL_PATH')!.value).to.equal('/models/w');
    expect(engine.securityContext).not.to.have.property('runAsUser');
  });
});

describe('the hash of what makes the pods', () => {
  it('is what it was: a change here would restart every GPU pod at the next upgrade', () => {
    expect(hashInputs(makeModel().spec)).to.equal('2235a34f1296a346a05d81c74a823b54');
  });

  it('is the same with the memory of the GPUs, which no pod depends on', () => {
    const hashOf = (preset: string, gpu?: object) =>
      hashInputs(makeModel({ ...spec(preset), ...(gpu && { gpu }) }).spec);
    expect(hashOf('vllm', { memory: '80Gi' })).to.equal(hashOf('vllm'));
    expect(hashOf('vllm', { count: 2, memory: '80Gi' })).to.equal(hashOf('vllm', { count: 2 }));
    expect(hashOf('vllm', { count: 2 })).not.to.equal(hashOf('vllm'));
    expect(hashOf('llama-cpp', { count: 1 })).not.to.equal(hashOf('llama-cpp'));
  });
});
