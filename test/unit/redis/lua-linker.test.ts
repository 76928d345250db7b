import { expect } from 'chai';
import { workKeys } from '../../../api/redis-keys.ts';
import { FIELDS, nameShown } from '../../../redis/function-table.ts';
import { readFunctionFiles } from '../../../redis/library.ts';
import { linkLibrary } from '../../../redis/lua-linker.ts';
import { writePrelude } from '../../../redis/lua-prelude.ts';

const files = readFunctionFiles();

/** The library with changed files. */
function link(changes: Record<string, (text: string) => string>): string {
  const changed = Object.entries(changes).map(([file, change]): [string, string] => [
    file,
    change(files.get(file) ?? ''),
  ]);
  return linkLibrary(new Map([...files, ...changed]));
}

describe('the functions library', () => {
  it('has each include once, after those that it includes itself', () => {
    const library = linkLibrary(files);
    const at = (text: string) => {
      expect(library.split(text), text).to.have.length(2);
      return library.indexOf(text);
    };
    expect(at('\nlocal memory = {')).to.be.below(at('\nlocal function register('));
    expect(at('\nlocal function parse_number(')).to.be.below(at('\nlocal function afford('));
    expect(library).not.to.include('@include');
  });

  for (const [what, file, change, message] of [
    [
      'includes a file that does not exist',
      'due.lua',
      (text: string) => text.replace('"clock"', '"clocks"'),
      'due.lua includes "clocks", which does not exist',
    ],
    [
      'calls a function of a file that it does not include',
      'due.lua',
      (text: string) => text.replace('"clock", ', ''),
      /^due\.lua uses \w+, which none of its includes declares$/,
    ],
    [
      'reads a constant that neither the table nor an include declares',
      'usage.lua',
      (text: string) => text.replace('local MAX_KEEP_SECONDS', 'local MOST_KEEP_SECONDS'),
      'usage.lua uses MAX_KEEP_SECONDS, which none of its includes declares',
    ],
    [
      'includes a file of which it uses nothing',
      'due.lua',
      (text: string) => text.replace('"clock"', '"clock", "reports"'),
      'due.lua includes "reports" without using it',
    ],
    [
      'includes itself through another',
      'include/numbers.lua',
      (text: string) => `--- @include "credit"\n${text}\nlocal function spend() return afford() end`,
      /^"\w+" includes itself/,
    ],
    [
      'registers a function with other arguments than the table has',
      'worker.lua',
      (text: string) =>
        text.replace('namespace, id, token, lease_ms, progress', 'namespace, token, id, lease_ms, progress'),
      /^renew takes \(namespace, id, token, lease_ms, progress\), but is registered with \(namespace, token, id/,
    ],
    [
      'lacks a function of the table',
      'heartbeats.lua',
      (text: string) => text.slice(0, text.indexOf("register('leave'")),
      /^leave takes \(pod\)/,
    ],
    [
      'registers a function that is not in the table',
      'resend.lua',
      (text: string) =>
        text.replace("register('resend'", "register('repeat_all', function() end)\nregister('resend'"),
      /repeat_all/,
    ],
  ] as const)
    it(`is refused where a file ${what}`, () => {
      expect(() => link({ [file]: change })).to.throw(message);
    });
});

describe('the prelude of the functions', () => {
  it('builds each key as programs do', () => {
    const statement = writePrelude().get('tpd_key')!;
    expect(statement).to.equal(
      "local function tpd_key(namespace, a, b) return 'w:{' .. namespace .. '}:tpd:' .. string.sub(a, 1, 24) .. ':' .. b end",
    );
    const sha256 = 'f'.repeat(64);
    expect(workKeys('team').tpd(sha256, 7)).to.equal(`w:{team}:tpd:${sha256.slice(0, 24)}:7`);
  });

  it('has bounds of arguments that older gateways keep', () => {
    const signatures = writePrelude().get('SIGNATURES')!;
    for (const bounds of [
      'admit={kind="bounded",keys=100,fixed=1,each=2,least=3,most=201,bytes=32768}',
      'heartbeat={kind="ends",keys=1,fixed=3,each=0,least=2,most=3,bytes=4096}',
      'add_usage={kind="begins",keys=4,fixed=1,each=2,least=5,most=1207,bytes=65536}',
      'list={kind="reads",keys=2,fixed=5,each=0,least=1,most=5,bytes=1024}',
    ])
      expect(signatures).to.include(bounds);
  });

  it('has the result of a request in the place where older gateways read it', () => {
    expect(FIELDS.RESULT_AT).to.equal(13);
    const shown = Array.from({ length: 22 }, (_, index) => `value ${index}`);
    expect(nameShown(shown)).to.include({
      error_code: 'value 11',
      result: 'value 12',
      api_key: 'value 13',
      retry_of: 'value 17',
      replay_differs: 'value 21',
    });
  });
});
