/** Names of others' packages, images and hosts: whoever owns one decides what its users run. */
import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

/** What users read and run. */
const FILES = globSync(
  [
    '{README,CHANGELOG,CONTRIBUTING}.md',
    'docs/**/*.{md,json}',
    '{charts,examples,images}/**/*',
    '{api,gateway,operator,console,simulator,weights,launch,cli,machine,cluster,kit,tools}/**/*.{ts,tsx,md,yaml,Dockerfile}',
    '*.ts',
    'Makefile',
  ],
  { exclude: (path) => /(^|\/)(node_modules|dist[\w-]*|\.vitepress)(\/|$)/.test(path) },
).filter((path) => /\.\w+$|Makefile$/.test(path) && !/lock\.json$/.test(path));

/** Packages by the registries' own names, and who publishes them. */
const PACKAGES: Record<string, string> = {
  vllm: 'PyPI, the vLLM project',
  'vllm-omni': 'PyPI, the vLLM project',
  'sglang[all]': 'PyPI, the SGLang project',
  '@anthropic-ai/claude-code': 'npm, Anthropic',
  '@openai/codex': 'npm, OpenAI',
  'opencode-ai': 'npm, the opencode project',
};

const IMAGES = [
  /^docker\.io\/vllm\/vllm-(openai|omni)(-rocm)?$/,
  /^docker\.io\/lmsysorg\/sglang$/,
  /^docker\.io\/valkey\/valkey$/,
  /^docker\.io\/rclone\/rclone$/,
  /^docker\.io\/library\/(node|traefik)$/,
  /^docker\.io\/kindest\/node$/,
  /^docker\.io\/michaelf34\/infinity$/,
  /^ghcr\.io\/ggml-org\/llama\.cpp$/,
  /^ghcr\.io\/huggingface\/text-embeddings-inference$/,
  /^scratch$/,
  // Readers' own registries, or no registry at all.
  /^(registry|mirror)\.example\.com\//,
  /^localhost\//,
];

const HOSTS = [
  /(^|\.)example(\.(com|net|org))?$/,
  /\.(test|invalid|local|localhost|svc)$/,
  /^collector\.monitoring$/,
  /^(github|huggingface)\.co(m)?$/,
  /^(docs|registry-1)\.docker\.(com|io)$/,
  /^kind\.sigs\.k8s\.io$/,
  /^(www\.(w3|standardwebhooks|openresponses)|opentelemetry|json-schema|focus\.finops|go|deb\.debian)\.(org|com|io|dev)$/,
  /\.r2\.cloudflarestorage\.com$/,
];

interface Found {
  path: string;
  name: string;
}

function find(pattern: RegExp): Found[] {
  return FILES.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(pattern)].flatMap(([, names]) =>
      names!.split(/\s+/).map((name) => ({ path, name: name.replace(/^["']|["'.,;:)`]+$/g, '') })),
    ),
  ).filter(({ name }) => name !== '' && !name.startsWith('-'));
}

const NAME = String.raw`["']?@?[a-z0-9][\w./@[\]-]*["']?`;
const OPTIONS = String.raw`(?:--?[\w-]+(?:=\S+)?[ ]+)*`;
const isFile = (name: string): boolean => /^\.{0,2}\/|\.(tgz|whl)$/.test(name);

describe('the names in what users read and run', () => {
  it('are of files that were found', () => {
    expect(FILES).to.include.members(['README.md', 'docs/webhooks.md', 'charts/berth/values.yaml']);
    expect(FILES).to.have.length.above(800);
  });

  it('have nothing fetched and run by a name alone', () => {
    const run = find(
      new RegExp(String.raw`\b(?:npx|npm exec|bunx|pnpm dlx|uvx|pipx run)[ ]+${OPTIONS}(${NAME})`, 'g'),
    );
    expect(run).to.deep.equal([]);
  });

  it('are packages that their own projects publish', () => {
    const install = String.raw`\b(?:(?:npm|pnpm|bun)[ ]+(?:i|install|add)|yarn add|(?:uv )?pip3?[ ]+install|pipx install)`;
    const found = find(new RegExp(`${install}[ ]+${OPTIONS}(${NAME}(?:[ ]+${NAME})*)`, 'g'));
    const commands = found.filter(({ name }) => !isFile(name));
    expect(commands.filter(({ name }) => !PACKAGES[name])).to.deep.equal([]);
    expect(commands.map(({ name }) => name)).to.include('vllm');
  });

  it('are images of their own projects, with the registry in front', () => {
    const found = [
      ...find(/(?:^|[\s{,])(?:- )?(?:image|repository):\s*["']?([\w.-]+(?:[/:][\w.-]+)+)/gm),
      ...find(/^FROM (\S+)/gm),
      ...find(/((?:docker\.io|ghcr\.io|quay\.io|gcr\.io|nvcr\.io|registry\.k8s\.io)\/[\w./-]+)/g),
      ...find(
        /\b(?:docker|podman|buildah|nerdctl)[ ]+(?:run|pull|push)[ ]+(?:-\S+[ ]+)*([\w.-]+(?:[/:][\w.-]+)+)/g,
      ),
    ].map(({ path, name }) => ({ path, name: name.replace(/:[\w.-]*$/, '') }));
    // A media type is no image.
    const strange = found.filter(
      ({ name }) => name !== 'image/png' && !IMAGES.some((image) => image.test(name)),
    );
    expect(strange).to.deep.equal([]);
    expect(new Set(found.map(({ name }) => name))).to.include('docker.io/vllm/vllm-openai');
  });

  it('are charts of this checkout', () => {
    expect(find(/\bhelm[ ]+(?:repo[ ]+add|pull)[ ]+(\S+)/g)).to.deep.equal([]);
    expect(find(/(oci:\/\/\S+)/g)).to.deep.equal([]);
  });

  it('are hosts reserved for examples, or those of who is meant', () => {
    const found = find(/https?:\/\/((?:[A-Za-z0-9-]+\.)+[a-z]{2,})(?=[/:"'`\s)>]|$)/gm);
    expect(found.filter(({ name }) => !HOSTS.some((host) => host.test(name)))).to.deep.equal([]);
  });
});
