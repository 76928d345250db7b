import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const PAGE = 'docs/decisions.md';
const SOURCES =
  '{*.ts,{api,kit,kube,redis,operator,gateway,weights,console,simulator,launch,cli,machine,cluster,tools,images,charts,examples}/**/*.{ts,tsx,lua,yaml,Dockerfile}}';
const CITATION = /decisions? \[?(\d{4}(?:\]\([^)]*\))?(?:(?:, | and )\d{4})*)/gi;
const FORM =
  /^\d{4}-\d\d-\d\d(, changed \d{4}-\d\d-\d\d)? · .+\n\n\*\*Context:\*\* .+\n\n\*\*Choice:\*\* .+\n\n\*\*Given up:\*\* .+\n+$/s;

const listCitations = (file: string): { file: string; number: string }[] =>
  [...readFileSync(file, 'utf8').matchAll(CITATION)].flatMap(([, numbers]) =>
    [...numbers!.matchAll(/\b\d{4}\b/g)].map(([number]) => ({ file, number })),
  );

describe('the records of docs/decisions.md', () => {
  const records = readFileSync(PAGE, 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((text) => {
      const [title = '', ...lines] = text.split('\n');
      return { title, number: title.slice(0, 4), body: lines.join('\n').trimStart() };
    });
  const numbers = new Set(records.map(({ number }) => number));
  const cited = globSync(SOURCES, {
    exclude: (path) => /(^|\/)(node_modules|dist)(\/|$)/.test(path),
  }).flatMap(listCitations);

  it('have a number of four digits and a title each', () => {
    expect(records).to.have.length.above(50);
    expect(records.filter(({ title }) => !/^\d{4} \S/.test(title))).to.deep.equal([]);
  });

  it('stand in the order of their numbers, each of which is used once', () => {
    const misplaced = records.filter(
      ({ number }, index) => index > 0 && number <= records[index - 1]!.number,
    );
    expect(misplaced).to.deep.equal([]);
  });

  it('have a date, the context, the choice and what was given up', () => {
    expect(records.filter(({ body }) => !FORM.test(body)).map(({ title }) => title)).to.deep.equal([]);
  });

  it('fit on one screen', () => {
    const long = records.filter(({ body }) => body.split(/\s+/).length > 200);
    expect(long.map(({ title }) => title)).to.deep.equal([]);
  });

  it('are each cited by the code that they explain', () => {
    const explained = new Set(cited.map(({ number }) => number));
    expect([...numbers].filter((number) => !explained.has(number))).to.deep.equal([]);
  });

  it('exist where one is cited', () => {
    const pages = [
      'README.md',
      'CONTRIBUTING.md',
      ...globSync('docs/**/*.md', { exclude: ['docs/node_modules'] }),
    ];
    const tests = globSync('test/**/*.ts', { exclude: ['test/unit/docs'] });
    const all = [...cited, ...[...pages, ...tests].flatMap(listCitations)];
    expect(all.filter(({ number }) => !numbers.has(number))).to.deep.equal([]);
  });

  it('cite records that exist', () => {
    const within = [...readFileSync(PAGE, 'utf8').matchAll(/\((\d{4})\)/g)].map(([, number]) => number!);
    expect(within.filter((number) => !numbers.has(number))).to.deep.equal([]);
  });
});
